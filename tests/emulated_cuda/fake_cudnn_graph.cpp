#include "tests/emulated_cuda/fake_cudnn_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "tests/emulated_cuda/fake_cudnn_kernel.h"

namespace sluice::emulated {
namespace {

using kernels::cuda::DnnDataType;
using kernels::cuda::DnnPointwise;
using kernels::cuda::DnnReduction;
using Attribute = kernels::cuda::DnnAttribute;
using Graph = FakeCudnn::Graph;
using Node = FakeCudnn::Node;
using Of = kernels::cuda::DnnDescriptorType;
using Operation = FakeCudnn::Operation;

constexpr size_t kRank = 4;
using Place = std::array<int64_t, kRank>;

// How many operands a function has, but for what selects; 0: it is not known.
int operands_of(DnnPointwise function) {
  switch (function) {
    case DnnPointwise::kExp:
    case DnnPointwise::kLog:
    case DnnPointwise::kIndex: return 1;
    case DnnPointwise::kAdd:
    case DnnPointwise::kMultiply:
    case DnnPointwise::kDivide:
    case DnnPointwise::kSubtract:
    case DnnPointwise::kGreaterEqual:
    case DnnPointwise::kSelect: return 2;
  }
  return 0;
}

// Each extent is that of the result, or 1.
bool spreads(const Node& x, const Node& y) {
  for (size_t i = 0; i < kRank; ++i) {
    if (x.extents[i] != y.extents[i] && x.extents[i] != 1) return false;
  }
  return true;
}

std::string check_extents(const Graph& graph, const Operation& of) {
  const Node &x = graph.tensors.at(of.x), &y = graph.tensors.at(of.y);
  if (of.type == Of::kOperationMatmul) {
    const Node& b = graph.tensors.at(of.b);
    const bool agrees = x.extents[3] == b.extents[2] && y.extents[2] == x.extents[2] &&
                        y.extents[3] == b.extents[3] && x.extents[0] == b.extents[0] &&
                        x.extents[1] % b.extents[1] == 0 && y.extents[1] == x.extents[1];
    return agrees ? "" : "multiplies what does not agree";
  }
  if (of.type == Of::kOperationReduction) {
    return spreads(y, x) ? "" : "reduces to another shape";
  }
  const auto function = static_cast<DnnPointwise>(of.function);
  const int operands = operands_of(function);
  if (operands == 0 || (of.b != 0) != (operands == 2)) return "has another number of operands";
  if ((of.t != 0) != (function == DnnPointwise::kSelect)) return "selects by nothing";
  if ((of.axis >= 0) != (function == DnnPointwise::kIndex)) return "has an axis, or none";
  if ((function == DnnPointwise::kGreaterEqual) != (y.dtype == DnnDataType::kBoolean)) {
    return "has a result of another type";
  }
  for (const int64_t id : {of.x, of.b, of.t}) {
    if (id != 0 && !spreads(graph.tensors.at(id), y)) return "has operands of other shapes";
  }
  return "";
}

// ---- Computing.

using Values = std::vector<double>;

template <typename F>
void for_each_place(const std::vector<int64_t>& extents, const F& f) {
  Place at{};
  for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
      for (at[2] = 0; at[2] < extents[2]; ++at[2]) {
        for (at[3] = 0; at[3] < extents[3]; ++at[3]) f(at);
      }
    }
  }
}

// In order without gaps; extents of 1 stay where they are.
size_t number_of(const Node& node, const Place& at) {
  int64_t number = 0;
  for (size_t i = 0; i < kRank; ++i) {
    number = number * node.extents[i] + (node.extents[i] == 1 ? 0 : at[i]);
  }
  return static_cast<size_t>(number);
}
int64_t offset_of(const Node& node, const Place& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < kRank; ++i) offset += at[i] * node.strides[i];
  return offset;
}

double rounded(DnnDataType dtype, double value) {
  if (dtype == DnnDataType::kInt32 || dtype == DnnDataType::kBoolean) return value;
  float memory = 0;
  store(static_cast<int64_t>(dtype), &memory, 0, value);
  return double{load(static_cast<int64_t>(dtype), &memory, 0)};
}

