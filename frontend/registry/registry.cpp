#include <sluice/registry.h>

#include <algorithm>
#include <charconv>

#include <sluice/error.h>
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/registry/external.h"
#include "frontend/registry/op_rows.h"
#include "frontend/registry/op_thunks.h"

namespace sluice {
namespace {

using frontend::OpRow;

using frontend::Frame;
using frontend::is_attribute;
using frontend::ParameterType;
using frontend::Thunk;
using frontend::Thunks;
using Ints = std::vector<int64_t>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// A parameter as a row's text has it.
struct ParameterText {
  std::string name;
  std::string default_value;  // empty: none
};

// "(Arg x, const Axes& axes = {})" as {"x", ""}, {"axes", "{}"}.
std::vector<ParameterText> parse(std::string_view parameters) {
  std::vector<ParameterText> list;
  parameters = parameters.substr(1, parameters.size() - 2);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= parameters.size(); ++i) {
    const char c = i < parameters.size() ? parameters[i] : ',';
    depth += c == '<' || c == '(' || c == '{';
    depth -= c == '>' || c == ')' || c == '}';
    if (c != ',' || depth != 0 || i == 0) continue;
    const std::string_view one = parameters.substr(begin, i - begin);
    const size_t equals = std::min(one.find(" = "), one.size());
    const std::string_view declarator = one.substr(0, equals);
    list.push_back({std::string(declarator.substr(declarator.rfind(' ') + 1)),
                    std::string(one.substr(std::min(equals + 3, one.size())))});
    begin = i + 1;
  }
  return list;
}

template <typename T>
T parse_number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Attribute parse_default(AttributeType type, std::string_view text) {
  switch (type) {
    case AttributeType::kInt: return parse_number<int64_t>(text);
    case AttributeType::kFloat: return parse_number<double>(text);
    case AttributeType::kBool: return text == "true";
    case AttributeType::kInts: return Ints();
    case AttributeType::kPairs: return Pairs();
    case AttributeType::kScalar: return Scalar(parse_number<int64_t>(text));
    case AttributeType::kString: return std::string(text.substr(1, text.size() - 2));
    case AttributeType::kDType: break;
  }
  // "DType::kFloat32" names "float32".
  const std::string name = absl::AsciiStrToLower(std::string(text.substr(text.find("::k") + 3)));
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return DType::kFloat32;
}

struct Entry {
  OpInfo info;
  Thunk thunk;
};

Entry make_entry(const OpRow& row, const Thunks& thunks) {
  Entry entry;
  OpInfo& info = entry.info;
  info.name = row.name;
  info.kind = row.kind;
  info.gradient = row.gradient;
  info.doc = row.doc;
  info.signature = frontend::signature_of(row);
  info.alias_of = row.alias_of;
  const auto found = thunks.find(row.name);
  if (found == thunks.end()) return entry;  // not implemented
  entry.thunk = found->second;
  const std::vector<ParameterText> texts = parse(frontend::parameters_of(row));
  for (size_t k = 0; k < entry.thunk.parameters.size(); ++k) {
    const ParameterType type = entry.thunk.parameters[k];
    if (type == ParameterType::kLocation) continue;
    if (!is_attribute(type)) {
      info.inputs.push_back(texts[k].name);
      info.arity = type == ParameterType::kTensors ? kAnyNumber : info.arity + 1;
      continue;
    }
    AttributeInfo& attribute = info.attributes.emplace_back();
    attribute.name = texts[k].name;
    attribute.type = static_cast<AttributeType>(type);
    if (texts[k].default_value.empty()) continue;
    attribute.default_value = parse_default(attribute.type, texts[k].default_value);
  }
  return entry;
}

class Registry {
 public:
  static const Registry& get() {
    static const auto* registry = new Registry;
    return *registry;
  }

  std::span<const OpInfo> infos() const { return infos_; }
  // Its number; -1 if there is none of this name.
  int find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }
  const Thunk& thunk(int number) const { return thunks_[number]; }

 private:
  Registry() {
    const Thunks thunks = frontend::make_thunks();
    for (const frontend::OpSection& section : frontend::op_sections()) {
      for (const OpRow& row : section.rows) {
        Entry entry = make_entry(row, thunks);
        numbers_[row.name] = static_cast<int>(infos_.size());
        infos_.push_back(std::move(entry.info));
        thunks_.push_back(entry.thunk);
      }
    }
  }

  std::vector<OpInfo> infos_;
  std::vector<Thunk> thunks_;
  std::map<std::string_view, int> numbers_;
};

