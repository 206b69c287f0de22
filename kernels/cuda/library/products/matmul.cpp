#include "kernels/cuda/library/products/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/ir/epilogue_ops.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/emit/writer.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using runtime::cuda::CudaStream;

constexpr const char* kMatmulText =
#include "kernels/cuda/library/products/fragment.inc"
#include "kernels/cuda/library/products/matmul_kernel.inc"
    ;
constexpr const char* kTensorText =
#include "kernels/cuda/library/products/matmul_tensor_kernel.inc"
    ;

constexpr int64_t kElementsOfBlock = 1024;
constexpr int64_t kVectorBytes = 16;
constexpr int kTensorCapability = 80;  // mma.sync of bfloat16 and TF32, cp.async

std::string suffix_of(DType dtype) {
  return dtype == DType::kFloat32 ? "" : absl::StrCat("_", name_of(dtype));
}

std::string name_of(DType dtype, const MatmulTile& tile, bool has_activations) {
  return absl::StrCat("matmul", suffix_of(dtype), "_", tile.rows, "x", tile.columns,
                      has_activations ? "_activations" : "");
}

std::string name_of(DType dtype, const TensorTile& tile, bool a_along_depth, bool b_along_depth) {
  return absl::StrCat("matmul_tensor_", name_of(dtype), "_", tile.rows, "x", tile.columns, "_",
                      a_along_depth ? "n" : "t", b_along_depth ? "n" : "t");
}

std::string finish_name(DType dtype) { return absl::StrCat("matmul_finish", suffix_of(dtype)); }

// In which products of `dtype` are summed.
DType sum_type(DType dtype) { return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

// The source of a kernel for `dtype` that calls `body`.
std::string text_of(const std::string& name, DType dtype, const std::string& body,
                    bool has_activations, bool uses_tensors = false) {
  Functions functions;
  Writer text;
  text.line("typedef ", memory_type(sum_type(dtype)), " sl_sum;");
  text.open("SL_INLINE sl_sum sl_activation(sl_i64 op, sl_sum x)");
  if (has_activations) {
    text.open("switch (op)");
    for (const Op op : fusion::kActivations) {
      text.line("case ", static_cast<int>(op), ": return ",
                functions.pointwise(op, DType::kFloat32, {"x"}), ";");
    }
    text.close();
  }
  text.line("return x;");
  text.close();
  text.raw(kMatmulText);
  if (uses_tensors) text.raw(kTensorText);
  // Of two blocks one multiplies while the other waits for its strip.
  const char* const blocks = uses_tensors ? ", 2" : "";
  text.line("SL_KERNEL", uses_tensors ? "_OF(" : "(", name, ", sl_matmul", blocks, ") { ", body,
            "(p); }");
  return absl::StrCat(functions.text(), text.text());
}

bool has_activations(const Matmul& x) {
  return std::any_of(x.epilogues.begin(), x.epilogues.end(), [](const fusion::Epilogue& epilogue) {
    return fusion::is_activation(epilogue.op);
  });
}

int64_t num_splits(const Matmul& x) { return std::max<int64_t>(1, ceil_div(x.k, split_depth(x))); }

template <typename Tile>
int64_t num_blocks(const Matmul& x, const Tile& tile) {
  return num_splits(x) * x.batch * ceil_div(x.m, tile.rows) * ceil_div(x.n, tile.columns);
}

// Whether lines along k, rather than across it, are nearer to consecutive in memory.
bool is_along_depth(int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth) {
  return lines == 1 || (depth > 1 && std::abs(depth_stride) < std::abs(line_stride));
}
bool a_along_depth(const Matmul& x) {
  return is_along_depth(x.a_strides[1], x.a_strides[2], x.m, x.k);
}
bool b_along_depth(const Matmul& x) {
  return is_along_depth(x.b_strides[2], x.b_strides[1], x.n, x.k);
}

// Several batches of a that multiply one b are one batch of more rows.
Matmul with_fewer_batches(Matmul x) {
  if (x.batch == 1 || x.b_strides[0] != 0) return x;
  if (x.m == 1) x.a_strides[1] = x.a_strides[0];
  if (x.a_strides[0] != x.m * x.a_strides[1]) return x;
  x.m *= x.batch;
  x.batch = 1;
  return x;
}

}  // namespace

