// Convolutions by oneDNN. Its kernels have layouts of their own, in which channels lie in blocks:
// tensors are brought to them and back, block by block, while they are in the cache.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/library/convolution/block_convolution.h"
#include "kernels/shuffled.h"
#include "oneapi/dnnl/dnnl.hpp"

// oneDNN begins a parallel region for each primitive, of the threads that the calling one may have.
// Those of the runtime that it is built with, if it is built with OpenMP.
extern "C" {
[[gnu::weak]] int omp_get_max_threads();
[[gnu::weak]] void omp_set_num_threads(int count);
}

namespace sluice::kernels {
namespace {

using dnnl::memory;
using fusion::ConvolutionRole;
using fusion::WindowAxis;

// While it lives, the calling thread has no others to work for it.
class Alone {
 public:
  Alone() : before_(omp_get_max_threads != nullptr ? omp_get_max_threads() : 1) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~Alone() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  const int before_;
};

// Never destroyed: threads may convolve while the process ends.
const dnnl::engine& cpu() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

// Axes (n, c, extents..), of filters (o, c / groups, windows..), or (groups, o / groups, ..).
memory::dims dims_of(const BlockShape& shape, ConvolutionRole role) {
  if (role == kFiltersRole) {
    memory::dims dims{shape.outputs / shape.groups, shape.inputs / shape.groups};
    if (shape.groups > 1) dims.insert(dims.begin(), shape.groups);
    for (int i = 0; i < shape.rank; ++i) dims.push_back(shape.axes[i].window);
    return dims;
  }
  const bool is_places = role == kPlacesRole;
  memory::dims dims{shape.batch, is_places ? shape.outputs : shape.inputs};
  for (int i = 0; i < shape.rank; ++i) {
    dims.push_back(is_places ? shape.axes[i].places : shape.axes[i].extent);
  }
  return dims;
}

memory::dims strides_of(const BlockShape& shape, ConvolutionRole role) {
  const ConvolutionStrides& all = shape.strides[role];
  memory::dims strides(all.begin(), all.begin() + 2 + shape.rank);
  if (role == kFiltersRole && shape.groups > 1) {
    strides.insert(strides.begin(), shape.outputs / shape.groups * all[0]);
  }
  return strides;
}

memory::dims numbers_of(const BlockShape& shape, int64_t WindowAxis::*number, int64_t less = 0) {
  memory::dims numbers;
  for (int i = 0; i < shape.rank; ++i) numbers.push_back(shape.axes[i].*number - less);
  return numbers;
}

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));

// out[j * out_stride + i] = x[i * stride + j] for i < rows, j < columns.
void transpose(const float* x, int64_t rows, int64_t stride, int64_t columns, float* out,
               int64_t out_stride) {
  constexpr int64_t kRows = 64;  // of which a few columns stay in the first-level cache
  const auto four = [&](int64_t i, int64_t j) {
    return *reinterpret_cast<const Four*>(x + i * stride + j);
  };
  const auto store = [&](int64_t i, int64_t j, Four column) {
    *reinterpret_cast<Four*>(out + j * out_stride + i) = column;
  };
  for (int64_t begin = 0; begin < rows; begin += kRows) {
    const int64_t end = std::min(begin + kRows, rows);
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      int64_t i = begin;
      for (; i + 4 <= end; i += 4) {
        const Four a = four(i, j), b = four(i + 1, j), c = four(i + 2, j), d = four(i + 3, j);
        const Four ab_low = shuffled<0, 4, 1, 5>(a, b), ab_high = shuffled<2, 6, 3, 7>(a, b);
        const Four cd_low = shuffled<0, 4, 1, 5>(c, d), cd_high = shuffled<2, 6, 3, 7>(c, d);
        store(i, j, shuffled<0, 1, 4, 5>(ab_low, cd_low));
        store(i, j + 1, shuffled<2, 3, 6, 7>(ab_low, cd_low));
        store(i, j + 2, shuffled<0, 1, 4, 5>(ab_high, cd_high));
        store(i, j + 3, shuffled<2, 3, 6, 7>(ab_high, cd_high));
      }
      for (; i < end; ++i) {
        for (int k = 0; k < 4; ++k) out[(j + k) * out_stride + i] = x[i * stride + j + k];
      }
    }
    for (; j < columns; ++j) {
      for (int64_t i = begin; i < end; ++i) out[j * out_stride + i] = x[i * stride + j];
    }
  }
}

