#include "workloads/program_lists.h"

namespace sluice::workloads {
namespace {

// Inputs: queries, keys, values, the attention mask.
Tensors attention(const Tensors& in) {
  Tensor scores = matmul(in[0], swapaxes(in[1], -1, -2)) * 0.125f;
  return {matmul(softmax_of(where(in[3], scores, -1e9f), -1), in[2])};
}

Tensors make_attention_inputs(Size size) {
  const Shape shape = size == Size::kSmall ? Shape{2, 33, 20} : Shape{8, 512, 64};
  Tensor mask = tril(ones({shape[1], shape[1]}, DType::kBool));
  return {randn(shape), randn(shape), randn(shape), mask};
}

Tensor gelu_of(const Tensor& x) { return 0.5f * x * (1.f + erf(x * 0.70710678f)); }

// Inputs: x, weight, bias.
Tensors linear_gelu(const Tensors& in) { return {gelu_of(matmul(in[0], in[1]) + in[2])}; }

}  // namespace

void add_around_library(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "attention",
                       .kernels = 1,
                       .library_calls = 2,
                       .make_inputs = seeded(make_attention_inputs),
                       .run = attention,
                       // Scores and probabilities, each written and read.
                       .least_bytes = [](const Tensors& in, const Tensors& out) {
                         const int64_t scores = in[0].numel() * in[0].shape(1) / in[0].shape(2);
                         return each_once(in, out) + 4 * scores * int64_t{sizeof(float)};
                       }});
  programs->push_back(
      {.name = "matmul, bias, GELU",
       .kernels = 1,
       .library_calls = 1,
       .make_inputs = normal({{{48, 33}, {2048, 512}}, {{33, 300}, {512, 2048}}, {{300}, {2048}}}),
       .run = linear_gelu,
       // The product, written and read.
       .least_bytes = [](const Tensors& in, const Tensors& out) {
         return each_once(in, out) + 2 * bytes_of(out);
       }});
}

}  // namespace sluice::workloads
