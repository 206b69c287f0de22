// The gradients of convolutions. <y, x * w>, of places, images and filters, is linear in each of
// the three: what two of them give is the gradient of the product with regard to the third.
#include "frontend/autograd/rules.h"
#include "frontend/layers/library_convolution.h"

namespace sluice::frontend {
namespace {

using fusion::Op;

// The ops that give each of them, of the other two in this order.
constexpr Op kGives[] = {Op::kConvolutionImages, Op::kConvolutionFilters, Op::kConvolution};
enum Part { kImages, kFilters, kPlaces };
constexpr Part kOperands[][2] = {{kPlaces, kFilters}, {kImages, kPlaces}, {kImages, kFilters}};

template <Part kResultPart>
Tensor of_convolution(const Backward& backward, size_t k) {
  const Part wanted = kOperands[kResultPart][k], other = kOperands[kResultPart][1 - k];
  const Tensor given = backward.operand(1 - k);
  const auto tensor_of = [&](Part part) { return part == other ? given : backward.g; };
  std::vector<WindowSteps> steps;
  const auto& attrs = backward.tape.attrs;
  for (size_t i = 0; i + 4 < attrs.size(); i += 4) {
    steps.push_back({attrs[i], attrs[i + 1], attrs[i + 2], attrs[i + 3]});
  }
  return convolution(kGradients, kGives[wanted], tensor_of(kOperands[wanted][0]),
                     tensor_of(kOperands[wanted][1]), backward.operand_shape(k), steps,
                     attrs.back());
}

}  // namespace

void add_convolution_rules(RuleTable* table) {
  add_rule(table, Op::kConvolution, {true, true}, {kB, kA}, of_convolution<kPlaces>);
  add_rule(table, Op::kConvolutionImages, {true, true}, {kB, kA}, of_convolution<kImages>);
  add_rule(table, Op::kConvolutionFilters, {true, true}, {kB, kA}, of_convolution<kFilters>);
}

}  // namespace sluice::frontend
