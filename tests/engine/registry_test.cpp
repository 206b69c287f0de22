// The registry: what it says of every op, calls by name, and that no op goes without documentation,
// oracle or fuzzing. Methods are checked against their functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/engine/fuzz_ops.h"
#include "tests/support/golden_file.h"

namespace sluice::test {
namespace {

const AttributeInfo* find_attribute(const OpInfo& info, const std::string& name) {
  for (const AttributeInfo& attribute : info.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// Whether a file of golden calls has some of it.
bool is_golden(const std::string& name) {
  static const auto* names = [] {
    auto* found = new std::set<std::string>;
    for (const std::string& path : {golden_file("arrayapi.txt"), golden_file("layers.txt")}) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        found->insert(line.substr(0, line.find(' ')));
      }
    }
    return found;
  }();
  return names->contains(name);
}

bool is_fuzzed(const std::string& name) {
  return std::any_of(op_table().begin(), op_table().end(),
                     [&](const OpRow& row) { return row.name == name; });
}

// What the fuzzer leaves out, and why.
const std::map<std::string, std::string>& not_fuzzed() {
  static const std::map<std::string, std::string> reasons = {
      {"gather", "calls take_along_axis, which is fuzzed"},
      {"dropout", "draws; tests/engine/layers_test.cpp"},
      {"batch_norm", "composed; tests/engine/layers_test.cpp"},
      {"max_pool2d", "composed; tests/engine/layers_test.cpp"},
      {"avg_pool2d", "composed; tests/engine/layers_test.cpp"}};
  return reasons;
}

TEST(Registry, NamesAreUniqueAndFoundAgain) {
  std::set<std::string> names;
  for (const OpInfo& info : ops()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(&op(info.name), &info);
  }
  EXPECT_GT(names.size(), 110u);
}

TEST(Registry, EveryOpHasDocumentation) {
  for (const OpInfo& info : ops()) {
    EXPECT_TRUE(info.doc.ends_with('.')) << info.name << ": \"" << info.doc << "\"";
    EXPECT_NE(info.signature.find(" " + info.name + "("), std::string::npos) << info.signature;
  }
}

TEST(Registry, EveryOpHasAnOracleAndIsFuzzed) {
  for (const OpInfo& info : ops()) {
    if (not_fuzzed().contains(info.name)) continue;
    // What is composed of ops that are fuzzed needs cases only.
    if (!info.alias_of.empty() || is_golden(info.name)) continue;
    // A row of the fuzzer holds the op's oracle.
    EXPECT_TRUE(is_fuzzed(info.name))
        << info.name
        << " needs a row in tests/engine/fuzz_ops.h, cases in tests/engine/golden/, or a "
           "reason not to have one above";
    if (info.kind == OpKind::kPointwise && info.attributes.empty()) {
      const std::vector<DType> dtypes(info.inputs.size(), DType::kInt32);
      EXPECT_NO_THROW(oracle::types_of(info.name, dtypes)) << info.name;
    }
    if (info.kind == OpKind::kReduction) {
      EXPECT_NO_THROW(
          oracle::reduce(info.name, oracle::full(Shape{3}, 1, DType::kInt32), {}, false))
          << info.name;
    }
  }
  for (const auto& [name, reason] : not_fuzzed()) {
    EXPECT_NO_THROW(static_cast<void>(op(name))) << name;
    EXPECT_FALSE(is_fuzzed(name)) << name << ": it is, so the reason may go";
  }
}

TEST(Registry, DescribesInputsAndAttributes) {
  const OpInfo& softmax = op("softmax");
  EXPECT_EQ(softmax.kind, OpKind::kComposed);
  EXPECT_EQ(softmax.gradient, Gradient::kDifferentiable);
  EXPECT_EQ(softmax.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(softmax.signature, "Tensor softmax(Arg x, int axis = -1)");
  ASSERT_EQ(softmax.attributes.size(), 1u);
  EXPECT_EQ(softmax.attributes[0].name, "axis");
  EXPECT_EQ(softmax.attributes[0].type, AttributeType::kInt);
  EXPECT_EQ(std::get<int64_t>(softmax.attributes[0].default_value.value()), -1);

  EXPECT_EQ(op("where").inputs, (std::vector<std::string>{"condition", "a", "b"}));
  EXPECT_EQ(op("atan2").inputs, (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(op("where").arity, 3);
  EXPECT_EQ(op("concat").arity, kAnyNumber);
  EXPECT_EQ(op("floor").gradient, Gradient::kZeroGradient);
  EXPECT_EQ(op("less").gradient, Gradient::kNotDifferentiable);
  EXPECT_EQ(op("sum").kind, OpKind::kReduction);
  EXPECT_EQ(op("topk").kind, OpKind::kLibrary);

  const OpInfo& pad = op("pad");
  EXPECT_EQ(find_attribute(pad, "widths")->type, AttributeType::kPairs);
  EXPECT_FALSE(find_attribute(pad, "widths")->default_value.has_value());
  EXPECT_EQ(find_attribute(pad, "value")->type, AttributeType::kScalar);
  EXPECT_TRUE(find_attribute(pad, "value")->default_value.has_value());
  const AttributeInfo* dtype = find_attribute(op("one_hot"), "dtype");
  EXPECT_EQ(std::get<DType>(dtype->default_value.value()), DType::kFloat32);
  const AttributeInfo* keepdims = find_attribute(op("mean"), "keepdims");
  EXPECT_FALSE(std::get<bool>(keepdims->default_value.value()));
}

// A call of every op with some tensors and the attributes that it requires.
Attribute some_value(const AttributeInfo& attribute) {
  switch (attribute.type) {
    case AttributeType::kInt: return 1;
    case AttributeType::kFloat: return 0.5;
    case AttributeType::kBool: return true;
    case AttributeType::kInts: break;
    case AttributeType::kPairs: return std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {0, 2}};
    case AttributeType::kDType: return DType::kFloat32;
    case AttributeType::kScalar: return Scalar(2);
    case AttributeType::kString: return "ij->ji";  // of einsum
  }
  if (attribute.name == "shape") return std::vector<int64_t>{2, 2};
  return std::vector<int64_t>{0, 1};
}

TEST(Registry, EveryOpCanBeCalledByName) {
  const Tensor x = Tensor::from<int32_t>({1, 0, 1, 1}, {2, 2});
  const std::map<std::string, size_t> several = {
      {"split", 2}, {"unstack", 2},       {"divmod", 2},         {"histogram", 2},
      {"topk", 2},  {"unique_counts", 2}, {"unique_inverse", 2}, {"unique_all", 4}};
  for (const OpInfo& info : ops()) {
    std::vector<Tensor> inputs(info.inputs.size(), info.name == "meshgrid" ? x[0] : x);
    if (info.name.ends_with("_norm")) std::fill(inputs.begin() + 1, inputs.end(), x[0]);
    if (info.name == "searchsorted" || info.name == "interp")
      std::fill(inputs.begin(), inputs.end(), x[0]);
    if (info.name == "prelu") inputs[1] = x[0];
    // conv1d, conv_transpose3d, max_pool2d, ..: over so many axes.
    const bool convolves = info.name.starts_with("conv");
    const bool pools = info.name.find("_pool") != std::string::npos;
    const int axes = convolves || pools ? info.name[info.name.size() - 2] - '0' : 0;
    const bool is_image = info.name.ends_with("shuffle") || info.name == "unfold";
    if (is_image || convolves) {
      std::vector<int64_t> dims(convolves ? 2 + axes : 4, 1);
      dims.back() = 4;
      inputs.assign(inputs.size(), x.reshape(Shape(dims)));
    }
    if (pools) inputs[0] = x.reshape({1, 2, 2});
    Attributes attributes;
    for (const AttributeInfo& attribute : info.attributes) {
      if (!attribute.default_value) attributes[attribute.name] = some_value(attribute);
    }
    if (info.name == "split") attributes["sections"] = 2;
    for (const char* extents : {"window", "size"}) {
      if (axes > 1 && attributes.contains(extents)) {
        attributes[extents] = std::vector<int64_t>(axes, 1);
      }
    }
    if (info.name == "interpolate") attributes["size"] = std::vector<int64_t>{3};
    if (info.name == "unfold") attributes["window"] = std::vector<int64_t>{1, 2};
    if (info.name == "fold") {
      inputs[0] = x.reshape({1, 1, 4});
      attributes["size"] = std::vector<int64_t>{2, 2};
      attributes["window"] = std::vector<int64_t>{1, 1};
    }
    if (info.name == "grid_sample") {
      inputs = {x.reshape({1, 1, 2, 2}), x.reshape({1, 1, 2, 2})};
    }
    if (info.name == "affine_grid") {
      inputs[0] = zeros({1, 2, 3});
      attributes["size"] = std::vector<int64_t>{1, 1, 2, 2};
    }
    if (info.name == "swapaxes") attributes["a"] = 0;
    try {
      const std::vector<Tensor> results = call(info.name, inputs, attributes);
      const auto found = several.find(info.name);
      EXPECT_EQ(results.size(), found == several.end() ? 1 : found->second) << info.name;
      for (const Tensor& result : results) read_bytes(result);
    } catch (const Error& error) {
      ADD_FAILURE() << info.name << ": " << error.what();
    }
  }
}

TEST(Registry, CallsGiveWhatTheFunctionsGive) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, -4.f, 5.f, 6.f}, {2, 3});
  const auto expect = [](const std::vector<Tensor>& called, const Tensor& wanted) {
    ASSERT_EQ(called.size(), 1u);
    EXPECT_EQ(called[0].dtype(), wanted.dtype());
    EXPECT_EQ(called[0].shape(), wanted.shape());
    EXPECT_EQ(read_bytes(called[0]), read_bytes(wanted));
  };
  expect(call("exp", {x}), exp(x));
  expect(call("sub", {x, x}), x - x);
  expect(call("clip", {x, full({}, 0.f), full({}, 2.f)}), clip(x, 0, 2));
  expect(call("sum", {x}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}}),
         sum(x, {-1}, true));
  expect(call("var", {x}, {{"ddof", 1}}), var(x, {}, false, 1));
  expect(call("var", {x}, {{"correction", 1}}), var(x, {}, false, 1));
  for (const OpInfo& info : ops()) {
    if (info.alias_of.empty()) continue;
    const std::vector<Tensor> inputs(info.inputs.size(), astype(x, DType::kInt32));
    expect(call(info.name, inputs), call(info.alias_of, inputs)[0]);
  }
  expect(call("einsum", {x, x}, {{"subscripts", "ij,kj->ik"}}), matmul(x, transpose(x)));
  expect(call("slice", {x}, {{"axis", 1}, {"start", 0}, {"stop", 3}, {"step", 2}}),
         slice(x, 1, 0, 3, 2));
  expect(call("reshape", {x}, {{"shape", std::vector<int64_t>{3, 2}}}), reshape(x, {3, 2}));
  expect(call("astype", {x}, {{"dtype", DType::kInt8}}), astype(x, DType::kInt8));
  const std::vector<std::pair<int64_t, int64_t>> widths = {{0, 1}, {2, 0}};
  expect(call("pad", {x}, {{"widths", widths}, {"value", 1.5}}), pad(x, widths, 1.5));
  expect(call("concat", {x, x, x}, {{"axis", 1}}), concat({x, x, x}, 1));
  expect(call("take", {x, Tensor::from<int64_t>({1, 0})}, {{"axis", 0}}),
         take(x, Tensor::from<int64_t>({1, 0}), 0));
  EXPECT_EQ(call("split", {x}, {{"sections", 3}, {"axis", 1}}).size(), 3u);
}

