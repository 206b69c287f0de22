// Convolutions on the CPU: cut into blocks of images and of channels by shape alone, each of which
// one thread computes, so that bits do not depend on the threads.
#include "fusion/library/convolution.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/library/convolution/block_convolution.h"
#include "kernels/library/library.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/layout.h"

namespace sluice::kernels {
namespace {

using fusion::ConvolutionAttributes;
using fusion::ConvolutionRole;
using fusion::WindowAxis;

// Below so much work to call the library is a good part of the time. In flops; to read or to write
// an element takes as long as some.
constexpr int64_t kLeastWork = 1 << 21, kWorkOfElement = 32;
// More blocks than that are of no use to any number of threads that is usual. What more work than
// that reads and writes leaves the caches.
constexpr int64_t kManyBlocks = 16, kMuchWork = 1 << 23;
// Each block of channels brings the images to the library's layout again. Those of groups have
// images of their own.
constexpr int64_t kLeastChannels = 32, kLeastChannelsOfGroups = 16;
// Sums for filters over so many places are worth what it takes to write them.
constexpr int64_t kLeastPlaces = 2048;

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Part i of [0, count), cut into as many of almost the same size.
Range part_of(int64_t i, int64_t parts, int64_t count) {
  return {count * i / parts, count * (i + 1) / parts};
}

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A tensor of the call.
struct View {
  float* data = nullptr;
  ConvolutionStrides extents{}, strides{};
  int rank = 0;

  // Whether its strides are positive, and no two elements share memory.
  bool is_plain() const {
    std::vector<std::pair<int64_t, int64_t>> axes;
    for (int i = 0; i < rank; ++i) {
      if (extents[i] > 1) axes.emplace_back(strides[i], extents[i]);
    }
    std::sort(axes.begin(), axes.end());
    int64_t least = 1;
    for (const auto& [stride, extent] : axes) {
      if (stride < least) return false;
      least = stride * extent;
    }
    return true;
  }
  // Without gaps, from the first axis on.
  void set_dense() {
    int64_t stride = 1;
    for (int i = rank; i-- > 0;) {
      strides[i] = stride;
      stride *= extents[i];
    }
  }
  Strides element_strides() const {
    Strides result{};
    std::copy_n(strides.begin(), rank, result.begin());
    return result;
  }
  int64_t numel() const {
    int64_t numel = 1;
    for (int i = 0; i < rank; ++i) numel *= extents[i];
    return numel;
  }
  // Those of axes of one element are of no use, and may be anything.
  void tidy_strides() {
    int64_t most = 1;
    for (int i = 0; i < rank; ++i) {
      if (extents[i] > 1) most = std::max(most, strides[i] * extents[i]);
    }
    for (int i = 0; i < rank; ++i) {
      if (extents[i] == 1) strides[i] = most;
    }
  }
};

class Convolution {
 public:
  Convolution(const ConvolutionAttributes& attributes, const Convolutions& library,
              absl::Span<void* const> buffers)
      : a_(attributes), library_(library), result_(attributes.result) {
    const auto& roles = fusion::kRolesOfConvolution[a_.result];
    for (int k = 0; k < kNumRoles; ++k) {
      View& view = views_[roles[k]];
      view.data = static_cast<float*>(buffers[k]);
      view.rank = 2 + a_.rank;
      view.extents = a_.extents_of(roles[k]);
      if (k == 2) {
        view.set_dense();
      } else {
        view.data += a_.operands[k].offset;
        view.strides = a_.operands[k].strides;
        make_plain(&view);
      }
      view.tidy_strides();
    }
  }

  absl::Status run() {
    const int64_t image_work = a_.flops() / a_.batch + kWorkOfElement * (a_.inputs * a_.pixels() +
                                                                         a_.outputs * a_.places());
    images_ = std::min(quotient_up(kLeastWork, image_work), a_.batch);
    if (result_ == kFiltersRole) return sum_filters();
    images_ = std::max(images_, std::min(a_.batch / kManyBlocks, kMuchWork / image_work));
    return convolve_images();
  }