class OneDnnConvolution : public BlockConvolution {
 public:
  explicit OneDnnConvolution(const BlockShape& shape) : result_(shape.result) {
    for (const ConvolutionRole role : {kImagesRole, kFiltersRole, kPlacesRole}) {
      tensors_[role].given =
          memory::desc(dims_of(shape, role), memory::data_type::f32, strides_of(shape, role));
    }
    choose_kernel(shape);
    for (Tensor& tensor : tensors_) {
      if (tensor.given == tensor.own) continue;
      const bool is_result = &tensor == &tensors_[result_];
      const memory::desc &from = is_result ? tensor.own : tensor.given,
                         &to = is_result ? tensor.given : tensor.own;
      tensor.reorder.emplace(
          dnnl::reorder::primitive_desc(cpu(), from, cpu(), to, without_scratch()));
    }
    if (result_ != kFiltersRole && tensors_[result_].reorder) find_rows(shape);
    size_t next = round(scratchpad_.get_size());
    for (Tensor& tensor : tensors_) {
      if (!tensor.reorder || is_packed(tensor)) continue;
      tensor.scratch = next;
      next += round(tensor.own.get_size());
    }
    scratch_bytes_ = next;
  }

  size_t packed_bytes() const override {
    const Tensor& filters = tensors_[kFiltersRole];
    return is_packed(filters) && filters.reorder ? round(filters.own.get_size()) : 0;
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }

  bool pack(float* filters, char* packed) const override {
    return guarded([&](dnnl::stream& stream) {
      const Tensor& tensor = tensors_[kFiltersRole];
      reorder(stream, tensor, memory(tensor.given, cpu(), filters),
              memory(tensor.own, cpu(), packed));
    });
  }

  bool run(const std::array<float*, kNumRoles>& tensors, char* scratch) const override {
    return guarded([&](dnnl::stream& stream) {
      std::unordered_map<int, memory> arguments{
          {DNNL_ARG_SCRATCHPAD, memory(scratchpad_, cpu(), scratch)}};
      std::array<memory, kNumRoles> given, own;
      for (int role = 0; role < kNumRoles; ++role) {
        const Tensor& tensor = tensors_[role];
        const bool moves = tensor.reorder && !is_packed(tensor);
        given[role] = memory(tensor.given, cpu(), tensors[role]);
        own[role] = memory(tensor.own, cpu(),
                           moves ? scratch + tensor.scratch : static_cast<void*>(tensors[role]));
        arguments.emplace(tensor.argument, own[role]);
        if (moves && role != result_) reorder(stream, tensor, given[role], own[role]);
      }
      kernel_.execute(stream, arguments);
      const Tensor& result = tensors_[result_];
      if (rows_.images > 0) {
        stream.wait();
        transpose_result(static_cast<const float*>(own[result_].get_data_handle()),
                         tensors[result_]);
      } else if (result.reorder) {
        reorder(stream, result, own[result_], given[result_]);
      }
    });
  }

 private:
  struct Tensor {
    memory::desc given, own;
    int argument = 0;
    std::optional<dnnl::reorder> reorder;  // to the kernel's layout, or, of the result, from it
    size_t scratch = 0;                    // where in the scratch memory it is
  };

  // If the kernel has the result's channels last, and they are to be rows of points.
  void find_rows(const BlockShape& shape) {
    const memory::dims dims = dims_of(shape, result_), strides = strides_of(shape, result_);
    memory::dims channels_last(dims.size(), 1);
    int64_t points = 1;
    for (size_t axis = dims.size(); axis-- > 2; points *= dims[axis]) {
      if (dims[axis] > 1 && strides[axis] != points) return;
      channels_last[axis] = points * dims[1];
    }
    channels_last[0] = points * dims[1];
    if (tensors_[result_].own != memory::desc(dims, memory::data_type::f32, channels_last)) return;
    rows_ = {dims[0], strides[0], dims[1], strides[1], points};
  }
  void transpose_result(const float* from, float* to) const {
    for (int64_t i = 0; i < rows_.images; ++i) {
      transpose(from + i * rows_.channels * rows_.points, rows_.points, rows_.channels,
                rows_.channels, to + i * rows_.next, rows_.stride);
    }
  }

