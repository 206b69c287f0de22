#include "trace/repeats.h"

namespace sluice::trace {
namespace {

constexpr size_t kLongestBody = 64;
constexpr size_t kFewestRepeats = 4;

}  // namespace

std::vector<Repeat> find_repeats(const std::vector<std::string>& keys) {
  std::vector<Repeat> parts;
  for (size_t begin = 0; begin < keys.size();) {
    Repeat best{begin, 1, 1};
    for (size_t length = 1; length <= kLongestBody && begin + 2 * length <= keys.size(); ++length) {
      size_t end = begin + length;
      while (end < keys.size() && keys[end] == keys[end - length]) ++end;
      const size_t count = (end - begin) / length;
      // Of bodies that explain as much the shortest.
      if (count >= kFewestRepeats && count * length > best.count * best.length) {
        best = {begin, length, count};
      }
    }
    begin += best.count * best.length;
    if (best.count == 1 && !parts.empty() && parts.back().count == 1) {
      ++parts.back().length;
    } else {
      parts.push_back(best);
    }
  }
  return parts;
}

}  // namespace sluice::trace