 private:
  void make_plain(View* view) {
    if (view->is_plain()) return;
    copies_.push_back(
        std::make_unique<Scratch>(sizeof(float) * static_cast<size_t>(view->numel())));
    auto* const to = reinterpret_cast<float*>(copies_.back()->data());
    const Shape shape(std::span<const int64_t>(view->extents.data(), view->rank));
    const Strides from = view->element_strides();
    view->set_dense();
    copy_elements(shape, sizeof(float), reinterpret_cast<const char*>(view->data), from,
                  copies_.back()->data(), view->element_strides());
    view->data = to;
  }

  // What may be cut into blocks of channels: whole groups, or of one group the result's channels.
  int64_t channels() const {
    if (a_.groups > 1) return a_.groups;
    return result_ == kImagesRole ? a_.inputs : a_.outputs;
  }
  int64_t channel_blocks(int64_t wanted) const {
    if (a_.groups == 1) return std::clamp<int64_t>(channels() / kLeastChannels, 1, wanted);
    if (images_ > 1) return 1;
    return std::clamp<int64_t>(a_.outputs / kLeastChannelsOfGroups, 1, a_.groups);
  }

  BlockShape block(int64_t images, const Range& channels) const {
    BlockShape shape{.result = a_.result,
                     .rank = a_.rank,
                     .batch = images,
                     .groups = a_.groups,
                     .inputs = a_.inputs,
                     .outputs = a_.outputs,
                     .axes = a_.axes,
                     .strides = {}};
    for (int role = 0; role < kNumRoles; ++role) shape.strides[role] = views_[role].strides;
    if (a_.groups > 1) {
      shape.groups = channels.size();
      shape.inputs = a_.inputs / a_.groups * channels.size();
      shape.outputs = a_.outputs / a_.groups * channels.size();
    } else {
      (result_ == kImagesRole ? shape.inputs : shape.outputs) = channels.size();
    }
    return shape;
  }
  std::array<float*, kNumRoles> block_tensors(int64_t image, int64_t channel) const {
    int64_t input = 0, output = 0;
    if (a_.groups > 1) {
      input = channel * (a_.inputs / a_.groups);
      output = channel * (a_.outputs / a_.groups);
    } else {
      (result_ == kImagesRole ? input : output) = channel;
    }
    const auto at = [&](ConvolutionRole role, int64_t i, int64_t j) {
      const View& view = views_[role];
      return view.data + i * view.strides[0] + j * view.strides[1];
    };
    return {at(kImagesRole, image, input), at(kFiltersRole, output, a_.groups > 1 ? 0 : input),
            at(kPlacesRole, image, output)};
  }

  // Blocks of one shape: those of channels q, of whole blocks of images or of the last one.
  struct Variant {
    Range channels;
    std::shared_ptr<const BlockConvolution> convolution;
    size_t packed = 0;  // where its filters are
  };
  absl::Status make_variant(int64_t images, const Range& channels, Variant* variant) const {
    variant->channels = channels;
    variant->convolution = library_.of(block(images, channels));
    if (variant->convolution != nullptr) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("oneDNN refuses ", a_.text()));
  }
  absl::Status status() const {
    if (!has_failed_.load(std::memory_order_relaxed)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("oneDNN failed in ", a_.text()));
  }
  void check(bool done) {
    if (!done) has_failed_.store(true, std::memory_order_relaxed);
  }

