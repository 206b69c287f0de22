// What tests of convolutions on the emulated device are made of.
#ifndef SLUICE_TESTS_CUDA_CUDA_CONVOLUTIONS_H_
#define SLUICE_TESTS_CUDA_CUDA_CONVOLUTIONS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sluice/half.h>
#include "absl/strings/str_cat.h"
#include "fusion/library/convolution.h"
#include "kernels/cuda/library/convolution/own_convolution.h"
#include "kernels/cuda/library/library.h"
#include "tests/cuda/cuda_products.h"
#include "tests/emulated_cuda/runtime_rig.h"

namespace sluice::kernels::cuda {

using fusion::ConvolutionAttributes;
using fusion::ConvolutionRole;
using fusion::WindowAxis;
using enum fusion::ConvolutionRole;

// ---- Elements of a dtype.

inline float element(DType dtype, const char* at) {
  float value = 0;
  uint16_t bits = 0;
  if (dtype == DType::kFloat32) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::memcpy(&bits, at, sizeof(bits));
  return dtype == DType::kFloat16 ? static_cast<float>(std::bit_cast<float16>(bits))
                                  : static_cast<float>(std::bit_cast<bfloat16>(bits));
}
inline void set_element(DType dtype, float value, char* at) {
  if (std::isnan(value)) value = std::bit_cast<float>(0x7fc00000u);
  if (dtype == DType::kFloat32) {
    std::memcpy(at, &value, sizeof(value));
  } else if (dtype == DType::kFloat16) {
    const float16 half(value);
    std::memcpy(at, &half, sizeof(half));
  } else {
    const bfloat16 half(value);
    std::memcpy(at, &half, sizeof(half));
  }
}

// ---- Convolutions on the host.

struct ConvolutionCase {
  ConvolutionAttributes of;
  std::vector<char> memory[2];  // of the operands
  std::string name;
  bool allow_tf32 = false;

  // Axes as extent, window, stride, dilation, before, after.
  ConvolutionCase(std::string name, ConvolutionRole result, DType dtype, int64_t batch,
                  int64_t inputs, int64_t outputs, int64_t groups,
                  const std::vector<std::array<int64_t, 6>>& axes)
      : name(
            absl::StrCat(name, ", role ", static_cast<int>(result), ", ", sluice::name_of(dtype))) {
    of.dtype = dtype;
    of.result = result;
    of.rank = static_cast<int>(axes.size());
    of.batch = batch;
    of.groups = groups;
    of.inputs = inputs;
    of.outputs = outputs;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto& [extent, window, stride, dilation, before, after] = axes[i];
      of.axes[i] = {.extent = extent,
                    .window = window,
                    .places = (extent + before + after - dilation * (window - 1) - 1) / stride + 1,
                    .stride = stride,
                    .dilation = dilation,
                    .before = before,
                    .after = after};
    }
    for (int i = 0; i < 2; ++i) place(i, of.dense_strides(role(i)), 0, count(role(i)));
    fill(7);
  }

  ConvolutionRole role(int i) const { return fusion::kRolesOfConvolution[of.result][i]; }
  int64_t count(ConvolutionRole role) const {
    int64_t product = 1;
    for (int i = 0; i < 2 + of.rank; ++i) product *= of.extents_of(role)[i];
    return product;
  }
  int64_t size() const { return static_cast<int64_t>(size_of(of.dtype)); }

