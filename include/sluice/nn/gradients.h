// Gradients by the parameters of a module: value_and_grad() and grad() of functions of one.
//
//   auto loss = [&](Net& net) { return nn::cross_entropy(net.forward(x), labels); };
//   auto [value, gradients] = value_and_grad(loss)(net);  // gradients["a.weight"]
#ifndef SLUICE_NN_GRADIENTS_H_
#define SLUICE_NN_GRADIENTS_H_

#include <concepts>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/nn/module.h>

#pragma GCC visibility push(default)
namespace sluice {

// While the function runs, the module has leaves for parameters; afterwards its own again. What the
// function changes beside them (running statistics) stays changed.
template <std::derived_from<nn::Module> M>
struct GradArgument<M> {
  explicit GradArgument(M& m) : module(m), parameters(m.named_parameters()) {
    for (auto& [name, tensor] : parameters) {
      before.push_back(*tensor);
      inputs.push_back(detail::as_parameter(*tensor));
      *tensor = inputs.back();
    }
  }
  ~GradArgument() {
    for (size_t i = 0; i < before.size(); ++i) *parameters[i].second = std::move(before[i]);
  }
  GradArgument(const GradArgument&) = delete;
  GradArgument& operator=(const GradArgument&) = delete;

  M& value() const { return module; }
  void append_to(std::vector<Tensor>* xs) const {
    xs->insert(xs->end(), inputs.begin(), inputs.end());
  }
  nn::Gradients result(std::span<const Tensor> gradients) const {
    nn::Gradients by_name;
    for (size_t i = 0; i < gradients.size(); ++i) by_name[parameters[i].first] = gradients[i];
    return by_name;
  }

  M& module;
  std::vector<std::pair<std::string, Tensor*>> parameters;
  std::vector<Tensor> before, inputs;
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_GRADIENTS_H_