double apply(const Operation& of, double x, double b, double t, const Place& at) {
  switch (static_cast<DnnPointwise>(of.function)) {
    case DnnPointwise::kAdd: return x + b;
    case DnnPointwise::kMultiply: return x * b;
    case DnnPointwise::kDivide: return x / b;
    case DnnPointwise::kSubtract: return x - b;
    case DnnPointwise::kExp: return std::exp(x);
    case DnnPointwise::kLog: return std::log(x);
    case DnnPointwise::kGreaterEqual: return x >= b ? 1 : 0;
    case DnnPointwise::kIndex: return static_cast<double>(at[static_cast<size_t>(of.axis)]);
    case DnnPointwise::kSelect: return t != 0 ? x : b;
  }
  return 0;
}

class Run {
 public:
  explicit Run(const GraphParams& params) : params_(params), graph_(*params.graph) {}

  void operator()() {
    for (const Operation& of : graph_.operations) {
      const Node& y = graph_.tensors.at(of.y);
      Values values = of.type == Of::kOperationMatmul      ? multiply(of, y)
                      : of.type == Of::kOperationReduction ? reduce(of, y)
                                                           : map(of, y);
      for (double& value : values) value = rounded(y.dtype, value);
      if (!y.is_virtual) {
        void* const data = params_.pointers[place_of(of.y)];
        for_each_place(y.extents, [&](const Place& at) {
          store(static_cast<int64_t>(y.dtype), data, offset_of(y, at), values[number_of(y, at)]);
        });
      }
      values_[of.y] = std::move(values);
    }
  }

 private:
  size_t place_of(int64_t id) const {
    return static_cast<size_t>(std::find(params_.ids, params_.ids + kMostPointers, id) -
                               params_.ids);
  }
  const Values& values_of(int64_t id) {
    const auto [it, is_new] = values_.try_emplace(id);
    const Node& node = graph_.tensors.at(id);
    if (!is_new) return it->second;
    if (node.is_value) return it->second = {double{params_.values[place_of(id)]}};
    const void* const data = params_.pointers[place_of(id)];
    for_each_place(node.extents, [&](const Place& at) {
      it->second.push_back(
          double{load(static_cast<int64_t>(node.dtype), data, offset_of(node, at))});
    });
    return it->second;
  }

  Values map(const Operation& of, const Node& y) {
    const auto at_of = [&](int64_t id, const Place& at) {
      return id == 0 ? 0 : values_of(id)[number_of(graph_.tensors.at(id), at)];
    };
    Values result;
    for_each_place(y.extents, [&](const Place& at) {
      result.push_back(apply(of, at_of(of.x, at), at_of(of.b, at), at_of(of.t, at), at));
    });
    return result;
  }
  Values reduce(const Operation& of, const Node& y) {
    const bool is_sum = static_cast<DnnReduction>(of.function) == DnnReduction::kAdd;
    const Node& x = graph_.tensors.at(of.x);
    const Values& from = values_of(of.x);
    size_t count = 1;
    for (const int64_t extent : y.extents) count *= static_cast<size_t>(extent);
    Values result(count, is_sum ? 0 : -INFINITY);
    for_each_place(x.extents, [&](const Place& at) {
      double& to = result[number_of(y, at)];
      const double value = from[number_of(x, at)];
      to = is_sum ? to + value : std::isnan(value) || value > to ? value : to;
    });
    return result;
  }
  // Heads of the first operand share those of the second.
  Values multiply(const Operation& of, const Node& y) {
    const Node &a = graph_.tensors.at(of.x), &b = graph_.tensors.at(of.b);
    const Values &left = values_of(of.x), &right = values_of(of.b);
    const int64_t share = a.extents[1] / b.extents[1];
    Values result;
    for_each_place(y.extents, [&](const Place& at) {
      double sum = 0;
      for (int64_t k = 0; k < a.extents[3]; ++k) {
        sum += left[number_of(a, {at[0], at[1], at[2], k})] *
               right[number_of(b, {at[0], at[1] / share, k, at[3]})];
      }
      result.push_back(sum);
    });
    return result;
  }

  const GraphParams& params_;
  const Graph& graph_;
  std::map<int64_t, Values> values_;
};

}  // namespace

