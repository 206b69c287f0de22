// Library calls that convolve, and that compute the gradients of that.
#ifndef SLUICE_FUSION_LIBRARY_CONVOLUTION_H_
#define SLUICE_FUSION_LIBRARY_CONVOLUTION_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

inline constexpr int kMaxWindowAxes = 3;

// The windows along one axis: place i of window p is element p stride + i dilation - before of
// `extent`, or 0 where there is none.
struct WindowAxis {
  int64_t extent = 1, window = 1, places = 1;
  int64_t stride = 1, dilation = 1, before = 0, after = 0;

  auto operator<=>(const WindowAxis&) const = default;
  template <typename Axis, typename F>
  static void for_each_number(Axis& of, F f) {
    for (auto* number :
         {&of.extent, &of.window, &of.places, &of.stride, &of.dilation, &of.before, &of.after}) {
      f(*number);
    }
  }
};

// Where the elements of an operand are, in elements from the base of the block. Axes in the order
// of fusion/ir/library.def.
struct ConvolutionOperand {
  int64_t offset = 0;
  std::array<int64_t, 2 + kMaxWindowAxes> strides{};
};

// The tensors of a convolution.
enum ConvolutionRole : uint8_t { kImagesRole, kFiltersRole, kPlacesRole, kNumRoles };

// By what an op gives: its operands, and that.
inline constexpr ConvolutionRole kRolesOfConvolution[kNumRoles][kNumRoles] = {
    {kPlacesRole, kFiltersRole, kImagesRole},
    {kImagesRole, kPlacesRole, kFiltersRole},
    {kImagesRole, kFiltersRole, kPlacesRole}};

// Of each axis, in the order of fusion/ir/library.def.
using ConvolutionExtents = std::array<int64_t, 2 + kMaxWindowAxes>;

// Buffers: the op's operands, and the result, without gaps; all of `dtype`, which on the CPU is
// float32. Half types are summed in float32, and rounded once.
struct ConvolutionAttributes : SizedAttributes<ConvolutionAttributes> {
  DType dtype = DType::kFloat32;
  ConvolutionRole result = kPlacesRole;
  int rank = 0;  // how many `axes` there are
  int64_t batch = 0, groups = 1;
  int64_t inputs = 0, outputs = 0;  // channels of images and of places, of all groups
  std::array<WindowAxis, kMaxWindowAxes> axes;
  std::array<ConvolutionOperand, 2> operands;

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number : {&of.batch, &of.groups, &of.inputs, &of.outputs}) f(*number);
    for (auto& axis : of.axes) WindowAxis::for_each_number(axis, f);
    for (auto& operand : of.operands) {
      f(operand.offset);
      for (auto& stride : operand.strides) f(stride);
    }
  }
  // The products of all axes' extents, windows, places.
  int64_t pixels() const { return product(&WindowAxis::extent); }
  int64_t window() const { return product(&WindowAxis::window); }
  int64_t places() const { return product(&WindowAxis::places); }
  ConvolutionExtents extents_of(ConvolutionRole role) const;
  // Of a tensor without gaps.
  ConvolutionExtents dense_strides(ConvolutionRole role) const;
  std::string text() const override;
  int64_t flops() const override {
    return 2 * batch * outputs * (inputs / groups) * window() * places();
  }
  double cost() const override;

 private:
  int64_t product(int64_t WindowAxis::*number) const {
    int64_t result = 1;
    for (int i = 0; i < rank; ++i) result *= axes[i].*number;
    return result;
  }
};

// `call` is of kind kConvolution.
inline const ConvolutionAttributes& convolution_of(const LibraryCall& call) {
  return static_cast<const ConvolutionAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_CONVOLUTION_H_
