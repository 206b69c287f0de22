#include "fusion/graph/constraints.h"

#include <cstddef>

namespace sluice::fusion {

void Constraints::add(const Constraints& other) {
  const auto unite = [](std::vector<bool>& into, const std::vector<bool>& from) {
    for (size_t n = 0; n < into.size(); ++n) {
      if (from[n]) into[n] = true;
    }
  };
  unite(copied_view, other.copied_view);
  unite(in_memory, other.in_memory);
  unite(over_budget, other.over_budget);
  unite(breaks_runs, other.breaks_runs);
  unite(is_factor, other.is_factor);
}

}  // namespace sluice::fusion