TEST(Registry, BadCallsNameOpAndAttribute) {
  const Tensor x = Tensor::from({1.f, 2.f});
  const auto fails = [](const auto& f, const std::vector<std::string>& parts) {
    return fails_with(f, ErrorCode::kInvalidArgument, parts);
  };
  EXPECT_TRUE(fails_with([] { return op("sofmax"); }, ErrorCode::kNotFound, {"sofmax", "softmax"}));
  EXPECT_TRUE(
      fails_with([] { return op("nothing_like_it"); }, ErrorCode::kNotFound, {"nothing_like_it"}));
  EXPECT_TRUE(fails([&] { return call("add", {x}); }, {"add", "2 inputs", "x, y", "given 1"}));
  EXPECT_TRUE(fails([&] { return call("astype", {x}); }, {"astype", "dtype", "missing"}));
  EXPECT_TRUE(fails(
      [&] {
        return call("sum", {x}, {{"axis", 0}});
      },
      {"sum", "no attribute", "axis"}));
  EXPECT_TRUE(fails(
      [&] {
        return call("softmax", {x}, {{"axis", true}});
      },
      {"softmax", "axis", "type int", "given bool"}));
  // What the function itself finds.
  EXPECT_TRUE(fails([&] { return call("softmax", {x}, {{"axis", 7}}); }, {"softmax", "axis 7"}));
  EXPECT_TRUE(fails(
      [&] {
        return call("softmax", {x}, {{"axis", int64_t{1} << 40}});
      },
      {"softmax"}));
}

