// The .safetensors format: https://github.com/huggingface/safetensors
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include <sluice/files.h>
#include <nlohmann/json.hpp>
#include "absl/strings/str_join.h"
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/files/file.h"

namespace sluice {
namespace {

using frontend::Bytes;
using frontend::FilePart;
using nlohmann::json;

constexpr uint64_t kMostHeader = 100'000'000;  // as the format says
constexpr uint64_t kHeaderAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

struct Code {
  DType dtype;
  std::string_view code;
};
constexpr Code kCodes[] = {
    {DType::kBool, "BOOL"},   {DType::kInt8, "I8"},       {DType::kInt16, "I16"},
    {DType::kInt32, "I32"},   {DType::kInt64, "I64"},     {DType::kUInt8, "U8"},
    {DType::kUInt16, "U16"},  {DType::kUInt32, "U32"},    {DType::kUInt64, "U64"},
    {DType::kFloat16, "F16"}, {DType::kBFloat16, "BF16"}, {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"},
};

// The header's object. Throws Error if there is none, or a key twice.
json parse_header(const FilePart& file, Bytes bytes) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      file.name.fail("has two entries named ", value.get<std::string>());
    }
    return true;
  };
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  json header;
  try {
    header = json::parse(text, text + bytes.size(), check);
  } catch (const json::exception& error) {
    file.name.fail("the header is not JSON: ", error.what());
  }
  if (!header.is_object()) file.name.fail("the header is no object");
  return header;
}

// A list of numbers that are not negative.
std::vector<int64_t> counts(const FilePart& file, const json& row, const char* key) {
  std::vector<int64_t> result;
  const auto found = row.find(key);
  if (found == row.end() || !found->is_array()) file.name.fail("has no list '", key, "'");
  for (const json& each : *found) {
    if (!each.is_number_unsigned() || each.get<uint64_t>() > INT64_MAX) {
      file.name.fail("'", key, "' has ", each.dump(), " where a count is expected");
    }
    result.push_back(each.get<int64_t>());
  }
  return result;
}

DType dtype_of_row(const FilePart& file, const json& row) {
  const auto found = row.find("dtype");
  if (found == row.end() || !found->is_string()) file.name.fail("has no dtype");
  const auto& code = found->get_ref<const std::string&>();
  for (const Code& each : kCodes) {
    if (each.code == code) return each.dtype;
  }
  file.name.fail("the dtype ", code, " is none that Sluice has");
}

struct Row {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin, end;
};

Row read_row(const FilePart& file, const std::string& name, const json& entry) {
  FilePart named = file;
  named.name.path += ": " + name;
  if (!entry.is_object()) named.name.fail("is no object");
  Row row{name, dtype_of_row(named, entry), {}, 0, 0};
  const std::string text = named.name.text();
  row.shape = frontend::make_shape(text.c_str(), counts(named, entry, "shape"));
  frontend::check_bytes(text.c_str(), row.dtype, row.shape);
  const std::vector<int64_t> offsets = counts(named, entry, "data_offsets");
  const auto bytes = row.shape.numel() * static_cast<int64_t>(size_of(row.dtype));
  if (offsets.size() != 2 || offsets[1] < offsets[0] || offsets[1] - offsets[0] != bytes) {
    named.name.fail("has offsets [", absl::StrJoin(offsets, ", "), "] for the ", bytes,
                    " bytes of ", frontend::describe(row.dtype, row.shape));
  }
  row.begin = static_cast<uint64_t>(offsets[0]);
  row.end = static_cast<uint64_t>(offsets[1]);
  return row;
}

void read_metadata(const FilePart& file, const json& entries,
                   std::map<std::string, std::string>* metadata) {
  if (!entries.is_object()) file.name.fail(kMetadata, " is no object");
  for (const auto& [key, value] : entries.items()) {
    if (!value.is_string()) file.name.fail(kMetadata, " has a value that is no string: ", key);
    if (metadata != nullptr) (*metadata)[key] = value.get<std::string>();
  }
}

}  // namespace

std::map<std::string, Tensor> load_safetensors(const std::string& path,
                                               std::map<std::string, std::string>* metadata,
                                               Location where) {
  const engine::CallSite site(where, "load_safetensors");
  const FilePart file = frontend::open_file("load_safetensors", path);
  uint64_t length;
  std::memcpy(&length, file.slice(0, 8, "the header's length").data(), 8);
  if (length > kMostHeader) file.name.fail("the header has ", length, " bytes: too many");
  const json header = parse_header(file, file.slice(8, length, "the header"));
  const Bytes values = file.bytes.subspan(8 + length);
  if (metadata != nullptr) metadata->clear();
  std::vector<Row> rows;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      read_metadata(file, entry, metadata);
    } else {
      rows.push_back(read_row(file, name, entry));
    }
  }
  // Together they are all that follows the header, without gaps, and no two share a byte.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t position = 0;
  std::map<std::string, Tensor> tensors;
  for (const Row& row : rows) {
    if (row.begin != position || row.end > values.size()) {
      file.name.fail(row.name, " is at ", row.begin, " to ", row.end, ", but ", position,
                     " is where the next values begin, of ", values.size(), " bytes");
    }
    position = row.end;
    tensors.emplace(row.name,
                    frontend::tensor_of(file, values.subspan(row.begin, row.end - row.begin),
                                        row.dtype, row.shape));
  }
  if (position != values.size()) {
    file.name.fail("has ", values.size(), " bytes of values, of which ", position, " are named");
  }
  return tensors;
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, Location where) {
  const engine::CallSite site(where, "save_safetensors");
  // Those of the widest elements first, so that all are aligned.
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    frontend::node_of("save_safetensors", tensor);
    if (name == kMetadata) frontend::fail("save_safetensors", "no tensor may be named ", name);
    tensor.eval(where);
    order.emplace_back(&name, &tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    const size_t sizes[] = {size_of(a.second->dtype()), size_of(b.second->dtype())};
    return sizes[0] != sizes[1] ? sizes[0] > sizes[1] : *a.first < *b.first;
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t position = 0;
  for (const auto& [name, tensor] : order) {
    const auto* const code =
        std::find_if(std::begin(kCodes), std::end(kCodes),
                     [&, x = tensor](const Code& each) { return each.dtype == x->dtype(); });
    const int64_t bytes = tensor->numel() * static_cast<int64_t>(size_of(tensor->dtype()));
    const Shape& shape = tensor->shape();
    header[*name] = {{"dtype", code->code},
                     {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                     {"data_offsets", {position, position + bytes}}};
    position += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    frontend::fail("save_safetensors", "a name or the metadata is not UTF-8");
  }
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  frontend::write_file("save_safetensors", path, [&](frontend::Append append) {
    const uint64_t length = text.size();
    append(&length, sizeof(length));
    append(text.data(), text.size());
    for (const auto& [name, tensor] : order) {
      const frontend::Values values(*tensor);
      append(values.bytes().data(), values.bytes().size());
    }
  });
}

}  // namespace sluice
