// Modules one after another.
#ifndef SLUICE_NN_CONTAINERS_H_
#define SLUICE_NN_CONTAINERS_H_

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/nn/module.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

// What makes a tensor of a tensor: by forward(x) or, if it has none, by (x).
template <typename M>
concept HasForward = requires(M& m, const Tensor& x) {
  { m.forward(x) } -> std::convertible_to<Tensor>;
};
template <typename M>
concept TensorFunction = HasForward<M> || std::is_invocable_r_v<Tensor, M&, const Tensor&>;

// Each is given what the one before makes. Takes modules, and functions of a tensor, by value:
//
//   nn::Sequential net{nn::Linear{64, 32}, nn::ReLU{}, nn::Linear{32, 10}};
//
// They are named "0", "1", ... A copy has modules of its own.
class Sequential : public Module {
 public:
  template <TensorFunction... M>
  explicit Sequential(M... modules) : Sequential(Empty()) {
    (append(std::move(modules)), ...);
  }

  template <TensorFunction M>
  Sequential& append(M module) {
    steps_.push_back(StepHolder(new StepOf<M>(std::move(module))));
    return *this;
  }

  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

  [[nodiscard]] size_t size() const { return steps_.size(); }
  // Module number i, which must be an M; else throws Error (kInvalidArgument).
  template <std::derived_from<Module> M>
  [[nodiscard]] M& at(size_t i) {
    auto* module = dynamic_cast<M*>(step(i).module());
    if (module == nullptr) fail_type(i);
    return *module;
  }

 private:
  struct Empty {};
  explicit Sequential(Empty);

  struct Step {
    virtual ~Step() = default;
    virtual Step* copy() const = 0;
    virtual Tensor forward(const Tensor& x) = 0;
    virtual Module* module() = 0;
  };
  template <typename M>
  struct StepOf final : Step {
    explicit StepOf(M m) : value(std::move(m)) {}
    Step* copy() const override { return new StepOf(value); }
    Tensor forward(const Tensor& x) override {
      if constexpr (HasForward<M>) {
        return value.forward(x);
      } else {
        return value(x);
      }
    }
    Module* module() override {
      if constexpr (std::derived_from<M, Module>) {
        return &value;
      } else {
        return nullptr;
      }
    }
    M value;
  };
  // Owns a step; copies it.
  struct StepHolder {
    explicit StepHolder(Step* s) : step(s) {}
    StepHolder(const StepHolder& other) : step(other.step->copy()) {}
    StepHolder(StepHolder&& other) noexcept : step(std::exchange(other.step, nullptr)) {}
    StepHolder& operator=(StepHolder other) noexcept {
      std::swap(step, other.step);
      return *this;
    }
    ~StepHolder() { delete step; }
    Step* step;
  };

  Step& step(size_t i) const;
  [[noreturn]] static void fail_type(size_t i);

  std::vector<StepHolder> steps_;
};

// x + what modules one after another make of it.
class Residual : public Module {
 public:
  template <TensorFunction... M>
  explicit Residual(M... modules) : Residual(Sequential(std::move(modules)...)) {}
  explicit Residual(Sequential body);

  Tensor operator()(const Tensor& x) const;
  Tensor forward(const Tensor& x) const { return (*this)(x); }

 private:
  Sequential body_;
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_CONTAINERS_H_
