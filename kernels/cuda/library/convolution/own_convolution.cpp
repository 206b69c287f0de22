#include "kernels/cuda/library/convolution/own_convolution.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::ConvolutionAttributes;
using fusion::kMaxWindowAxes;
using fusion::WindowAxis;
using enum fusion::ConvolutionRole;

constexpr const char* kFragmentText =
#include "kernels/cuda/library/products/fragment.inc"
    ;
constexpr const char* kConvolutionText =
#include "kernels/cuda/library/convolution/convolution_kernel.inc"
    ;

// Below so many rows or columns most of a tile would be for nothing.
constexpr int64_t kFewLines = 8;
// Sums over many images and places are cut into parts of so many at least, up to so many parts, of
// so many elements in all.
constexpr int64_t kLeastPart = 1024, kMostParts = 64, kMostPartialSums = int64_t{1} << 24;
// Indices and places below this are of 32 bits.
constexpr int64_t kNarrow = int64_t{1} << 30;

// sl_convolution of the text.
struct Arguments {
  const char* a = nullptr;
  const char* b = nullptr;
  char* c = nullptr;
  float* partials = nullptr;
  int64_t groups, m = 0, n = 0, k = 0;
  int64_t a_group = 0, b_group = 0, c_group = 0;
  int64_t a_line = 0, c_line = 0;
  int64_t a_first = 0, b_first = 0;
  int64_t b_column = 0, c_column = 0;
  int64_t k_extents[kMaxWindowAxes] = {}, a_axes[kMaxWindowAxes] = {};
  int64_t n_extents[kMaxWindowAxes] = {}, n_inner = 0;
  int64_t of_n[kMaxWindowAxes] = {}, of_k[kMaxWindowAxes] = {}, from[kMaxWindowAxes] = {};
  int64_t step[kMaxWindowAxes] = {}, limit[kMaxWindowAxes] = {}, b_axes[kMaxWindowAxes] = {};
  int64_t parts = 1, part = 0;
  int64_t row_tiles = 0, column_tiles = 0;
  int64_t first_block = 0;

  explicit Arguments(const ConvolutionAttributes& of) : groups(of.groups) {
    const int64_t inputs = of.inputs / of.groups, outputs = of.outputs / of.groups;
    const auto along = [&](int64_t WindowAxis::*number, int64_t(&to)[kMaxWindowAxes]) {
      for (int i = 0; i < of.rank; ++i) to[i] = of.axes[i].*number;
    };
    std::array<std::array<int64_t, 2 + kMaxWindowAxes>, kNumRoles> strides{};
    const auto& roles = fusion::kRolesOfConvolution[of.result];
    for (int i = 0; i < 2; ++i) strides[roles[i]] = of.operands[i].strides;
    strides[of.result] = of.dense_strides(of.result);
    const auto &images = strides[kImagesRole], &filters = strides[kFiltersRole];
    const auto& places = strides[kPlacesRole];
    std::fill_n(step, kMaxWindowAxes, 1);
    switch (of.result) {
      case kPlacesRole:
        set_rows(outputs, filters, outputs * filters[0], 0, 1);
        set_columns(images, inputs * images[1], 1, 0);
        set_result(places, outputs * places[1], 1, 0);
        n = of.batch * of.places(), n_inner = of.places();
        k = inputs * of.window();
        along(&WindowAxis::places, n_extents), along(&WindowAxis::window, k_extents);
        along(&WindowAxis::stride, of_n), along(&WindowAxis::dilation, of_k);
        along(&WindowAxis::extent, limit);
        break;
      case kImagesRole:
        set_rows(inputs, filters, outputs * filters[0], 1, 0);
        set_columns(places, outputs * places[1], 1, 0);
        set_result(images, inputs * images[1], 1, 0);
        n = of.batch * of.pixels(), n_inner = of.pixels();
        k = outputs * of.window();
        along(&WindowAxis::extent, n_extents), along(&WindowAxis::window, k_extents);
        std::fill_n(of_n, kMaxWindowAxes, 1), along(&WindowAxis::dilation, of_k);
        along(&WindowAxis::stride, step), along(&WindowAxis::places, limit);
        break;
      default:
        set_rows(outputs, places, outputs * places[1], 1, 0);
        set_columns(images, inputs * images[1], 0, 1);
        set_result(filters, outputs * filters[0], 0, 1);
        n = inputs * of.window(), n_inner = of.window();
        k = of.batch * of.places();
        along(&WindowAxis::window, n_extents), along(&WindowAxis::places, k_extents);
        along(&WindowAxis::dilation, of_n), along(&WindowAxis::stride, of_k);
        along(&WindowAxis::extent, limit);
        parts = std::min({ceil_div(k, kLeastPart), kMostParts,
                          std::max<int64_t>(kMostPartialSums / (groups * m * n), 1)});
    }
    const bool is_of_images = of.result == kImagesRole;
    for (int i = 0; i < of.rank; ++i) {
      from[i] = is_of_images ? of.axes[i].before : -of.axes[i].before;
      if (is_of_images) of_k[i] = -of_k[i];
    }
    part = ceil_div(k, parts);
    parts = ceil_div(k, part);
  }

