// What people are shown for the values, places and reasons of a trace.
#ifndef SLUICE_TRACE_LABELS_H_
#define SLUICE_TRACE_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace sluice::trace {

// An input of a window, rather than an op that it recorded.
bool is_input(const Op& op);

// "float32(4, 4)"
std::string type_of(const Op& op);

// "t3 (mul)", "`hidden` (t3, mul)"
std::string value_of(const Graph& graph, int32_t op);

// The share of a step's runs on the generic tier, for the end of a line: "  [generic tier 2 of
// 10]". Empty if there were none.
std::string describe_tier(int64_t generic, int64_t runs);

// The labels of one trace, which must outlive this object.
class Labels {
 public:
  explicit Labels(const Trace& trace);

  // "net.cpp:12", without the folders that all files share. Empty if there is no site.
  std::string place(int32_t site) const;
  // The places of several ops, abbreviated: "net.cpp:12-15, adam.cpp:9". Followed by their scope if
  // it is the same for all: "net.cpp:12 in encoder". Empty if no place is known.
  std::string places(const Graph& graph, const std::vector<int32_t>& ops) const;
  // The reason, with a sentence if there is one, and the place: "library: t6 (matmul) is ...
  // net.cpp:12".
  std::string cut(const Graph& graph, const Cut& cut) const;
  // "main", "thread 3", "no thread"
  std::string thread(int32_t thread) const;

 private:
  const Trace& trace_;
  size_t shared_folder_ = 0;  // its length in each site's file
};

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_LABELS_H_