TEST(Methods, AreTheirFunctions) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {1, 2, 3});
  const Tensor indices = Tensor::from<int64_t>({1, 0});
#define SLUICE_EXPECT_METHOD(name, ...)                                              \
  {                                                                                  \
    const Tensor wanted = ::sluice::name(x __VA_OPT__(, ) __VA_ARGS__);              \
    for (const Tensor& given : {x.name(__VA_ARGS__), Tensor(x).name(__VA_ARGS__)}) { \
      EXPECT_EQ(given.dtype(), wanted.dtype()) << #name;                             \
      EXPECT_EQ(given.shape(), wanted.shape()) << #name;                             \
      EXPECT_EQ(read_bytes(given), read_bytes(wanted)) << #name;                     \
    }                                                                                \
  }
  const Axes last{-1};
  const std::vector<int> order = {2, 0, 1};
  const Shape flat{6}, wide{4, 2, 3};
  SLUICE_EXPECT_METHOD(astype, DType::kInt16)
  SLUICE_EXPECT_METHOD(reshape, flat)
  SLUICE_EXPECT_METHOD(reshape, (std::initializer_list<int64_t>{3, -1}))
  SLUICE_EXPECT_METHOD(permute, order)
  SLUICE_EXPECT_METHOD(transpose)
  SLUICE_EXPECT_METHOD(swapaxes, 1, 2)
  SLUICE_EXPECT_METHOD(slice, 2, 0, 3, 2)
  SLUICE_EXPECT_METHOD(slice, 2, 1, 3)
  SLUICE_EXPECT_METHOD(squeeze)
  SLUICE_EXPECT_METHOD(squeeze, 0)
  SLUICE_EXPECT_METHOD(expand_dims, 1)
  SLUICE_EXPECT_METHOD(broadcast_to, wide)
  SLUICE_EXPECT_METHOD(flip)
  SLUICE_EXPECT_METHOD(flip, last)
  SLUICE_EXPECT_METHOD(softmax)
  SLUICE_EXPECT_METHOD(softmax, 1)
  SLUICE_EXPECT_METHOD(matmul, x.swapaxes(1, 2))
  SLUICE_EXPECT_METHOD(take, indices, 2)