  // Where operand i lies.
  void place(int i, const fusion::ConvolutionExtents& strides, int64_t offset, int64_t elements) {
    of.operands[i].strides = strides;
    of.operands[i].offset = offset;
    memory[i].resize(static_cast<size_t>(elements * size()));
  }
  // Channels last, with a gap before and behind every pixel.
  void place_channels_last(int i) {
    const fusion::ConvolutionExtents extents = of.extents_of(role(i));
    fusion::ConvolutionExtents strides{};
    strides[1] = 1;
    int64_t stride = extents[1] + 2;
    for (int k = of.rank; k-- > 0;) {
      strides[2 + k] = stride;
      stride *= extents[2 + k];
    }
    strides[0] = stride;
    place(i, strides, 1, stride * extents[0] + 1);
    fill(11 + static_cast<unsigned>(i));
  }
  // From the last element of each axis to the first.
  void place_reversed(int i) {
    const fusion::ConvolutionExtents extents = of.extents_of(role(i));
    fusion::ConvolutionExtents strides = of.dense_strides(role(i));
    int64_t offset = 0;
    for (int k = 0; k < 2 + of.rank; ++k) {
      offset += strides[k] * (extents[k] - 1);
      strides[k] = -strides[k];
    }
    place(i, strides, offset, count(role(i)));
    fill(13);
  }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> distribution(-1, 1);
    for (std::vector<char>& elements : memory) {
      for (size_t at = 0; at < elements.size(); at += static_cast<size_t>(size())) {
        set_element(of.dtype, distribution(random), elements.data() + at);
      }
    }
  }

  float at(int operand, const std::array<int64_t, 5>& place) const {
    int64_t offset = of.operands[operand].offset;
    for (int i = 0; i < 2 + of.rank; ++i) offset += place[i] * of.operands[operand].strides[i];
    return element(of.dtype, memory[operand].data() + offset * size());
  }

  // The elements of the result, in order: calls f(k, a, b) for each term of its sum, in order, and
  // then keeps done().
  template <typename F, typename Done>
  void for_each_sum(const F& f, const Done& done) const {
    const int64_t inputs = of.inputs / of.groups, outputs = of.outputs / of.groups;
    std::array<int64_t, 5> extents = of.extents_of(of.result);
    // What is summed over: a number, and places along the axes.
    std::array<int64_t, 4> over = {of.result == kPlacesRole   ? inputs
                                   : of.result == kImagesRole ? outputs
                                                              : of.batch,
                                   1, 1, 1};
    for (int i = 0; i < of.rank; ++i) {
      over[1 + i] = of.result == kFiltersRole ? of.axes[i].places : of.axes[i].window;
    }
    for (int i = 2 + of.rank; i < 5; ++i) extents[i] = 1;
    const int64_t total = extents[0] * extents[1] * extents[2] * extents[3] * extents[4];
    for (int64_t number = 0; number < total; ++number) {
      std::array<int64_t, 5> y{};
      int64_t rest = number;
      for (int i = 5; i-- > 0; rest /= extents[i]) y[i] = rest % extents[i];
      const int64_t terms = over[0] * over[1] * over[2] * over[3];
      for (int64_t k = 0; k < terms; ++k) {
        std::array<int64_t, 4> z{};
        rest = k;
        for (int i = 4; i-- > 0; rest /= over[i]) z[i] = rest % over[i];
        std::array<int64_t, 5> image{}, filter{}, place{};
        const int64_t group = of.result == kImagesRole   ? y[1] / inputs
                              : of.result == kPlacesRole ? y[1] / outputs
                                                         : y[0] / outputs;
        int64_t input = 0, output = 0;  // of the group
        switch (of.result) {
          case kPlacesRole:
            image[0] = place[0] = y[0], output = y[1] % outputs, input = z[0];
            break;
          case kImagesRole: image[0] = place[0] = y[0], input = y[1] % inputs, output = z[0]; break;
          default: image[0] = place[0] = z[0], output = y[0] % outputs, input = y[1];
        }
        image[1] = group * inputs + input, place[1] = group * outputs + output;
        filter[0] = place[1], filter[1] = input;
        bool inside = true;
        for (int i = 0; i < of.rank; ++i) {
          const WindowAxis& axis = of.axes[i];
          const int64_t mine = y[2 + i], summed = z[1 + i];
          filter[2 + i] = of.result == kFiltersRole ? mine : summed;
          if (of.result == kImagesRole) {
            image[2 + i] = mine;
            const int64_t from = mine + axis.before - summed * axis.dilation;
            place[2 + i] = from / axis.stride;
            inside &= from >= 0 && from % axis.stride == 0 && place[2 + i] < axis.places;
          } else {
            place[2 + i] = of.result == kFiltersRole ? summed : mine;
            image[2 + i] = place[2 + i] * axis.stride + filter[2 + i] * axis.dilation - axis.before;
            inside &= image[2 + i] >= 0 && image[2 + i] < axis.extent;
          }
        }
        const std::array<int64_t, 5>* const of_role[] = {&image, &filter, &place};
        f(k, at(1, *of_role[role(1)]), inside ? at(0, *of_role[role(0)]) : 0.0f);
      }
      done();
    }
  }

  // As OwnConvolution says.
  std::vector<float> in_order() const {
    const int64_t part = convolution_part(of);
    std::vector<float> result;
    float sum = 0, earlier = 0;
    int64_t last = 0;
    for_each_sum(
        [&](int64_t k, float a, float b) {
          if (k > 0 && k % part == 0) {
            earlier = k == part ? sum : earlier + sum;
            sum = 0;
          }
          sum = std::fma(a, b, sum);
          last = k;
        },
        [&] {
          char rounded[sizeof(float)];
          set_element(of.dtype, last >= part ? earlier + sum : sum, rounded);
          result.push_back(element(of.dtype, rounded));
          sum = earlier = 0;
        });
    return result;
  }
  std::vector<double> exact(std::vector<double>* magnitudes) const {
    std::vector<double> result;
    double sum = 0, magnitude = 0;
    for_each_sum(
        [&](int64_t, float a, float b) {
          sum += double{a} * double{b};
          magnitude += std::abs(double{a} * double{b});
        },
        [&] {
          result.push_back(std::exchange(sum, 0));
          magnitudes->push_back(std::exchange(magnitude, 0));
        });
    return result;
  }
};