  int64_t sums() const { return groups * m * n; }
  bool has_steps(int rank) const {
    return std::any_of(step, step + rank, [](int64_t x) { return x > 1; });
  }
  bool is_wide(int rank) const {
    int64_t most = std::max(k, n);
    for (int i = 0; i < rank; ++i) {
      most = std::max(most, std::abs(of_n[i]) * n_extents[i] + std::abs(of_k[i]) * k_extents[i] +
                                std::abs(from[i]) + limit[i]);
    }
    return most >= kNarrow;
  }

 private:
  using TensorStrides = std::array<int64_t, 2 + kMaxWindowAxes>;

  // Which axis of a tensor the rows are, and which k's number is; and so on.
  void set_rows(int64_t rows, const TensorStrides& of, int64_t group, int line, int first) {
    m = rows, a_group = group, a_line = of[line], a_first = of[first];
    std::copy_n(of.begin() + 2, kMaxWindowAxes, a_axes);
  }
  void set_columns(const TensorStrides& of, int64_t group, int first, int column) {
    b_group = group, b_first = of[first], b_column = of[column];
    std::copy_n(of.begin() + 2, kMaxWindowAxes, b_axes);
  }
  void set_result(const TensorStrides& of, int64_t group, int line, int column) {
    c_group = group, c_line = of[line], c_column = of[column];
  }
};

int64_t num_blocks(const Arguments& x, const ConvolutionTile& tile) {
  return x.parts * x.groups * ceil_div(x.m, tile.rows) * ceil_div(x.n, tile.columns);
}

size_t choose_tile(const Arguments& x, int multiprocessors) {
  if (std::min(x.m, x.n) < kFewLines) return kConvolutionTiles.size();
  for (size_t i = 0; i + 1 < kConvolutionTiles.size(); ++i) {
    const ConvolutionTile& tile = kConvolutionTiles[i];
    if (x.m > tile.rows / 2 && x.n > tile.columns / 2 && num_blocks(x, tile) >= multiprocessors) {
      return i;
    }
  }
  // Few rows, or few blocks of either.
  return x.m > 32 && x.n > 32 ? 1 : 2;
}

}  // namespace

size_t choose_convolution_tile(const ConvolutionAttributes& of, int multiprocessors) {
  return choose_tile(Arguments(of), multiprocessors);
}

int64_t convolution_part(const ConvolutionAttributes& of) { return Arguments(of).part; }