// ---- Our kernels.

int64_t split_depth(const Matmul& x) {
  // Blocks of 64 by 64 that keep any device busy; parts that are worth a block; few enough that
  // their sums take no time.
  constexpr int64_t kBlocks = 256, kLeastDepth = 512, kMostSplits = 32, kUnit = 64;
  const int64_t blocks =
      std::max<int64_t>(1, x.batch * ceil_div<int64_t>(x.m, 64) * ceil_div<int64_t>(x.n, 64));
  const int64_t splits = std::min({ceil_div(kBlocks, blocks), x.k / kLeastDepth, kMostSplits});
  if (splits <= 1 || 2 * blocks >= kBlocks) return std::max<int64_t>(1, x.k);
  return round_up(ceil_div(x.k, splits), kUnit);
}

size_t choose_tile(const Matmul& matmul, int multiprocessors) {
  const auto fits = [](int64_t extent, int side) { return side == 16 || extent > side / 2; };
  for (size_t i = 0; i < kMatmulTiles.size(); ++i) {
    const MatmulTile& tile = kMatmulTiles[i];
    if (!has_strips(tile, matmul.operand_dtype)) continue;
    if (fits(matmul.m, tile.rows) && fits(matmul.n, tile.columns) &&
        num_blocks(matmul, tile) >= multiprocessors) {
      return i;
    }
  }
  return kMatmulTiles.size() - 1;
}

size_t choose_tensor_tile(const Matmul& matmul, int multiprocessors) {
  enum { kLarge, kSmall, kWide, kTall };
  if (matmul.m <= 16) return kWide;
  if (matmul.n <= 16) return kTall;
  const bool fits = matmul.m > 64 && matmul.n > 64;
  return fits && num_blocks(matmul, kTensorTiles[kLarge]) >= multiprocessors ? kLarge : kSmall;
}

std::string matmul_text(DType dtype, const MatmulTile& tile, bool has_activations) {
  return text_of(name_of(dtype, tile, has_activations), dtype,
                 absl::StrCat("sl_multiply<", memory_type(dtype), ", ", tile.rows, ", ",
                              tile.columns, ", ", tile.depth, ">"),
                 has_activations);
}

std::string matmul_tensor_text(DType dtype, const TensorTile& tile, bool a_along_depth,
                               bool b_along_depth) {
  return text_of(
      name_of(dtype, tile, a_along_depth, b_along_depth), dtype,
      absl::StrCat("sl_multiply_tensors<", memory_type(dtype), ", ", tile.rows, ", ", tile.columns,
                   ", ", tile.warp_rows, ", ", int{a_along_depth}, ", ", int{b_along_depth}, ">"),
      /*has_activations=*/false, /*uses_tensors=*/true);
}

std::string matmul_finish_text(DType dtype) {
  return text_of(finish_name(dtype), dtype,
                 absl::StrCat("sl_finish<", memory_type(dtype), ", ", kElementsOfBlock, ">"),
                 /*has_activations=*/dtype == DType::kFloat32);
}

// As sl_matmul of the source.
struct MatmulRunner::Arguments {
  struct Operand {
    const void* data;
    int64_t batch_stride, line_stride, depth_stride;
    int64_t along_depth;
    int64_t vectors;

    Operand(const Matmul& x, const void* data, int64_t batch_stride, int64_t line_stride,
            int64_t depth_stride, int64_t lines, bool is_along_depth)
        : data(data),
          batch_stride(batch_stride),
          line_stride(line_stride),
          depth_stride(depth_stride),
          along_depth(is_along_depth) {
      const int64_t vector = kVectorBytes / static_cast<int64_t>(size_of(x.operand_dtype));
      const int64_t inner = is_along_depth ? depth_stride : line_stride;
      const int64_t outer = is_along_depth ? line_stride : depth_stride;
      const int64_t outer_extent = is_along_depth ? lines : x.k;
      vectors = inner == 1 && (outer_extent == 1 || outer % vector == 0) &&
                (x.batch == 1 || batch_stride % vector == 0) &&
                reinterpret_cast<uintptr_t>(data) % kVectorBytes == 0;
    }
  };
  struct Epilogue {
    int64_t activation;
    const float* operand;
    int64_t one_row;
  };
  void* c;
  void* partials;
  Operand a, b;
  int64_t batch, m, n, k;
  int64_t splits = 1, split_depth;
  int64_t wide;
  int64_t pairs;
  int64_t row_tiles = 0, column_tiles = 0;
  int64_t first_block = 0;
  int64_t elements;
  int64_t num_epilogues = 0;
  Epilogue epilogues[fusion::kMaxEpilogues] = {};