inline void expect_near(const std::vector<float>& actual, const ConvolutionCase& c) {
  std::vector<double> magnitudes;
  const std::vector<double> expected = c.exact(&magnitudes);
  ASSERT_EQ(actual.size(), expected.size()) << c.name;
  const double rounding = c.of.dtype == DType::kFloat32   ? 0
                          : c.of.dtype == DType::kFloat16 ? 0x1p-11
                                                          : 0x1p-8;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(double{actual[i]} - expected[i]),
              1e-5 * magnitudes[i] + rounding * std::abs(expected[i]) + 1e-7)
        << c.name << " at " << i;
  }
}

// ---- Convolutions on the device.

inline std::vector<float> run(Rig* rig, LibraryRunner* runner, const ConvolutionCase& c,
                              absl::Status* status = nullptr) {
  const auto stream = rig->stream();
  std::vector<Event> written;
  std::vector<void*> buffers;
  for (const std::vector<char>& elements : c.memory) {
    std::vector<float> words(elements.size() / sizeof(float) + 1);
    std::memcpy(words.data(), elements.data(), elements.size());
    buffers.push_back(
        rig->allocate(rig->device().copies().upload_stream(), static_cast<int64_t>(words.size())));
    written.push_back(rig->upload(static_cast<float*>(buffers.back()), words));
  }
  const int64_t count = c.count(c.of.result);
  const int64_t words = count * c.size() / 4 + 1;
  buffers.push_back(rig->allocate(stream.get(), words));
  fusion::LibraryCall call;
  call.kind = fusion::LibraryKind::kConvolution;
  call.allow_tf32 = c.allow_tf32;
  call.attributes = std::make_shared<ConvolutionAttributes>(c.of);
  auto outcome = std::make_shared<Outcome>();
  const Event made = test::submit(
      stream.get(), [&] { return runner->enqueue(stream.get(), call, buffers, c.name); }, outcome,
      written);
  std::vector<float> downloaded;
  if (outcome->run.ok()) {
    downloaded = rig->download(static_cast<float*>(buffers.back()), words, made);
  }
  rig->device().wait_for_all();
  for (void* const data : buffers) rig->device().allocator().free(data);
  if (status != nullptr) {
    *status = outcome->run;
  } else {
    EXPECT_TRUE(outcome->run.ok()) << outcome->run;
  }
  if (downloaded.empty()) return {};
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) {
    result.push_back(
        element(c.of.dtype, reinterpret_cast<const char*>(downloaded.data()) + i * c.size()));
  }
  return result;
}

// All options crossed at small sizes, of one result.
inline std::vector<ConvolutionCase> convolution_cases(ConvolutionRole result, DType dtype) {
  std::vector<ConvolutionCase> cases;
  const auto add = [&](const char* name, int64_t batch, int64_t inputs, int64_t outputs,
                       int64_t groups, const std::vector<std::array<int64_t, 6>>& axes) {
    cases.emplace_back(name, result, dtype, batch, inputs, outputs, groups, axes);
  };
  add("one", 1, 1, 1, 1, {{1, 1, 1, 1, 0, 0}});
  add("along an axis", 2, 3, 9, 1, {{13, 3, 2, 2, 1, 2}});
  add("images", 2, 8, 10, 1, {{5, 3, 1, 1, 1, 1}, {6, 2, 1, 1, 0, 1}});
  add("steps", 2, 9, 8, 1, {{9, 3, 2, 1, 1, 0}, {8, 2, 3, 2, 0, 2}});
  add("groups", 2, 18, 24, 2, {{4, 3, 1, 1, 1, 1}, {5, 3, 1, 1, 1, 1}});
  add("channels by themselves", 2, 6, 12, 6, {{5, 3, 2, 1, 1, 1}, {4, 3, 1, 1, 1, 1}});
  add("volumes", 1, 8, 9, 1, {{3, 2, 1, 1, 0, 1}, {4, 3, 1, 1, 1, 1}, {5, 2, 2, 2, 1, 0}});
  add("steps beyond windows", 1, 2, 3, 1, {{8, 2, 3, 1, 0, 0}, {9, 2, 4, 1, 0, 0}});
  add("padding alone", 1, 2, 8, 1, {{3, 2, 1, 1, 3, 3}, {3, 2, 1, 1, 3, 3}});
  add("channels last", 2, 8, 10, 1, {{5, 3, 1, 1, 1, 1}, {6, 2, 1, 1, 0, 1}});
  for (int i = 0; i < 2; ++i) cases.back().place_channels_last(i);
  add("backwards", 2, 8, 10, 1, {{5, 3, 1, 1, 1, 1}, {6, 2, 1, 1, 0, 1}});
  for (int i = 0; i < 2; ++i) cases.back().place_reversed(i);
  return cases;
}

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_TESTS_CUDA_CUDA_CONVOLUTIONS_H_