// How many letters have to be changed, inserted or left out.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> close;
  const auto consider = [&](const std::string& other) {
    const bool is_part = name.size() > 2 && (other.find(name) != std::string::npos ||
                                             name.find(other) != std::string_view::npos);
    if (is_part || edit_distance(name, other) <= 1 + name.size() / 5) close.push_back(other);
  };
  for (const OpInfo& info : ops()) consider(info.name);
  for (const std::string& external : frontend::names_of_externals()) consider(external);
  throw Error(ErrorCode::kNotFound,
              absl::StrCat("there is no op \"", std::string(name), "\"",
                           close.empty() ? "" : "; did you mean ", absl::StrJoin(close, ", ")));
}

[[noreturn]] void fail_call(const OpInfo& info, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, absl::StrCat(info.name, ": ", what));
}

// `value` as an attribute of `type`, if it is one or stands for one.
std::optional<Attribute> convert(const Attribute& value, AttributeType type) {
  if (value.index() == static_cast<size_t>(type)) return value;
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  if (type == AttributeType::kFloat && integer != nullptr) return static_cast<double>(*integer);
  if (type == AttributeType::kScalar && integer != nullptr) return Scalar(*integer);
  if (type == AttributeType::kScalar && number != nullptr) return Scalar(*number);
  return std::nullopt;
}

// The name of an attribute that the array API standard calls otherwise.
std::string_view own_name(const OpInfo& info, std::string_view name) {
  if (name != "correction") return name;
  const bool has_ddof =
      std::any_of(info.attributes.begin(), info.attributes.end(),
                  [](const AttributeInfo& attribute) { return attribute.name == "ddof"; });
  return has_ddof ? "ddof" : name;
}

}  // namespace

std::vector<Attribute> frontend::bind(const OpInfo& info, const Attributes& given_attributes) {
  Attributes attributes;
  for (const auto& [name, value] : given_attributes) {
    const std::string own(own_name(info, name));
    if (!attributes.emplace(own, value).second) {
      fail_call(info, absl::StrCat("attribute \"", own, "\" is given twice, as ", name, " too"));
    }
  }
  std::vector<Attribute> bound;
  for (const AttributeInfo& wanted : info.attributes) {
    const auto given = attributes.find(wanted.name);
    if (given == attributes.end()) {
      if (!wanted.default_value) {
        fail_call(info, absl::StrCat("attribute \"", wanted.name, "\" (", name_of(wanted.type),
                                     ") is missing"));
      }
      bound.push_back(*wanted.default_value);
      continue;
    }
    std::optional<Attribute> value = convert(given->second, wanted.type);
    if (!value) {
      const auto type = static_cast<AttributeType>(given->second.index());
      fail_call(info, absl::StrCat("attribute \"", wanted.name, "\" is of type ",
                                   name_of(wanted.type), ", was given ", name_of(type)));
    }
    bound.push_back(*std::move(value));
  }
  for (const auto& [name, value] : attributes) {
    const bool is_known =
        std::any_of(info.attributes.begin(), info.attributes.end(),
                    [&name = name](const AttributeInfo& each) { return each.name == name; });
    if (!is_known) fail_call(info, absl::StrCat("has no attribute \"", name, "\""));
  }
  return bound;
}

void frontend::check_count(const OpInfo& info, size_t inputs) {
  if (info.arity == kAnyNumber || inputs == info.inputs.size()) return;
  fail_call(info, absl::StrCat("takes ", info.inputs.size(), " inputs (",
                               absl::StrJoin(info.inputs, ", "), "), was given ", inputs));
}

bool frontend::is_own_op(std::string_view name) { return Registry::get().find(name) >= 0; }

std::span<const OpInfo> ops() { return Registry::get().infos(); }

const OpInfo& op(std::string_view name) {
  const int number = Registry::get().find(name);
  if (number >= 0) return ops()[number];
  const auto external = frontend::find_external(name);
  if (external == nullptr) fail_unknown(name);
  return external->info;
}

std::vector<Tensor> call(std::string_view name, std::span<const Tensor> inputs,
                         const Attributes& attributes) {
  const int number = Registry::get().find(name);
  if (number < 0) {
    const auto external = frontend::find_external(name);
    if (external == nullptr) fail_unknown(name);
    return {frontend::call_external(*external, inputs, attributes, Location())};
  }
  const OpInfo& info = ops()[number];
  const Thunk& thunk = Registry::get().thunk(number);
  frontend::check_count(info, inputs.size());
  const std::vector<Attribute> bound = frontend::bind(info, attributes);
  Frame frame{inputs, {}};
  size_t next_input = 0;
  size_t next_attribute = 0;
  for (const ParameterType type : thunk.parameters) {
    Frame::Value& value = frame.values.emplace_back();
    if (type == ParameterType::kTensor) value.tensor = &inputs[next_input++];
    if (is_attribute(type)) value.attribute = &bound[next_attribute++];
  }
  return thunk.call(thunk.function, frame);
}

std::vector<Tensor> call(std::string_view name, std::initializer_list<Tensor> inputs,
                         const Attributes& attributes) {
  return call(name, std::span(inputs.begin(), inputs.size()), attributes);
}

}  // namespace sluice