#define SLUICE_EXPECT_REDUCTION(name) \
  SLUICE_EXPECT_METHOD(name)          \
  SLUICE_EXPECT_METHOD(name, last)    \
  SLUICE_EXPECT_METHOD(name, last, true)
#define SLUICE_REDUCTION_OP(id, name, ...) SLUICE_EXPECT_REDUCTION(name)
#define SLUICE_ARG_REDUCTION_OP SLUICE_REDUCTION_OP
#include "fusion/ir/ops.def"
  SLUICE_EXPECT_REDUCTION(mean)
  SLUICE_EXPECT_REDUCTION(logsumexp)
  SLUICE_EXPECT_REDUCTION(norm)
  SLUICE_EXPECT_REDUCTION(var)
  SLUICE_EXPECT_REDUCTION(std)
  SLUICE_EXPECT_METHOD(var, last, true, 1)
  SLUICE_EXPECT_METHOD(std, last, true, 1)
  SLUICE_EXPECT_METHOD(exp)
  SLUICE_EXPECT_METHOD(log)
  SLUICE_EXPECT_METHOD(sqrt)
  SLUICE_EXPECT_METHOD(abs)
  SLUICE_EXPECT_METHOD(square)
  SLUICE_EXPECT_METHOD(tanh)
  SLUICE_EXPECT_METHOD(sigmoid)
  SLUICE_EXPECT_METHOD(relu)
#undef SLUICE_EXPECT_METHOD
  EXPECT_EQ(read_bytes(x.T()), read_bytes(transpose(x)));
  EXPECT_EQ(read_bytes(Tensor(x).T()), read_bytes(transpose(x)));
}

}  // namespace
}  // namespace sluice::test
