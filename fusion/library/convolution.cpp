#include "fusion/library/convolution.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

ConvolutionExtents ConvolutionAttributes::extents_of(ConvolutionRole role) const {
  ConvolutionExtents extents{};
  extents[0] = role == kFiltersRole ? outputs : batch;
  extents[1] = role == kFiltersRole ? inputs / groups : role == kImagesRole ? inputs : outputs;
  for (int i = 0; i < rank; ++i) {
    extents[2 + i] = role == kFiltersRole  ? axes[i].window
                     : role == kImagesRole ? axes[i].extent
                                           : axes[i].places;
  }
  return extents;
}

ConvolutionExtents ConvolutionAttributes::dense_strides(ConvolutionRole role) const {
  const ConvolutionExtents extents = extents_of(role);
  ConvolutionExtents strides{};
  int64_t stride = 1;
  for (int i = 2 + rank; i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

std::string ConvolutionAttributes::text() const {
  const auto extents = [&](int64_t WindowAxis::*number) {
    return absl::StrJoin(
        axes.begin(), axes.begin() + rank, "x",
        [&](std::string* out, const WindowAxis& axis) { absl::StrAppend(out, axis.*number); });
  };
  std::string text = absl::StrCat(batch, "x", inputs, "x", extents(&WindowAxis::extent), ", ",
                                  outputs, " filters of ", extents(&WindowAxis::window));
  if (groups > 1) absl::StrAppend(&text, ", ", groups, " groups");
  return text;
}

double ConvolutionAttributes::cost() const {
  constexpr double kFlopsOfNanosecond = 60, kOfCall = 2000;
  return static_cast<double>(flops()) / kFlopsOfNanosecond + kOfCall;
}

std::shared_ptr<const LibraryAttributes> make_convolution_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  auto result = std::make_shared<ConvolutionAttributes>();
  result->dtype = node.dtype;
  result->result = node.op == Op::kConvolution         ? kPlacesRole
                   : node.op == Op::kConvolutionImages ? kImagesRole
                                                       : kFiltersRole;
  const Shape* const given[] = {&operands[0].shape, &operands[1].shape, &node.shape};
  const Shape* shapes[kNumRoles];
  for (int k = 0; k < kNumRoles; ++k) shapes[kRolesOfConvolution[result->result][k]] = given[k];
  const Shape &images = *shapes[kImagesRole], &filters = *shapes[kFiltersRole];
  const Shape& places = *shapes[kPlacesRole];
  result->rank = node.shape.rank() - 2;
  result->batch = images[0];
  result->inputs = images[1];
  result->outputs = places[1];
  result->groups = node.attrs.back();
  for (int i = 0; i < result->rank; ++i) {
    const int64_t* const attrs = &node.attrs[4 * i];
    result->axes[i] = {.extent = images[2 + i],
                       .window = filters[2 + i],
                       .places = places[2 + i],
                       .stride = attrs[0],
                       .dilation = attrs[1],
                       .before = attrs[2],
                       .after = attrs[3]};
  }
  for (int k = 0; k < 2; ++k) {
    result->operands[k].offset = operands[k].offset;
    std::copy_n(operands[k].strides.begin(), node.shape.rank(),
                result->operands[k].strides.begin());
  }
  return result;
}

}  // namespace sluice::fusion
