// What optimisers have in common: groups of parameters, their state, and how a step is taken.
#ifndef SLUICE_OPTIM_OPTIMIZER_H_
#define SLUICE_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sluice/detail/function.h>
#include <sluice/nn/parameters.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace optim {

// Changes the tensors that its parameters point to, which must outlive it and stay where they are:
//
//   optim::Adam opt(model.parameters(), {.lr = 1e-3});
//   auto [loss, gradients] = value_and_grad(f)(model);
//   opt.step(gradients);
//
// A step records ops like any other and waits for nothing. Learning rates and what depends on the
// number of the step are scalars: another value never makes another plan or kernel. Parameters of
// half types are kept in float32 as well (state "master"), which is what steps change.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step along a gradient for each parameter, in their order, groups one after another. An
  // empty tensor leaves its parameter as it is. Throws Error (kInvalidArgument) for another number
  // of gradients, or one of another shape, having changed nothing.
  void step(std::span<const Tensor> gradients);
  void step(const std::vector<Tensor>& gradients) { step(std::span<const Tensor>(gradients)); }
  void step(std::initializer_list<Tensor> gradients) {
    step(std::span<const Tensor>(gradients.begin(), gradients.size()));
  }
  // By name of the parameter (see nn::Parameters). One without a gradient stays as it is; a name
  // that is no parameter's is an Error.
  void step(const std::map<std::string, Tensor>& gradients);
  // Along what backward() has added up for each parameter, which is forgotten with the old value:
  // those of new values begin at nothing. Throws Error (kFailedPrecondition) if none has any.
  void step();
  // Forgets what backward() has added up.
  void zero_grad();

  [[nodiscard]] double lr(size_t group = 0) const;
  // Of all groups, and of one.
  void set_lr(double lr);
  void set_lr(size_t group, double lr);

  [[nodiscard]] size_t group_count() const { return groups_.size(); }
  // How many steps have been taken.
  [[nodiscard]] int64_t steps() const { return steps_; }

  // What a run that goes on needs beside parameters: "steps", "lr.<group>", and the state of each
  // parameter by its name, "state.<name>.<slot>".
  [[nodiscard]] std::map<std::string, Tensor> state_dict() const;
  // Throws Error (kInvalidArgument), having changed nothing, that lists what is missing, unexpected
  // or of another shape. State that the optimiser has not made yet, as no step has been taken, may
  // be missing or there.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  // The numbers of one step. `number` counts from 1.
  struct Step {
    int64_t number;
    double lr;
  };
  using Slots = std::span<Tensor>;  // one for each name that slots_of() gives

  Optimizer(const char* name, const nn::Parameters& parameters, double lr);
  // Another group, whose options are number `group`.
  size_t add(const nn::Parameters& parameters, double lr);

  // The names of the state of a parameter of this shape. It begins as what initial() gives.
  virtual std::vector<std::string> slots_of(size_t group, const Shape& shape) const = 0;
  // Zeros like the value unless it is overridden.
  virtual Tensor initial(size_t group, const std::string& slot, const Tensor& value) const;
  // The parameter's next value, and its next state in `slots`. All are of the value's dtype, a
  // float of at least 32 bits.
  virtual Tensor updated(size_t group, const Step& step, const Tensor& value,
                         const Tensor& gradient, Slots slots) const = 0;

 private:
  struct Parameter {
    std::string name;
    Tensor* tensor;
    size_t group;
    bool has_begun;  // its state is there
    std::vector<std::string> slot_names;
    std::vector<Tensor> slots;
  };

  void begin(Parameter* parameter) const;

  const char* name_;
  std::vector<double> groups_;  // learning rates
  std::vector<Parameter> parameters_;
  int64_t steps_ = 0;
};

// An optimiser with these options, which each group has of its own.
template <typename Options>
class OptimizerOf : public Optimizer {
 public:
  // Another group, with options of its own.
  void add_group(const nn::Parameters& parameters, const Options& options) {
    add(parameters, options.lr);
    options_.push_back(options);
  }
  [[nodiscard]] const Options& options(size_t group = 0) const { return options_.at(group); }

 protected:
  OptimizerOf(const char* name, const nn::Parameters& parameters, const Options& options)
      : Optimizer(name, parameters, options.lr), options_{options} {}

 private:
  std::vector<Options> options_;
};

}  // namespace optim
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_OPTIM_OPTIMIZER_H_