  Arguments(const Matmul& x, void* partials)
      : c(x.c),
        partials(partials),
        a(x, x.a, x.a_strides[0], x.a_strides[1], x.a_strides[2], x.m, a_along_depth(x)),
        b(x, x.b, x.b_strides[0], x.b_strides[2], x.b_strides[1], x.n, b_along_depth(x)),
        batch(x.batch),
        m(x.m),
        n(x.n),
        k(x.k),
        split_depth(std::max<int64_t>(1, x.k)),
        wide(x.dtype == DType::kFloat32),
        pairs(x.n % 2 == 0 && reinterpret_cast<uintptr_t>(x.c) % (2 * size_of(x.dtype)) == 0),
        elements(x.batch * x.m * x.n) {
    if (partials == nullptr) return;
    splits = num_splits(x);
    split_depth = cuda::split_depth(x);
  }
  void take_epilogues(const Matmul& x) {
    for (const fusion::Epilogue& epilogue : x.epilogues) {
      epilogues[num_epilogues++] = {epilogue.op == Op::kAdd ? -1
                                    : epilogue.op == Op::kReluGradient
                                        ? -2
                                        : static_cast<int64_t>(epilogue.op),
                                    x.operand(epilogue), epilogue.one_row};
    }
  }
};

bool MatmulRunner::uses_tensors(const Matmul& x) const {
  return (is_half(x.operand_dtype) || (x.allow_tf32 && x.operand_dtype == DType::kFloat32)) &&
         context_->info().compute_capability >= kTensorCapability;
}

MatmulRunner::Kernels MatmulRunner::own_kernels_for(const Matmul& x) {
  OfType& kernels = *kernels_.at(x.operand_dtype);
  const int multiprocessors = context_->info().multiprocessors;
  Kernels result;
  if (uses_tensors(x)) {
    result = {&kernels.tensors[a_along_depth(x) + 2 * b_along_depth(x)]
                              [choose_tensor_tile(x, multiprocessors)]};
    if (num_splits(x) > 1 || !x.epilogues.empty()) result.push_back(&finish(x));
  } else if (num_splits(x) > 1) {
    result = {&kernels.tiles[0][choose_tile(x, multiprocessors)], &finish(x)};
  } else {
    result = {&kernels.tiles[has_activations(x)][choose_tile(x, multiprocessors)]};
  }
  return result;
}

absl::Status MatmulRunner::enqueue_own(CudaStream* stream, const Matmul& x,
                                       absl::string_view label) {
  const Kernels kernels = own_kernels_for(x);
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  void* partials = nullptr;
  if (const int64_t splits = num_splits(x); splits > 1) {
    const auto bytes =
        static_cast<size_t>(splits * x.batch * x.m * x.n) * size_of(sum_type(x.dtype));
    const absl::StatusOr<void*> data = allocator.allocate(bytes, stream);
    // In one part the bits would be others.
    if (!data.ok()) return data.status();
    partials = *data;
  }
  Arguments arguments(x, partials);
  const auto launch = [&](const auto& tile) {
    arguments.row_tiles = ceil_div<int64_t>(x.m, tile.rows);
    arguments.column_tiles = ceil_div<int64_t>(x.n, tile.columns);
    return kernels[0]->launch(stream, &arguments, num_blocks(x, tile), label);
  };
  if (kernels.size() == 1) arguments.take_epilogues(x);
  const int multiprocessors = context_->info().multiprocessors;
  absl::Status status = uses_tensors(x)
                            ? launch(kTensorTiles[choose_tensor_tile(x, multiprocessors)])
                            : launch(kMatmulTiles[choose_tile(x, multiprocessors)]);
  if (status.ok() && kernels.size() > 1) status = enqueue_finish(stream, x, partials, label);
  // Later work on the stream may reuse it.
  if (partials != nullptr) allocator.free(partials);
  return status;
}

