// Regions of a program, by name, for traces.
#ifndef SLUICE_SCOPE_H_
#define SLUICE_SCOPE_H_

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace sluice {

// A region of the program: during its lifetime, ops that its thread records carry its name in
// traces. Regions nest: a "layer1" within an "encoder" is called "encoder/layer1". It affects only
// traces, and costs nothing while none is recorded.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  bool is_entered_;
  uint16_t outer_ = 0;
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_SCOPE_H_
