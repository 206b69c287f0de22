// Modules: layers, and what is made of layers, with named parameters.
#ifndef SLUICE_NN_MODULE_H_
#define SLUICE_NN_MODULE_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/detail/function.h>
#include <sluice/nn/parameters.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

using StateDict = std::map<std::string, Tensor>;

class Module;

// std::unique_ptr of a module.
template <typename P>
concept OwnsModule = requires(P& pointer) {
  { pointer.release() } -> std::convertible_to<Module*>;
};

// What has parameters. A class of a program's own derives from it, and registers its members in its
// constructor:
//
//   struct Net : sluice::nn::Module {
//     sluice::nn::Linear a{64, 32}, b{32, 10};
//     Net() {
//       register_module("a", a);
//       register_module("b", b);
//     }
//     sluice::Tensor forward(const sluice::Tensor& x) { return b(sluice::relu(a(x))); }
//   };
//
// A module is a value: a copy has parameters of its own, which begin as the same values (tensors do
// not change, so that nothing is copied for it). What is registered is where a member lies within
// its module; hence only members can be registered, or what is in a std::vector, std::array,
// std::optional or std::unique_ptr that is a member, and names hold in every copy.
//
// A path of names, "encoder.0.weight", names what is in modules of modules; parameters come before
// those of modules within, all in the order of registration.
class Module {
 public:
  virtual ~Module();

  // What training changes. Pointers are into this module.
  [[nodiscard]] Parameters parameters();
  [[nodiscard]] std::vector<std::pair<std::string, Tensor*>> named_parameters();
  // What is saved but not trained: running statistics, say.
  [[nodiscard]] std::vector<Tensor*> buffers();
  [[nodiscard]] std::vector<std::pair<std::string, Tensor*>> named_buffers();
  // This module, "", and all within.
  [[nodiscard]] std::vector<std::pair<std::string, Module*>> named_modules();
  // How many numbers the parameters have.
  [[nodiscard]] int64_t parameter_count();

  // Parameters and buffers by name.
  [[nodiscard]] StateDict state_dict() const;
  // Takes over their values, in the dtypes and on the devices that they have here. Throws Error
  // (kInvalidArgument), having changed nothing, that lists the names that are missing, unexpected
  // or of another shape; if not `strict`, of another shape only.
  void load_state_dict(const StateDict& state, bool strict = true);

  // Whether layers that differ then (Dropout, BatchNorm) train. At first they do.
  void train(bool on = true);
  void eval() { train(false); }
  [[nodiscard]] bool is_training() const { return training_; }

  // Brings parameters and buffers to a dtype (floats only; integers stay), or to a device.
  void to(DType dtype);
  void to(Device device);

 protected:
  Module() = default;
  // Protected, so that a module is not copied in part.
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

  // Names are not empty, have no '.', and are there once; else, and for what is no member, throws
  // Error (kInvalidArgument). An empty tensor may be registered: it does not count as long as it is
  // empty. A parameter becomes a leaf: backward() gives it a grad().
  void register_parameter(std::string name, Tensor& tensor);
  void register_buffer(std::string name, Tensor& tensor);
  template <std::derived_from<Module> M>
  void register_module(std::string name, M& module) {
    register_modules(std::move(name), &module,
                     [](void* member, const Visit& visit) { visit("", *static_cast<M*>(member)); });
  }
  // Elements are named "name.0", "name.1", ...; there may be more or fewer of them later.
  template <std::derived_from<Module> M>
  void register_module(std::string name, std::vector<M>& modules) {
    add_list(std::move(name), modules);
  }
  template <OwnsModule P>
  void register_module(std::string name, std::vector<P>& modules) {
    add_list(std::move(name), modules);
  }
  template <std::derived_from<Module> M, size_t kCount>
  void register_module(std::string name, std::array<M, kCount>& modules) {
    add_list(std::move(name), modules);
  }
  template <std::derived_from<Module> M>
  void register_module(std::string name, std::optional<M>& module) {
    add_if_there(std::move(name), module);
  }
  template <OwnsModule P>
  void register_module(std::string name, P& module) {
    add_if_there(std::move(name), module);
  }

  // Is given modules of a member, each with its name within the member.
  using Visit = std::function<void(const std::string& name, Module& module)>;
  // A member whose modules are what `modules` visits; "": they have no name before their own.
  void register_modules(std::string name, void* member, void (*modules)(void*, const Visit&));

 private:
  enum class Kind : uint8_t { kParameter, kBuffer, kModule };
  struct Member {
    std::string name;
    Kind kind;
    std::ptrdiff_t offset;  // from this object
    void (*modules)(void* member, const Visit& visit);
  };

  template <typename M>
  static Module& module_of(M& element) {
    if constexpr (std::derived_from<M, Module>) {
      return element;
    } else {
      return *element;
    }
  }
  template <typename List>
  void add_list(std::string name, List& modules) {
    register_modules(std::move(name), &modules, [](void* member, const Visit& visit) {
      size_t number = 0;
      for (auto& element : *static_cast<List*>(member)) {
        visit(std::to_string(number++), module_of(element));
      }
    });
  }
  template <typename Holder>
  void add_if_there(std::string name, Holder& module) {
    register_modules(std::move(name), &module, [](void* member, const Visit& visit) {
      auto& holder = *static_cast<Holder*>(member);
      if (holder) visit("", *holder);
    });
  }
  void add(std::string name, Kind kind, void* member, void (*modules)(void*, const Visit&));
  void* at(const Member& member) { return reinterpret_cast<char*>(this) + member.offset; }
  void visit_tensors(Kind kind, const std::string& path,
                     const std::function<void(const std::string&, Tensor&)>& visit);
  void visit_modules(const std::string& path, const Visit& visit);

  std::vector<Member> members_;
  bool training_ = true;
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_MODULE_H_