std::string check_graph_operation(Descriptor* of) {
  struct Attributes {
    Of type, how;
    Attribute description, function, precision, x, b, t, y;
  };
  constexpr auto kNo = Attribute::kOperationPointwiseT;  // which only pointwise operations have
  static constexpr Attributes kKinds[] = {
      {Of::kOperationPointwise, Of::kPointwise, Attribute::kOperationPointwise,
       Attribute::kPointwiseMode, Attribute::kPointwiseCompType, Attribute::kOperationPointwiseX,
       Attribute::kOperationPointwiseB, Attribute::kOperationPointwiseT,
       Attribute::kOperationPointwiseY},
      {Of::kOperationMatmul, Of::kMatmul, Attribute::kOperationMatmul, kNo,
       Attribute::kMatmulCompType, Attribute::kOperationMatmulA, Attribute::kOperationMatmulB, kNo,
       Attribute::kOperationMatmulC},
      {Of::kOperationReduction, Of::kReduction, Attribute::kOperationReduction,
       Attribute::kReductionOperator, Attribute::kReductionCompType,
       Attribute::kOperationReductionX, kNo, kNo, Attribute::kOperationReductionY}};
  const Attributes& kind = *std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const Attributes& k) { return k.type == of->type; });
  const auto* const how = of->one<Descriptor*>(kind.description);
  if (how->type != kind.how) return "does not say how";
  auto graph = std::make_shared<Graph>();
  Operation operation{.type = of->type, .function = how->one<int>(kind.function)};
  if (how->values.contains(Attribute::kPointwiseAxis)) {
    operation.axis = how->one<int64_t>(Attribute::kPointwiseAxis);
  }
  const std::pair<Attribute, int64_t*> tensors[] = {{kind.x, &operation.x},
                                                    {kind.b, &operation.b},
                                                    {kind.t, &operation.t},
                                                    {kind.y, &operation.y}};
  for (const auto& [attribute, id] : tensors) {
    if (!of->values.contains(attribute)) continue;
    const auto* const tensor = of->one<Descriptor*>(attribute);
    if (tensor->type != Of::kTensor) return "has no tensor";
    *id = tensor->one<int64_t>(Attribute::kTensorUniqueId);
    Node node;
    node.dtype = tensor->one<DnnDataType>(Attribute::kTensorDataType);
    node.extents = tensor->get<int64_t>(Attribute::kTensorDimensions);
    node.strides = tensor->get<int64_t>(Attribute::kTensorStrides);
    node.is_virtual = tensor->one<char>(Attribute::kTensorIsVirtual) != 0;
    node.is_value = tensor->one<char>(Attribute::kTensorIsByValue) != 0;
    if (node.extents.size() != kRank) return "has a tensor of another rank";
    if (*id == 0 || !graph->tensors.emplace(*id, std::move(node)).second) {
      return "has tensors of one name";
    }
  }
  std::string fault = check_extents(*graph, operation);
  const auto precision = how->one<DnnDataType>(kind.precision);
  if (precision != DnnDataType::kFloat32 && precision != DnnDataType::kBoolean) {
    fault = "computes in other than float32";
  }
  graph->operations.push_back(operation);
  if (fault.empty()) of->graph = std::move(graph);
  return fault;
}

std::string join_operations(Descriptor* of, const std::vector<Descriptor*>& operations) {
  auto graph = std::make_shared<Graph>();
  std::map<int64_t, int> made;  // by operations
  for (const Descriptor* const part : operations) {
    if (part->graph == nullptr || part->graph->convolution != nullptr) return "has no operation";
    const Operation& operation = part->graph->operations[0];
    for (const auto& [id, node] : part->graph->tensors) {
      const auto [it, is_new] = graph->tensors.emplace(id, node);
      const Node& known = it->second;
      if (!is_new && (known.extents != node.extents || known.strides != node.strides ||
                      known.dtype != node.dtype)) {
        return "has different tensors of one name";
      }
      if (id != operation.y && node.is_virtual && !made.contains(id)) {
        return "uses what is not made yet";
      }
    }
    if (++made[operation.y] > 1) return "makes a tensor twice";
    graph->operations.push_back(operation);
  }
  of->graph = std::move(graph);
  return "";
}

const char* run_graph(const Geometry&, const void* params) {
  const GraphParams& p = *static_cast<const GraphParams*>(params);
  if (p.workspace != nullptr) {
    std::memset(p.workspace, 0x5a, static_cast<size_t>(p.workspace_bytes));
  }
  Run run(p);
  run();
  return nullptr;
}

}  // namespace sluice::emulated