absl::Status MatmulRunner::enqueue_finish(CudaStream* stream, const Matmul& matmul, void* partials,
                                          absl::string_view label) {
  Arguments arguments(matmul, partials);
  arguments.take_epilogues(matmul);
  return finish(matmul).launch(stream, &arguments, ceil_div(arguments.elements, kElementsOfBlock),
                               label);
}

// ---- The choice between cuBLASLt and our kernels.

MatmulRunner::MatmulRunner(runtime::cuda::Context* context, Compiler* compiler,
                           const CublasLt* library)
    : context_(context), table_(library) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    OfType& kernels = *(kernels_[dtype] = std::make_unique<OfType>());
    for (const MatmulTile& tile : kMatmulTiles) {
      for (const bool activations : {false, true}) {
        kernels.tiles[activations].emplace_back(
            context, compiler, name_of(dtype, tile, activations),
            [=] { return matmul_text(dtype, tile, activations); });
      }
    }
    for (const TensorTile& tile : kTensorTiles) {
      for (int layout = 0; layout < 4; ++layout) {
        const bool a = layout % 2 != 0, b = layout / 2 != 0;
        kernels.tensors[layout].emplace_back(context, compiler, name_of(dtype, tile, a, b),
                                             [=] { return matmul_tensor_text(dtype, tile, a, b); });
      }
    }
    finish_[dtype] = std::make_unique<SourceKernel>(context, compiler, finish_name(dtype),
                                                    [=] { return matmul_finish_text(dtype); });
  }
}

MatmulRunner::~MatmulRunner() = default;

CublasLtMatmul* MatmulRunner::library() {
  std::call_once(opened_, [this] {
    if (table_ == nullptr) return;
    absl::StatusOr<std::unique_ptr<CublasLtMatmul>> made = CublasLtMatmul::make(context_, table_);
    if (made.ok()) library_ = *std::move(made);
  });
  return library_.get();
}

std::string MatmulRunner::library_name() {
  return library() == nullptr ? "Sluice's kernels" : library()->name();
}

MatmulRunner::Kernels MatmulRunner::kernels_for(const Matmul& matmul) {
  if (matmul.batch * matmul.m * matmul.n == 0) return {};
  const Matmul x = with_fewer_batches(matmul);
  if (library() == nullptr || !library()->supports(x)) return own_kernels_for(x);
  if (CublasLtMatmul::num_folded(x.epilogues) == x.epilogues.size()) return {};
  return {&finish(x)};
}

absl::Status MatmulRunner::prepare(const Matmul& matmul) {
  absl::Status status;
  for (SourceKernel* kernel : kernels_for(matmul)) status.Update(kernel->compile());
  return status;
}

bool MatmulRunner::is_ready(const Matmul& matmul) {
  const Kernels kernels = kernels_for(matmul);
  return std::all_of(kernels.begin(), kernels.end(),
                     [](SourceKernel* kernel) { return kernel->is_ready(); });
}

absl::Status MatmulRunner::enqueue(CudaStream* stream, const Matmul& matmul,
                                   absl::string_view label) {
  if (matmul.batch * matmul.m * matmul.n == 0) return absl::OkStatus();
  if (matmul.epilogues.size() > fusion::kMaxEpilogues) {
    return absl::InternalError(absl::StrCat(std::string(label), ": a product with ",
                                            matmul.epilogues.size(), " epilogues"));
  }
  Matmul x = with_fewer_batches(matmul);
  if (library() == nullptr) return enqueue_own(stream, x, label);
  const absl::StatusOr<bool> done = library()->enqueue(stream, x, label);
  if (!done.ok()) return done.status();
  if (!*done) return enqueue_own(stream, x, label);
  x.epilogues.remove_prefix(CublasLtMatmul::num_folded(x.epilogues));
  return x.epilogues.empty() ? absl::OkStatus() : enqueue_finish(stream, x, nullptr, label);
}

}  // namespace sluice::kernels::cuda
