// The tensors that training changes.
#ifndef SLUICE_NN_PARAMETERS_H_
#define SLUICE_NN_PARAMETERS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

// Pointers to tensors, with their names if they are a module's. They point into the module: it must
// outlive them, and not be moved.
class Parameters : public std::vector<Tensor*> {
 public:
  using std::vector<Tensor*>::vector;
  Parameters(const std::vector<Tensor*>& tensors) : std::vector<Tensor*>(tensors) {}
  Parameters(std::vector<Tensor*> tensors, std::vector<std::string> names);

  // "0.weight"; their numbers, if they have no names.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::vector<std::string> names_;
};

// Gradients by name of the parameter.
using Gradients = std::map<std::string, Tensor>;

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_PARAMETERS_H_
