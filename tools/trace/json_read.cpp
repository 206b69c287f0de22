#include "tools/trace/json_read.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "trace/json_write.h"
#include "trace/members.h"

namespace sluice::trace {
namespace {

using Json = nlohmann::ordered_json;

// The largest number allowed: other programs read JSON's numbers as doubles, which are exact up to
// here.
constexpr int64_t kGreatest = (int64_t{1} << 53) - 1;

// What messages call an element that an index of this range refers to; null: not a range of
// indices.
const char* name_of(Range range) {
  switch (range) {
    case Range::kAny:
    case Range::kCount:
    case Range::kCountOrUnknown: return nullptr;
    case Range::kOp:
    case Range::kOpOrNone: return "an op of the graph";
    case Range::kEarlierOp: return "an op before this one";
    case Range::kGraph: return "a graph";
    case Range::kKernel:
    case Range::kKernelOrNone: return "a kernel";
    case Range::kSiteOrNone: return "a site";
    case Range::kScopeOrNone: return "a scope";
    case Range::kThreadOrNone: return "a thread";
  }
  return nullptr;
}

bool may_be_none(Range range) {
  return range == Range::kCountOrUnknown || range >= Range::kOpOrNone;
}

// The member is required: its default value, -1, is out of range.
bool is_required(Range range) { return range == Range::kOp || range == Range::kGraph; }

std::string describe(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "true or false";
    default: return "a number";
  }
}

int64_t size_of_list(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? static_cast<int64_t>(found->size()) : 0;
}

// Every function returns false if it fails; error() then describes the first error.
class Reader {
 public:
  const std::string& error() const { return error_; }

  bool read_trace(const Json& json, Trace* trace) {
    if (!json.is_object()) return fail(absl::StrCat("not a trace, but ", describe(json)));
    if (!read_header(json)) return false;
    limit(Range::kKernel, Range::kKernelOrNone, size_of_list(json, "kernels"));
    limit(Range::kGraph, Range::kGraph, size_of_list(json, "graphs"));
    limit(Range::kSiteOrNone, Range::kSiteOrNone, size_of_list(json, "sites"));
    limit(Range::kScopeOrNone, Range::kScopeOrNone, size_of_list(json, "scopes"));
    limit(Range::kThreadOrNone, Range::kThreadOrNone, size_of_list(json, "threads"));
    trace_ = trace;
    return read_members(json, trace, /*others=*/{"format", "version"});
  }

 private:
  bool fail(absl::string_view message) {
    if (error_.empty()) error_ = absl::StrCat(path_, path_.empty() ? "" : ": ", message);
    return false;
  }
  bool fail_type(const Json& json, absl::string_view expected) {
    return fail(absl::StrCat(describe(json), " where ", expected, " belongs"));
  }

  // Calls f() with `part` at the end of the path.
  template <typename F>
  bool within(absl::string_view part, F f) {
    const size_t length = path_.size();
    absl::StrAppend(&path_, part);
    if (!f()) return false;
    path_.resize(length);
    return true;
  }
  template <typename F>
  bool within_member(absl::string_view name, F f) {
    return within(path_.empty() ? std::string(name) : absl::StrCat(".", name), f);
  }

  void limit(Range range, Range range_or_none, int64_t size) {
    limits_[static_cast<int>(range)] = limits_[static_cast<int>(range_or_none)] = size;
  }

  bool read_header(const Json& json) {
    const auto format = json.find("format");
    const bool is_ours = format != json.end() && *format == kFormat;
    const auto version = json.find("version");
    // Version 1 did not name its format.
    if (is_ours || (format == json.end() && version != json.end() && *version == 1)) {
      if (version == json.end()) return fail("version: missing");
      if (*version == kVersion) return true;
      return fail(absl::StrCat("version: it is ",
                               version->is_number() ? version->dump() : "strange",
                               ", and this reads version ", kVersion, " only"));
    }
    if (format == json.end()) return fail("not a trace: it has no format");
    return fail(absl::StrCat("format: it is not \"", kFormat, "\""));
  }

  template <typename T>
  bool read_members(const Json& json, T* object, std::vector<absl::string_view> known = {}) {
    if (!json.is_object()) return fail_type(json, "an object");
    begin(json, object);
    size_t found = 0;
    for (absl::string_view name : known) found += json.contains(name);
    bool ok = true;
    Members<T>::visit([&](const char* name, auto member, Range range = Range::kAny) {
      if (!ok) return;
      const auto value = json.find(name);
      if (value != json.end()) {
        ++found;
        ok = within_member(name, [&] { return read(*value, range, &(object->*member)); });
      } else if constexpr (std::integral<std::decay_t<decltype(object->*member)>>) {
        if (is_required(range)) {
          ok = within_member(name, [&] { return fail("missing"); });
        }
      }
    });
    if (!ok) return false;
    if (found != json.size()) return fail_unknown<T>(json, std::move(known));
    return check(*object);
  }

