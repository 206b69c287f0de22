#include <sluice/nn/summary.h>

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <typeinfo>
#include <vector>

#include <sluice/control.h>
#include <sluice/stats.h>
#include "absl/strings/str_cat.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {
namespace {

using frontend::ObservedShapes;
using Row = std::array<std::string, 4>;

// The class, without its namespace.
std::string type_of(const Module& module) {
  const char* const mangled = typeid(module).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? text.get() : mangled;
  const size_t colon = name.find('<') == std::string::npos ? name.rfind("::") : std::string::npos;
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

// Puts back what this thread recorded before, whatever run() throws.
class Observation {
 public:
  explicit Observation(ObservedShapes* shapes)
      : before_(std::exchange(frontend::observed_shapes, shapes)) {}
  ~Observation() { frontend::observed_shapes = before_; }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  ObservedShapes* before_;
};

std::string grouped(int64_t number) {
  std::string text = absl::StrCat(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string table_of(const std::vector<Row>& rows) {
  std::array<size_t, 4> widths{};
  for (const Row& row : rows) {
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t k = 0; k < row.size(); ++k) {
      const std::string gap(widths[k] - row[k].size(), ' ');
      // Names to the left, numbers to the right.
      absl::StrAppend(&text, k == 0 ? "" : "  ", k + 1 < row.size() ? row[k] + gap : gap + row[k]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string summary(Module& module, const std::function<Tensor()>& run) {
  ObservedShapes shapes;
  sync();
  const Stats before = stats();
  {
    const Observation observation(&shapes);
    const Tensor result = run();
    shapes[&module] = result.shape();
    static_cast<void>(result.eval());
    sync();
  }
  const Stats after = stats();
  std::vector<Row> rows = {{"module", "type", "output", "parameters"}};
  for (const auto& [path, part] : module.named_modules()) {
    const auto shape = shapes.find(part);
    rows.push_back({path.empty() ? "(all)" : path, type_of(*part),
                    shape == shapes.end() ? "-" : to_string(shape->second),
                    grouped(part->parameter_count())});
  }
  return absl::StrCat(table_of(rows), after.kernels_launched - before.kernels_launched,
                      " kernels, ", after.library_calls - before.library_calls, " library calls\n");
}

}  // namespace sluice::nn
