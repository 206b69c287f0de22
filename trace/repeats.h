// Bodies of loops in a list: what repeats is shown once.
#ifndef SLUICE_TRACE_REPEATS_H_
#define SLUICE_TRACE_REPEATS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::trace {

// `count` bodies of `length` elements follow one another from `begin` on. What does not repeat has
// count 1.
struct Repeat {
  size_t begin, length, count;
  bool operator==(const Repeat&) const = default;
};

// Parts a list of keys. Bodies of up to 64 elements are found, which repeat four times at least.
std::vector<Repeat> find_repeats(const std::vector<std::string>& keys);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_REPEATS_H_