SourceKernel& OwnConvolution::kernel(const ConvolutionAttributes& of) {
  const Arguments arguments(of);
  const size_t number = choose_tile(arguments, context_.info().multiprocessors);
  const bool has_steps = arguments.has_steps(of.rank), is_wide = arguments.is_wide(of.rank);
  std::string name = absl::StrCat("convolution_", sluice::name_of(of.dtype), "_", of.rank, "d",
                                  has_steps ? "_steps" : "", is_wide ? "_wide" : "");
  std::string body = absl::StrCat(memory_type(of.dtype), ", ", of.rank, ", ",
                                  is_wide ? "sl_i64" : "sl_i32", ", ", has_steps);
  if (number < kConvolutionTiles.size()) {
    const ConvolutionTile& tile = kConvolutionTiles[number];
    absl::StrAppend(&name, "_", tile.rows, "x", tile.columns);
    body = absl::StrCat("sl_convolve<", body, ", ", tile.rows, ", ", tile.columns, ", ", tile.depth,
                        ">");
  } else {
    absl::StrAppend(&name, "_each");
    body = absl::StrCat("sl_convolve_each<", body, ">");
  }
  return kernels_.get(name, [&] {
    return absl::StrCat(kFragmentText, kConvolutionText, "SL_KERNEL(", name, ", sl_convolution) { ",
                        body, "(p); }\n");
  });
}

SourceKernel& OwnConvolution::adding(DType dtype) {
  const std::string name = absl::StrCat("convolution_", sluice::name_of(dtype), "_add_parts");
  return kernels_.get(name, [&] {
    return absl::StrCat(kFragmentText, kConvolutionText, "SL_KERNEL(", name,
                        ", sl_convolution) { sl_add_parts<", memory_type(dtype), ">(p); }\n");
  });
}

absl::Status OwnConvolution::prepare(const fusion::LibraryCall& call) {
  const ConvolutionAttributes& of = fusion::convolution_of(call);
  absl::Status status = kernel(of).compile();
  if (status.ok() && Arguments(of).parts > 1) status = adding(of.dtype).compile();
  return status;
}

absl::Status OwnConvolution::enqueue(runtime::cuda::CudaStream* stream,
                                     const fusion::LibraryCall& call,
                                     absl::Span<void* const> buffers, absl::string_view label) {
  const ConvolutionAttributes& of = fusion::convolution_of(call);
  Arguments arguments(of);
  const auto size = static_cast<int64_t>(size_of(of.dtype));
  const auto operand = [&](int i) {
    return static_cast<const char*>(buffers[i]) + of.operands[i].offset * size;
  };
  arguments.a = operand(1);
  arguments.b = operand(0);
  arguments.c = static_cast<char*>(buffers[2]);

  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  if (arguments.parts > 1) {
    const auto bytes = static_cast<size_t>(arguments.parts * arguments.sums()) * sizeof(float);
    const absl::StatusOr<void*> memory = allocator.allocate(bytes, stream);
    if (!memory.ok()) return memory.status();
    arguments.partials = static_cast<float*>(*memory);
  }
  const size_t number = choose_tile(arguments, context_.info().multiprocessors);
  int64_t blocks = ceil_div(arguments.parts * arguments.sums(), int64_t{kThreads});
  if (number < kConvolutionTiles.size()) {
    const ConvolutionTile& tile = kConvolutionTiles[number];
    arguments.row_tiles = ceil_div(arguments.m, tile.rows);
    arguments.column_tiles = ceil_div(arguments.n, tile.columns);
    blocks = num_blocks(arguments, tile);
  }
  absl::Status status = kernel(of).launch(stream, &arguments, blocks, label);
  if (arguments.partials == nullptr) return status;
  if (status.ok()) {
    arguments.first_block = 0;
    status = adding(of.dtype).launch(stream, &arguments,
                                     ceil_div(arguments.sums(), int64_t{kThreads}), label);
  }
  // Later work on the stream may reuse it.
  allocator.free(arguments.partials);
  return status;
}

}  // namespace sluice::kernels::cuda
