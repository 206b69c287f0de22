// How what a trace holds is called where people read it.
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

// How many of a step's runs were on the generic tier, for the end of a line: "  [generic tier 2 of
// 10]". Empty if none was.
std::string describe_tier(int64_t generic, int64_t runs);

// Refers to the trace.
class Labels {
 public:
  explicit Labels(const Trace& trace);

  // "net.cpp:12", without the folders that all files share. Empty if there is none.
  std::string place(int32_t site) const;
  // The places of several ops, a few at most: "net.cpp:12-15, adam.cpp:9". Then their scope, if
  // they have one in common: "net.cpp:12 in encoder". Empty if no place is known.
  std::string places(const Graph& graph, const std::vector<int32_t>& ops) const;
  // Why, in a sentence if the trace has one, and where: "library: t6 (matmul) is ...  net.cpp:12".
  std::string cut(const Graph& graph, const Cut& cut) const;
  // "main", "thread 3", "no thread"
  std::string thread(int32_t thread) const;

 private:
  const Trace& trace_;
  size_t shared_folder_ = 0;  // its length in each site's file
};

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_LABELS_H_
