#include "sluice/engine/trace.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "sluice/engine/recorder.h"
#include "sluice/runtime/error.h"

namespace sluice {
namespace engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxWindows = 1024;

// A window as it is shown: {cause, ops, kernels, edges that were cut, sums}.
class Recorder {
 public:
  static Recorder& get() {
    static Recorder* recorder = new Recorder;
    return *recorder;
  }

  Recorder() {
    const char* path = std::getenv("SLUICE_TRACE");
    if (path == nullptr || *path == '\0') return;
    path_ = path;
    active_ = true;
    std::atexit([] {
      try {
        trace::write(Recorder::get().path_);
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
    });
  }

  bool active() const { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active) { active_.store(active, std::memory_order_relaxed); }

  void clear() {
    std::lock_guard lock(mutex_);
    windows_.clear();
    recorded_ = 0;
  }

  void add(Json window) {
    std::lock_guard lock(mutex_);
    window["number"] = recorded_++;
    windows_.push_back(std::move(window));
    if (windows_.size() > kMaxWindows) windows_.pop_front();
  }

  std::deque<Json> windows() {
    std::lock_guard lock(mutex_);
    return windows_;
  }

 private:
  std::atomic<bool> active_{false};
  std::mutex mutex_;
  std::deque<Json> windows_;
  int64_t recorded_ = 0;
  std::string path_;
};

Json describe_op(const fusion::Graph& graph, fusion::NodeId n, size_t num_inputs) {
  const fusion::GraphNode& node = graph.nodes[n];
  Json op;
  op["id"] = n;
  op["op"] = fusion::name_of(node.op);
  op["dtype"] = name_of(node.dtype);
  op["shape"] = std::vector<int64_t>(node.shape.begin(), node.shape.end());
  if (static_cast<size_t>(n) >= num_inputs) op["live"] = node.live;
  std::vector<int32_t> operands;
  for (const fusion::GraphOperand& operand : node.operands) {
    if (!operand.is_scalar()) operands.push_back(operand.node);
  }
  op["operands"] = operands;
  return op;
}

Json describe_step(const fusion::Step& step) {
  Json result;
  if (const auto* kernel = std::get_if<fusion::KernelStep>(&step.work)) {
    result["kind"] = "kernel";
    std::vector<fusion::NodeId> ops;
    size_t outputs = 0;
    for (const fusion::KernelCall& call : kernel->calls) {
      ops.insert(ops.end(), call.nodes.begin(), call.nodes.end());
      outputs += call.outputs.size();
    }
    result["calls"] = kernel->calls.size();
    result["ops"] = ops;
    result["outputs"] = outputs;
  } else {
    const auto& matmul = std::get<fusion::MatmulStep>(step.work);
    result["kind"] = "library";
    result["ops"] = matmul.nodes;
    result["outputs"] = 1;
  }
  result["bytes_read"] = step.bytes_read;
  result["bytes_written"] = step.bytes_written;
  return result;
}

std::string shape_text(const Json& op) {
  const auto shape = op["shape"].get<std::vector<int64_t>>();
  return absl::StrCat(op["dtype"].get<std::string>(), to_string(Shape(shape)));
}

const Json& op_of(const Json& window, int id) { return window["ops"][id]; }

std::string window_text(const Json& window) {
  std::string text = absl::StrCat(
      "window ", window["number"].get<int64_t>(), ": ", window["cause"].get<std::string>(), ", ",
      window["num_ops"].get<int64_t>(), " ops -> ", window["num_kernels"].get<int64_t>(),
      " kernels, ", window["num_library_calls"].get<int64_t>(), " library calls, plan ",
      window["plan_hit"].get<bool>() ? "hit" : "miss", ", ",
      window["temporaries_elided"].get<int64_t>(), " temporaries (",
      window["bytes_elided"].get<int64_t>(), " bytes) elided\n");
  for (const Json& step : window["steps"]) {
    const auto names = absl::StrJoin(step["ops"], " ", [&](std::string* out, const Json& id) {
      absl::StrAppend(out, op_of(window, id.get<int>())["op"].get<std::string>());
    });
    absl::StrAppend(&text, "  ", step["kind"].get<std::string>(), ": ", names, " -> ",
                    step["outputs"].get<int64_t>(), " out, reads ",
                    step["bytes_read"].get<int64_t>(), " B, writes ",
                    step["bytes_written"].get<int64_t>(), " B\n");
  }
  for (const Json& cut : window["cuts"]) {
    const Json& op = op_of(window, cut["producer"].get<int>());
    absl::StrAppend(&text, "  not fused: t", cut["producer"].get<int64_t>(), " = ",
                    op["op"].get<std::string>(), " ", shape_text(op),
                    " goes through memory: ", cut["reason"].get<std::string>(), "\n");
  }
  return text;
}

std::string window_dot(const Json& window) {
  const int64_t number = window["number"].get<int64_t>();
  std::string text = absl::StrCat("subgraph cluster_w", number, " {\n  label=\"window ", number,
                                  " (", window["cause"].get<std::string>(), ")\";\n");
  for (const Json& op : window["ops"]) {
    const int64_t id = op["id"].get<int64_t>();
    absl::StrAppend(&text, "  w", number, "_t", id, " [label=\"", op["op"].get<std::string>(),
                    "\\n", shape_text(op), "\"",
                    op.value("live", true) ? "" : ", color=gray, fontcolor=gray", "];\n");
    for (const Json& operand : op["operands"]) {
      absl::StrAppend(&text, "  w", number, "_t", operand.get<int64_t>(), " -> w", number, "_t", id,
                      ";\n");
    }
  }
  int64_t step_number = 0;
  for (const Json& step : window["steps"]) {
    absl::StrAppend(&text, "  subgraph cluster_w", number, "_s", step_number++, " { label=\"",
                    step["kind"].get<std::string>(), "\"; ",
                    absl::StrJoin(step["ops"], " ",
                                  [&](std::string* out, const Json& id) {
                                    absl::StrAppend(out, "w", number, "_t", id.get<int64_t>(), ";");
                                  }),
                    " }\n");
  }
  return absl::StrCat(text, "}\n");
}

}  // namespace

bool is_recording() { return Recorder::get().active(); }

void record_window(FlushCause cause, const Window& window, const ReadyPlan& plan, bool plan_hit) {
  const fusion::Graph graph = window.to_graph();
  Json json;
  json["number"] = 0;
  json["cause"] = name_of(cause);
  json["num_ops"] = window.size();
  int64_t kernels = 0;
  for (const fusion::Step& step : plan.plan.steps) {
    kernels += std::holds_alternative<fusion::KernelStep>(step.work);
  }
  json["num_kernels"] = kernels;
  json["num_library_calls"] = static_cast<int64_t>(plan.plan.steps.size()) - kernels;
  json["plan_hit"] = plan_hit;
  json["temporaries_elided"] = plan.plan.temporaries_elided;
  json["bytes_elided"] = plan.plan.bytes_elided;
  json["ops"] = Json::array();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    json["ops"].push_back(
        describe_op(graph, static_cast<fusion::NodeId>(n), window.inputs().size()));
  }
  json["steps"] = Json::array();
  for (const fusion::Step& step : plan.plan.steps) json["steps"].push_back(describe_step(step));
  json["cuts"] = Json::array();
  for (const fusion::CutEdge& cut : plan.plan.cuts) {
    json["cuts"].push_back({{"producer", cut.producer}, {"reason", name_of(cut.reason)}});
  }
  Recorder::get().add(std::move(json));
}

}  // namespace engine

namespace trace {

using engine::Recorder;

void start() {
  Recorder::get().clear();
  Recorder::get().set_active(true);
}

void stop() { Recorder::get().set_active(false); }

std::string to_text() {
  std::string text;
  for (const engine::Json& window : Recorder::get().windows()) text += engine::window_text(window);
  return text;
}

std::string to_json() {
  engine::Json json;
  json["version"] = 1;
  json["windows"] = engine::Json::array();
  for (const engine::Json& window : Recorder::get().windows()) json["windows"].push_back(window);
  return json.dump(1);
}

std::string to_dot() {
  std::string text = "digraph sluice {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (const engine::Json& window : Recorder::get().windows()) text += engine::window_dot(window);
  return text + "}\n";
}

void write(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << (absl::EndsWith(path, ".json")  ? to_json()
           : absl::EndsWith(path, ".dot") ? to_dot()
                                          : to_text());
  file.flush();
  if (!file) {
    throw Error(absl::StatusCode::kUnavailable, absl::StrCat("trace: cannot write ", path));
  }
}

}  // namespace trace
}  // namespace sluice
