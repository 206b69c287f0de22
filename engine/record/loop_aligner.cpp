#include "engine/record/loop_aligner.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace sluice::engine {
namespace {

// same[p]: how many ops, counted back from the last, have the same kind as the op p places before
// them. (The Z function of the reversed kinds; Gusfield, "Algorithms on Strings", 1.4.)
std::vector<size_t> repeats(const Window& window) {
  const size_t n = window.size();
  std::vector<uint32_t> kinds(n);
  for (size_t i = 0; i < n; ++i) kinds[n - 1 - i] = window.kind(i);
  std::vector<size_t> same(n);
  size_t left = 0, right = 0;
  for (size_t p = 1; p < n; ++p) {
    size_t length = p < right ? std::min(right - p, same[p - left]) : 0;
    while (p + length < n && kinds[length] == kinds[p + length]) ++length;
    if (p + length > right) {
      left = p;
      right = p + length;
    }
    same[p] = length;
  }
  return same;
}

// The length of an iteration of the loop that the window ends in, if there is one.
std::optional<size_t> find_period(const Window& window) {
  const std::vector<size_t> same = repeats(window);
  size_t longest = 0;
  for (size_t p = 1; p <= window.size() / 2; ++p) {
    if (same[p] >= p) longest = std::max(longest, same[p] + p);
  }
  // The shortest period that covers nearly as many ops as any: multiples of a period are periods,
  // too, and an inner loop's period covers only its own iterations.
  for (size_t p = 1; p <= window.size() / 2; ++p) {
    if (same[p] >= p && same[p] + p >= longest - longest / 8) return p;
  }
  return std::nullopt;
}

// Of the cuts among the last `period` ops, the one that the fewest bytes cross; the last of equals.
size_t narrowest_cut(const Window& window, size_t period) {
  const size_t n = window.size();
  std::vector<size_t> last_read(n);
  // grows[c]: by how many bytes more cross a cut before op c than a cut before op c - 1.
  std::vector<int64_t> grows(n + 2);
  for (size_t i = 0; i < n; ++i) {
    last_read[i] = window.node(i)->has_handles() ? n : i;
    window.for_each_op_read(i, [&](size_t k) { last_read[k] = std::max(last_read[k], i); });
  }
  for (size_t i = 0; i < n; ++i) {
    grows[i + 1] += window.node(i)->bytes();
    grows[last_read[i] + 1] -= window.node(i)->bytes();
  }
  size_t best = n;
  int64_t crossing = 0, least = std::numeric_limits<int64_t>::max();
  for (size_t c = 1; c <= n; ++c) {
    crossing += grows[c];
    if (c > n - period && crossing <= least) {
      least = crossing;
      best = c;
    }
  }
  return best;
}

}  // namespace

size_t LoopAligner::cut(const Window& window) {
  const size_t n = window.size();
  if (is_due()) {
    since_cut_ = 0;
    return n;
  }
  forget();
  const std::optional<size_t> period = find_period(window);
  if (!period) return n;
  const size_t end = narrowest_cut(window, *period);
  pattern_.clear();
  for (size_t i = end - *period; i < end; ++i) pattern_.push_back(window.kind(i));
  phase_ = since_cut_ = n - end;
  length_ = n / *period * *period;
  return end;
}

bool LoopAligner::goes_on(const Window& window) {
  if (window.kind(window.size() - 1) != pattern_[phase_]) {
    forget();
    return false;
  }
  ++since_cut_;
  if (++phase_ == pattern_.size()) phase_ = 0;
  return true;
}

}  // namespace sluice::engine
