// Sluice's part in bench/cliffs: programs by name, which the rows of rows/ give inputs.
#ifndef SLUICE_BENCH_CLIFFS_CLIFFS_H_
#define SLUICE_BENCH_CLIFFS_CLIFFS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::bench {

using Tensors = std::vector<Tensor>;

// What a row gives its program.
class Given {
 public:
  // INPUT as in peers/peers.py: dtype:shape:low:high:view, such as f32:64x100:-1:1:T.
  void add_input(const std::string& text);
  void add_argument(int64_t value) { arguments_.push_back(value); }

  size_t size() const { return inputs_.size(); }
  // Input i as the program sees it. Its view is recorded anew with each step, as in a program.
  Tensor operator[](size_t i) const;

  int64_t argument(size_t i) const { return arguments_.at(i); }
  // The arguments as axes.
  Axes axes() const;

 private:
  struct Input {
    Tensor data;
    std::string view;
  };
  std::vector<Input> inputs_;
  std::vector<int64_t> arguments_;
};

// A step records, and returns, what is waited for.
using Step = std::function<Tensors()>;
using Program = std::function<Step(Given)>;

std::map<std::string, Program, std::less<>>& programs();

// Registers a program without state: `f` maps a Given to its result, or to Tensors.
template <typename F>
void add_program(std::string_view name, F f) {
  programs().emplace(name, [f](Given given) -> Step {
    return [f, given = std::move(given)]() -> Tensors {
      if constexpr (std::is_same_v<decltype(f(given)), Tensors>) {
        return f(given);
      } else {
        return {f(given)};
      }
    };
  });
}

// Each registers the programs of its file.
void add_pointwise_programs();
void add_reduction_programs();
void add_movement_programs();
void add_sorting_programs();
void add_whole_programs();
void add_linalg_programs();
void add_layer_programs();
void add_everyday_programs();
void add_network_programs();
void add_view_programs();
void add_science_programs();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CLIFFS_CLIFFS_H_