  static size_t round(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static dnnl::primitive_attr without_scratch() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }
  bool is_packed(const Tensor& tensor) const {
    return &tensor == &tensors_[kFiltersRole] && result_ != kFiltersRole;
  }

  template <typename F>
  static bool guarded(F f) {
    try {
      const Alone alone;
      dnnl::stream stream(cpu());
      f(stream);
      stream.wait();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  static void reorder(dnnl::stream& stream, const Tensor& tensor, const memory& from,
                      const memory& to) {
    tensor.reorder->execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  static memory::desc any_layout(const BlockShape& shape, ConvolutionRole role) {
    return memory::desc(dims_of(shape, role), memory::data_type::f32, memory::format_tag::any);
  }

  // The primitive of a pass, in layouts of its choice, but for that of the images.
  template <typename Pass, typename... First, typename... Hint>
  static typename Pass::primitive_desc describe(const BlockShape& shape, const memory::desc& images,
                                                const std::tuple<First...>& first,
                                                const Hint&... hint) {
    return std::apply(
        [&](const First&... arguments) {
          const memory::desc filters = any_layout(shape, kFiltersRole),
                             places = any_layout(shape, kPlacesRole);
          const memory::dims strides = numbers_of(shape, &WindowAxis::stride),
                             dilations = numbers_of(shape, &WindowAxis::dilation, 1),
                             before = numbers_of(shape, &WindowAxis::before),
                             after = numbers_of(shape, &WindowAxis::after);
#if DNNL_VERSION_MAJOR >= 3
          return
              typename Pass::primitive_desc(cpu(), arguments..., images, filters, places, strides,
                                            dilations, before, after, hint..., without_scratch());
#else
          return typename Pass::primitive_desc(
              typename Pass::desc(arguments..., images, filters, places, strides, dilations, before,
                                  after),
              without_scratch(), cpu(), hint...);
#endif
        },
        first);
  }

  // Of its own accord oneDNN 2 and 3.2 bring images of few channels to a layout with channels last,
  // whose vectors are of filters. Where these are few or far apart planes are better, and of images
  // of one channel, for which nothing has to be moved, where lines are short.
  static bool suits_planes(const BlockShape& shape) {
    constexpr int64_t kVector = 16, kLongLine = 64;
    const auto skips = [&](const WindowAxis& axis) { return axis.stride > 1; };
    const auto last = shape.axes.begin() + shape.rank;
    if (shape.groups > 1 || shape.inputs >= kVector) return false;
    if (shape.outputs <= kVector || std::any_of(shape.axes.begin(), last, skips)) {
      return shape.inputs > 1 || (last - 1)->extent <= kLongLine;
    }
    // Lines that cut vectors, as MNIST's (measured: by a quarter).
    return shape.inputs == 1 && shape.outputs % (2 * kVector) == 0 &&
           (last - 1)->extent < kLongLine && (last - 1)->extent % kVector != 0;
  }

  // The images as they are given. Where they are one channel, its stride says which layout that is.
  static memory::desc planes_of(const BlockShape& shape) {
    const memory::dims dims = dims_of(shape, kImagesRole);
    memory::dims strides = strides_of(shape, kImagesRole);
    if (dims[1] == 1) strides[1] = dims[2] * strides[2];
    return {dims, memory::data_type::f32, strides};
  }

  void choose_kernel(const BlockShape& shape) {
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const memory::desc any = any_layout(shape, kImagesRole);
    const auto forward = [&](dnnl::prop_kind kind, const memory::desc& images) {
      return describe<dnnl::convolution_forward>(shape, images, std::tuple(kind, kDirect));
    };
    if (result_ == kPlacesRole) {
      constexpr auto kKind = dnnl::prop_kind::forward_inference;
      auto pass = forward(kKind, any);
      if (suits_planes(shape)) {
        const memory::desc planes = planes_of(shape);
        const auto of_planes = forward(kKind, planes);
        // Of layouts that it has no code for it convolves by loops.
        if (std::string_view(of_planes.impl_info_str()).starts_with("jit")) {
          pass = of_planes;
          tensors_[kImagesRole].given = planes;
        }
      }
      set({pass.src_desc(), pass.weights_desc(), pass.dst_desc()},
          {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, pass.scratchpad_desc());
      kernel_ = dnnl::convolution_forward(pass);
      return;
    }
    const auto hint = forward(dnnl::prop_kind::forward_training, any);
    if (result_ == kImagesRole) {
      const auto pass =
          describe<dnnl::convolution_backward_data>(shape, any, std::tuple(kDirect), hint);
      set({pass.diff_src_desc(), pass.weights_desc(), pass.diff_dst_desc()},
          {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}, pass.scratchpad_desc());
      kernel_ = dnnl::convolution_backward_data(pass);
    } else {
      const auto pass =
          describe<dnnl::convolution_backward_weights>(shape, any, std::tuple(kDirect), hint);
      set({pass.src_desc(), pass.diff_weights_desc(), pass.diff_dst_desc()},
          {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}, pass.scratchpad_desc());
      kernel_ = dnnl::convolution_backward_weights(pass);
    }
  }
  void set(const std::array<memory::desc, kNumRoles>& own, const std::array<int, kNumRoles>& names,
           const memory::desc& scratchpad) {
    for (int role = 0; role < kNumRoles; ++role) {
      tensors_[role].own = own[role];
      tensors_[role].argument = names[role];
    }
    scratchpad_ = scratchpad;
  }

  const ConvolutionRole result_;
  std::array<Tensor, kNumRoles> tensors_;
  memory::desc scratchpad_;
  dnnl::primitive kernel_;
  size_t scratch_bytes_ = 0;
  // Of the result, if its channels are last and have to be rows, `stride` apart. oneDNN 2 takes
  // three times as long for that as transpose(), and as for the convolution where channels are few.
  struct {
    int64_t images = 0, next = 0, channels = 0, stride = 0, points = 0;
  } rows_;
};

// To make one takes a third of a millisecond.
class Cache {
 public:
  std::shared_ptr<const BlockConvolution> of(const BlockShape& shape) {
    const std::lock_guard lock(mutex_);
    auto found = convolutions_.find(shape);
    if (found != convolutions_.end()) return found->second;
    std::shared_ptr<const BlockConvolution> made;
    try {
      const Alone alone;
      made = std::make_shared<OneDnnConvolution>(shape);
    } catch (const std::exception&) {
      return nullptr;
    }
    if (convolutions_.size() == kMost) convolutions_.clear();
    convolutions_.emplace(shape, made);
    return made;
  }

 private:
  static constexpr size_t kMost = 1024;

  std::mutex mutex_;
  std::map<BlockShape, std::shared_ptr<const BlockConvolution>> convolutions_;
};

std::shared_ptr<const BlockConvolution> find_or_make(const BlockShape& shape) {
  static Cache* const cache = new Cache;  // never destroyed, likewise
  return cache->of(shape);
}

constexpr Convolutions kConvolutions{find_or_make};

// oneDNN constructs static objects as it convolves for the first time. Those that are there by now
// outlive what runs at exit (engine::wait_at_exit()).
void convolve_once() {
  BlockShape shape;
  shape.rank = 2;
  shape.batch = 1;
  shape.inputs = shape.outputs = 8;
  shape.axes[0] = shape.axes[1] = {.extent = 4, .window = 3, .places = 2};
  shape.strides = {{{128, 16, 4, 1}, {72, 9, 3, 1}, {32, 4, 2, 1}}};
  const auto convolution = find_or_make(shape);
  if (convolution == nullptr) return;
  std::vector<float> images(128), filters(576), places(32);
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(
          std::aligned_alloc(64, convolution->packed_bytes() + convolution->scratch_bytes() + 64)),
      &std::free);
  char* const scratch = memory.get() + convolution->packed_bytes();
  float* packed = filters.data();
  if (convolution->packed_bytes() > 0) {
    packed = reinterpret_cast<float*>(memory.get());
    if (!convolution->pack(filters.data(), memory.get())) return;
  }
  static_cast<void>(convolution->run({images.data(), packed, places.data()}, scratch));
}

}  // namespace
}  // namespace sluice::kernels

const sluice::kernels::Convolutions* sluice_convolutions() {
  sluice::kernels::convolve_once();
  return &sluice::kernels::kConvolutions;
}
