#include "workloads/program_lists.h"

namespace sluice::workloads {
namespace {

// The average of the four neighbours of each interior point.
Tensor average_of_neighbours(const Tensor& u) {
  Tensor rows = slice(u, 0, 1, -1);
  Tensor columns = slice(u, 1, 1, -1);
  return 0.25f * (slice(columns, 0, 0, -2) + slice(columns, 0, 2, u.shape(0)) +
                  slice(rows, 1, 0, -2) + slice(rows, 1, 2, u.shape(1)));
}

Tensors jacobi_with_zero_boundary(const Tensors& in) {
  return {pad(average_of_neighbours(in[0]), {{1, 1}, {1, 1}})};
}

Tensors jacobi_with_kept_boundary(const Tensors& in) {
  const Tensor& u = in[0];
  Tensor rows = slice(u, 0, 1, -1);
  Tensor inner =
      concat({slice(rows, 1, 0, 1), average_of_neighbours(u), slice(rows, 1, -1, u.shape(1))}, 1);
  return {concat({slice(u, 0, 0, 1), inner, slice(u, 0, -1, u.shape(0))}, 0)};
}

// Diffusion on a torus.
Tensors stencil_by_roll(const Tensors& in) {
  const Tensor& u = in[0];
  Tensor laplacian = roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4.f * u;
  return {u + 0.1f * laplacian};
}

}  // namespace

void add_views(std::vector<FusedProgram>* programs) {
  programs->push_back({.name = "x.T() + y",
                       .make_inputs = normal({matrix(), {{300, 48}, {1024, 4096}}}),
                       .run = [](const Tensors& in) { return Tensors{in[0].T() + in[1]}; }});
  programs->push_back({.name = "Jacobi step, zero boundary",
                       .make_inputs = normal({matrix()}),
                       .run = jacobi_with_zero_boundary});
  programs->push_back({.name = "Jacobi step, boundary kept",
                       .make_inputs = normal({matrix()}),
                       .run = jacobi_with_kept_boundary});
  programs->push_back(
      {.name = "stencil by roll", .make_inputs = normal({matrix()}), .run = stencil_by_roll});
  programs->push_back(
      {.name = "concat of three pointwise results",
       .make_inputs = normal({matrix(), {{7, 300}, {1000, 1024}}, {{33, 300}, {3000, 1024}}}),
       .run = [](const Tensors& in) {
         return Tensors{concat({exp(in[0]) + 1.f, tanh(in[1] * 0.5f), square(in[2]) - in[2]}, 0)};
       }});
}

}  // namespace sluice::workloads