  // Every block by itself, with filters that those of the same channels share.
  absl::Status convolve_images() {
    const int64_t batches = quotient_up(a_.batch, images_), rest = a_.batch % images_;
    const int64_t blocks = channel_blocks(quotient_up(kManyBlocks, batches));
    std::vector<Variant> variants;
    size_t packed_bytes = 0;
    for (const int64_t images : {images_, rest}) {
      for (int64_t q = 0; q < blocks && images > 0; ++q) {
        Variant& variant = variants.emplace_back();
        absl::Status made = make_variant(images, part_of(q, blocks, channels()), &variant);
        if (!made.ok()) return made;
        variant.packed = packed_bytes;
        packed_bytes += variant.convolution->packed_bytes();
      }
    }
    const Scratch packed(packed_bytes);
    parallel_for(std::ssize(variants), 1, [&](int64_t begin, int64_t end) {
      for (const Variant& variant : absl::MakeSpan(variants).subspan(begin, end - begin)) {
        if (variant.convolution->packed_bytes() == 0) continue;
        check(variant.convolution->pack(block_tensors(0, variant.channels.begin)[kFiltersRole],
                                        packed.data() + variant.packed));
      }
    });
    if (absl::Status packing = status(); !packing.ok()) return packing;
    parallel_for(blocks * batches, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i % batches * images_;
        const bool is_rest = image + images_ > a_.batch;
        const Variant& variant = variants[i / batches + (is_rest ? blocks : 0)];
        std::array<float*, kNumRoles> tensors = block_tensors(image, variant.channels.begin);
        if (variant.convolution->packed_bytes() > 0) {
          tensors[kFiltersRole] = reinterpret_cast<float*>(packed.data() + variant.packed);
        }
        const Scratch scratch(variant.convolution->scratch_bytes());
        check(variant.convolution->run(tensors, scratch.data()));
      }
    });
    return status();
  }

  // Sums over all images: parts of them side by side, which are added up in their order.
  absl::Status sum_filters() {
    images_ = std::min(std::max(images_, quotient_up(kLeastPlaces, a_.places())), a_.batch);
    const int64_t batches = quotient_up(a_.batch, images_), rest = a_.batch % images_;
    const int64_t parts = std::min(batches, kManyBlocks);
    const int64_t blocks = channel_blocks(quotient_up(kManyBlocks, parts));
    std::vector<Variant> variants;
    for (const int64_t images : {images_, rest}) {
      for (int64_t q = 0; q < blocks && images > 0; ++q) {
        const absl::Status made =
            make_variant(images, part_of(q, blocks, channels()), &variants.emplace_back());
        if (!made.ok()) return made;
      }
    }
    const View& filters = views_[kFiltersRole];
    const int64_t numel = filters.numel();
    // The first part's sums are made where the result is.
    const Scratch memory(sizeof(float) * static_cast<size_t>(numel * (parts - 1)));
    auto* const others = reinterpret_cast<float*>(memory.data());
    parallel_for(blocks * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts;
        float* const base = part == 0 ? filters.data : others + (part - 1) * numel;
        sum_part(part_of(part, parts, batches), base, &variants[i / parts], blocks);
      }
    });
    if (parts > 1) {
      parallel_for(numel, 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t part = 0; part + 1 < parts; ++part) {
          const float* const other = others + part * numel;
          for (int64_t i = begin; i < end; ++i) filters.data[i] += other[i];
        }
      });
    }
    return status();
  }
  // The sums over blocks of images for the filters of some channels. `base`: of all filters.
  // `variants`: of whole blocks; as many further on, of the last one.
  void sum_part(const Range& batches, float* base, const Variant* variants, int64_t blocks) {
    const Range& channels = variants->channels;
    float* const sum =
        base + (block_tensors(0, channels.begin)[kFiltersRole] - views_[kFiltersRole].data);
    const int64_t numel = channels.size() * (views_[kFiltersRole].numel() / this->channels());
    const Scratch memory(batches.size() > 1 ? sizeof(float) * static_cast<size_t>(numel) : 0);
    auto* const term = reinterpret_cast<float*>(memory.data());
    for (int64_t batch = batches.begin; batch < batches.end; ++batch) {
      const int64_t image = batch * images_;
      const Variant& variant = variants[image + images_ > a_.batch ? blocks : 0];
      std::array<float*, kNumRoles> tensors = block_tensors(image, channels.begin);
      tensors[kFiltersRole] = batch == batches.begin ? sum : term;
      const Scratch scratch(variant.convolution->scratch_bytes());
      check(variant.convolution->run(tensors, scratch.data()));
      if (batch == batches.begin) continue;
      for (int64_t i = 0; i < numel; ++i) sum[i] += term[i];
    }
  }

  const ConvolutionAttributes& a_;
  const Convolutions& library_;
  const ConvolutionRole result_;
  std::array<View, kNumRoles> views_;
  std::vector<std::unique_ptr<Scratch>> copies_;
  int64_t images_ = 1;  // of a block
  std::atomic<bool> has_failed_ = false;
};

}  // namespace

absl::Status run_convolution(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const Convolutions* const library = find_convolutions();
  if (library == nullptr) return absl::UnimplementedError("there is no oneDNN");
  return Convolution(fusion::convolution_of(call), *library, buffers).run();
}

}  // namespace sluice::kernels
