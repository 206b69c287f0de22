#include "fusion/plan/plan_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice::fusion {
namespace {

std::string names_of(const Graph& graph, const Call& call) {
  return absl::StrJoin(call.nodes, " ", [&](std::string* out, NodeId n) {
    absl::StrAppend(out, name_of(graph.nodes[n].op));
  });
}

void append_kernels(const Graph& graph, const std::vector<KernelCall>& kernels, std::string* text) {
  size_t outputs = 0;
  for (const KernelCall& call : kernels) outputs += call.outputs.size();
  absl::StrAppend(text, "  kernel: ",
                  absl::StrJoin(kernels, " || ",
                                [&](std::string* out, const KernelCall& call) {
                                  absl::StrAppend(out, names_of(graph, call));
                                }),
                  " | ", outputs, " out");
}

}  // namespace

std::string to_text(const Graph& graph, const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    if (step.library) {
      absl::StrAppend(&text, "  library: ", names_of(graph, *step.library), " ",
                      step.library->attributes->text());
    } else {
      append_kernels(graph, step.kernels, &text);
    }
    absl::StrAppend(&text, " | reads ", step.bytes_read, " B, writes ", step.bytes_written, " B\n");
  }
  for (const CutEdge& cut : plan.cuts) {
    const GraphNode& node = graph.nodes[cut.producer];
    absl::StrAppend(&text, "  not fused: t", cut.producer, " ", name_of(node.op), " ",
                    sluice::name_of(node.dtype), to_string(node.shape),
                    " goes through memory: ", name_of(cut.reason), "\n");
  }
  return text;
}

}  // namespace sluice::fusion
