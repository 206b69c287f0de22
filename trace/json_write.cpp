#include <concepts>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trace/json_write.h"
#include "trace/members.h"

namespace sluice::trace {
namespace {

using nlohmann::json;

template <typename T>
concept Struct = requires {
  sizeof(Members<T>);
};

template <typename T>
bool is_default(const T& value, const T& default_value) {
  return value == default_value;
}
// Lists of structs, which have no equality.
template <Struct T>
bool is_default(const std::vector<T>& value, const std::vector<T>&) {
  return value.empty();
}

void write(bool value, std::string* out) { out->append(value ? "true" : "false"); }
void write(std::integral auto value, std::string* out) { absl::StrAppend(out, value); }
void write(StepKind kind, std::string* out) {
  out->append(kind == StepKind::kKernel ? "\"kernel\"" : "\"library\"");
}
void write(const std::string& value, std::string* out) {
  out->append(json(value).dump(-1, ' ', false, json::error_handler_t::replace));
}

template <Struct T>
void write(const T& object, std::string* out);

template <typename T>
void write(const std::vector<T>& list, std::string* out) {
  const char* separator = "[";
  for (const T& element : list) {
    out->append(separator);
    write(element, out);
    separator = ",";
  }
  out->append(list.empty() ? "[]" : "]");
}

// A list of the trace itself: one line per object.
template <Struct T>
void write_lines(const std::vector<T>& list, std::string* out) {
  const char* separator = "[\n";
  for (const T& element : list) {
    out->append(separator);
    write(element, out);
    separator = ",\n";
  }
  out->append("\n]");
}
template <typename T>
void write_lines(const T& value, std::string* out) {
  write(value, out);
}

template <Struct T>
void write(const T& object, std::string* out) {
  const T default_object;
  const char* separator = "{\"";
  Members<T>::visit([&](const char* name, auto member, Range = Range::kAny) {
    if (is_default(object.*member, default_object.*member)) return;
    absl::StrAppend(out, separator, name, "\":");
    write(object.*member, out);
    separator = ",\"";
  });
  out->append(*separator == '{' ? "{}" : "}");
}

}  // namespace

std::string to_json(const Trace& trace) {
  static const Trace default_trace{};
  std::string text = absl::StrCat("{\"format\":\"", kFormat, "\",\"version\":", kVersion);
  Members<Trace>::visit([&](const char* name, auto member, Range = Range::kAny) {
    if (is_default(trace.*member, default_trace.*member)) return;
    absl::StrAppend(&text, ",\n\"", name, "\":");
    write_lines(trace.*member, &text);
  });
  return text + "}\n";
}

}  // namespace sluice::trace
