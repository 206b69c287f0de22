// What a module is made of.
#ifndef SLUICE_NN_SUMMARY_H_
#define SLUICE_NN_SUMMARY_H_

#include <string>

#include <sluice/detail/function.h>
#include <sluice/nn/containers.h>
#include <sluice/nn/module.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

// A table of its modules: their path, type, the shape of what they made last when `run` ran, and
// parameters; and the kernels and library calls that the run took. Computes what run() returns.
[[nodiscard]] std::string summary(Module& module, const std::function<Tensor()>& run);

// Of module.forward(input).
template <typename M>
requires HasForward<M>
[[nodiscard]] std::string summary(M& module, const Tensor& input) {
  return summary(static_cast<Module&>(module), [&]() -> Tensor { return module.forward(input); });
}

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_SUMMARY_H_
