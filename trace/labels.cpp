#include "trace/labels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "trace/format.h"

namespace sluice::trace {
namespace {

constexpr size_t kMaxFiles = 3;

size_t length_of_shared_folder(const std::vector<Site>& sites) {
  if (sites.empty()) return 0;
  absl::string_view shared = sites[0].file;
  for (const Site& site : sites) {
    const auto end =
        std::mismatch(shared.begin(), shared.end(), site.file.begin(), site.file.end());
    shared = shared.substr(0, end.first - shared.begin());
  }
  return shared.rfind('/') + 1;  // npos + 1 is 0
}

}  // namespace

bool is_input(const Op& op) { return op.op == "input"; }

std::string type_of(const Op& op) {
  return absl::StrCat(op.dtype, "(", absl::StrJoin(op.shape, ", "),
                      op.shape.size() == 1 ? ",)" : ")");
}

std::string value_of(const Graph& graph, int32_t op) {
  const Op& node = graph.ops[op];
  if (node.name.empty()) return absl::StrCat("t", op, " (", node.op, ")");
  return absl::StrCat("`", node.name, "` (t", op, ", ", node.op, ")");
}

std::string describe_tier(int64_t generic, int64_t runs) {
  if (generic == 0) return "";
  if (generic == runs) return "  [generic tier]";
  return absl::StrCat("  [generic tier ", format_count(generic), " of ", format_count(runs), "]");
}

Labels::Labels(const Trace& trace)
    : trace_(trace), shared_folder_(length_of_shared_folder(trace.sites)) {}

std::string Labels::place(int32_t site) const {
  if (site < 0) return "";
  const Site& found = trace_.sites[site];
  return absl::StrCat(found.file.substr(shared_folder_), ":", found.line);
}

std::string Labels::places(const Graph& graph, const std::vector<int32_t>& ops) const {
  struct Lines {
    absl::string_view file;
    int32_t first, last;
  };
  std::vector<Lines> files;  // in order of appearance
  int32_t scope = -2;        // -2: none seen yet
  for (const int32_t op : ops) {
    const Op& node = graph.ops[op];
    if (node.site < 0 || is_input(node)) continue;
    scope = scope == -2 || scope == node.scope ? node.scope : -1;
    const Site& site = trace_.sites[node.site];
    const auto lines = std::find_if(files.begin(), files.end(),
                                    [&](const Lines& other) { return other.file == site.file; });
    if (lines == files.end()) {
      files.push_back({site.file, site.line, site.line});
    } else {
      lines->first = std::min(lines->first, site.line);
      lines->last = std::max(lines->last, site.line);
    }
  }
  std::string text;
  for (size_t i = 0; i < std::min(files.size(), kMaxFiles); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", files[i].file.substr(shared_folder_), ":",
                    files[i].first);
    if (files[i].last > files[i].first) absl::StrAppend(&text, "-", files[i].last);
  }
  if (files.size() > kMaxFiles) absl::StrAppend(&text, ", ...");
  if (scope >= 0) absl::StrAppend(&text, " in ", trace_.scopes[scope]);
  return text;
}

std::string Labels::cut(const Graph& graph, const Cut& cut) const {
  std::string text = absl::StrCat(cut.reason, ": ");
  if (!cut.text.empty()) {
    text += cut.text;
  } else {
    absl::StrAppend(&text, value_of(graph, cut.producer), " -> ",
                    cut.consumer < 0 ? "memory" : value_of(graph, cut.consumer));
  }
  std::vector<int32_t> ops = {cut.producer};
  if (cut.consumer >= 0) ops.push_back(cut.consumer);
  const std::string where = places(graph, ops);
  return absl::StrCat(text, where.empty() ? "" : "  ", where);
}

std::string Labels::thread(int32_t thread) const {
  if (thread < 0) return "no thread";
  const std::string& name = trace_.threads[thread];
  return name.empty() ? absl::StrCat("thread ", thread) : name;
}

}  // namespace sluice::trace