  template <typename T>
  bool fail_unknown(const Json& json, std::vector<absl::string_view> known) {
    Members<T>::visit([&](const char* name, auto, Range = Range::kAny) { known.push_back(name); });
    for (const auto& [name, value] : json.items()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return within_member(absl::Utf8SafeCEscape(name),
                           [&] { return fail("there is no such member"); });
    }
    return fail("there are too many members");
  }

  // Before the members of an object are read, and after.
  template <typename T>
  void begin(const Json&, T*) {}
  void begin(const Json& json, Graph*) {
    limit(Range::kOp, Range::kOpOrNone, size_of_list(json, "ops"));
  }
  template <typename T>
  bool check(const T&) {
    return true;
  }
  bool check(const Window& window) {
    const size_t steps = trace_->graphs[window.graph].steps.size();
    if (window.steps.empty() || window.steps.size() == steps) return true;
    return within_member("steps", [&] {
      return fail(absl::StrCat(window.steps.size(), " runs, but graphs[", window.graph, "] has ",
                               steps, " steps"));
    });
  }

  template <typename T>
  bool read(const Json& json, Range, T* object) {
    return read_members(json, object);
  }
  template <typename T>
  bool read(const Json& json, Range range, std::vector<T>* list) {
    if (!json.is_array()) return fail_type(json, "a list");
    list->resize(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
      if constexpr (std::is_same_v<T, Op>) {
        limit(Range::kEarlierOp, Range::kEarlierOp, static_cast<int64_t>(i));
      }
      const auto read_element = [&] { return read(json[i], range, &(*list)[i]); };
      if (!within(absl::StrCat("[", i, "]"), read_element)) return false;
    }
    return true;
  }
  bool read(const Json& json, Range, std::string* value) {
    if (!json.is_string()) return fail_type(json, "a string");
    *value = json.get_ref<const std::string&>();
    return true;
  }
  bool read(const Json& json, Range, bool* value) {
    if (!json.is_boolean()) return fail_type(json, "true or false");
    *value = json.get<bool>();
    return true;
  }
  bool read(const Json& json, Range, StepKind* kind) {
    if (!json.is_string()) return fail_type(json, "a string");
    if (json != "kernel" && json != "library") {
      return fail("it is neither \"kernel\" nor \"library\"");
    }
    *kind = json == "kernel" ? StepKind::kKernel : StepKind::kLibrary;
    return true;
  }
  template <std::signed_integral Int>
  bool read(const Json& json, Range range, Int* value) {
    if (!json.is_number_integer()) return fail_type(json, "a whole number");
    const auto in_range = [&](auto number) {
      if (!std::in_range<Int>(number)) return false;
      *value = static_cast<Int>(number);
      return *value <= kGreatest && *value >= -kGreatest;
    };
    const bool fits =
        json.is_number_unsigned() ? in_range(json.get<uint64_t>()) : in_range(json.get<int64_t>());
    if (const char* name = name_of(range)) {
      const int64_t least = may_be_none(range) ? -1 : 0;
      if (fits && *value >= least && *value < limits_[static_cast<int>(range)]) return true;
      return fail(absl::StrCat(json.dump(), " is not ", name));
    }
    if (!fits) return fail(absl::StrCat(json.dump(), " is out of range"));
    if (range == Range::kAny || *value >= (may_be_none(range) ? -1 : 0)) return true;
    return fail(absl::StrCat(json.dump(), " is less than ", may_be_none(range) ? -1 : 0));
  }

  std::string path_;
  std::string error_;
  std::array<int64_t, kNumRanges> limits_{};
  const Trace* trace_ = nullptr;
};

std::string describe_syntax_error(std::string_view text, size_t byte) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "it is empty";
  if (byte > text.size()) return "it ends too early: it is not all there";
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const size_t line_start = before.rfind('\n') + 1;
  return absl::StrCat("not JSON: line ", std::count(before.begin(), before.end(), '\n') + 1,
                      ", column ", before.size() - line_start + 1);
}

}  // namespace

absl::StatusOr<Trace> from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(describe_syntax_error(text, error.byte));
  } catch (const Json::out_of_range&) {
    return absl::InvalidArgumentError("a number is too large");
  }
  Reader reader;
  Trace trace;
  if (!reader.read_trace(json, &trace)) return absl::InvalidArgumentError(reader.error());
  return trace;
}

}  // namespace sluice::trace
