#include "frontend/files/npy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <sluice/files.h>
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "engine/observe/call_site.h"
#include "frontend/checks.h"

namespace sluice {
namespace frontend {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kNpyAlignment = 64;

struct NpyCode {
  DType dtype;
  absl::string_view code;  // without the order of bytes
};
constexpr NpyCode kNpyCodes[] = {
    {DType::kBool, "b1"},    {DType::kInt8, "i1"},     {DType::kInt16, "i2"},
    {DType::kInt32, "i4"},   {DType::kInt64, "i8"},    {DType::kUInt8, "u1"},
    {DType::kUInt16, "u2"},  {DType::kUInt32, "u4"},   {DType::kUInt64, "u8"},
    {DType::kFloat16, "f2"}, {DType::kBFloat16, "V2"}, {DType::kFloat32, "f4"},
    {DType::kFloat64, "f8"},
};

struct Header {
  DType dtype;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// Reads the literal of a Python dict that a header is.
class HeaderParser {
 public:
  HeaderParser(const FileName& name, absl::string_view text) : name_(name), text_(text) {}

  Header parse() {
    Header header{};
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const absl::string_view key = string();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true)) {
        parse_descr(&header);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.dims = tuple();
      } else {
        fail(absl::StrCat("the key '", key, "' is not expected"));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) fail("something follows the dict");
    if (!has_descr || !has_order || !has_shape) fail("a key is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(absl::string_view why) const {
    name_.fail("the header of the .npy file is wrong: ", why);
  }

  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) {
      text_.remove_prefix(1);
    }
  }
  bool accept(char c) {
    skip_space();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(absl::StrCat("no '", std::string(1, c), "' where one is expected"));
  }

  absl::string_view string() {
    skip_space();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) {
      fail("no string where one is expected (structured dtypes are not read)");
    }
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) fail("a string does not end");
    const absl::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const absl::string_view word = value ? "True" : "False";
      if (absl::StartsWith(text_, word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    fail("neither True nor False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const size_t length = std::min(text_.find_first_not_of("0123456789"), text_.size());
      int64_t dim;
      if (!absl::SimpleAtoi(text_.substr(0, length), &dim)) fail("an extent is no number");
      if (dims.size() >= kMaxRank) fail(absl::StrCat("more than ", kMaxRank, " dimensions"));
      dims.push_back(dim);
      text_.remove_prefix(length);
      accept('L');  // as Python 2 wrote them
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  void parse_descr(Header* header) {
    const absl::string_view descr = string();
    const char order = descr.empty() ? 0 : descr[0];
    for (const auto& [dtype, code] : kNpyCodes) {
      if (descr.substr(std::min<size_t>(1, descr.size())) != code) continue;
      if (order != '<' && order != '>' && order != '=' && order != '|') break;
      header->dtype = dtype;
      header->big_endian = order == '>' && size_of(dtype) > 1;
      return;
    }
    fail(absl::StrCat("the dtype '", descr, "' is none that Sluice has"));
  }

  const FileName& name_;
  absl::string_view text_;
};

absl::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string npy_header(DType dtype, const Shape& shape) {
  const auto* const row = std::find_if(std::begin(kNpyCodes), std::end(kNpyCodes),
                                       [&](const NpyCode& code) { return code.dtype == dtype; });
  const char order = size_of(dtype) == 1 ? '|' : '<';
  std::string text = absl::StrCat("{'descr': '", std::string(1, order), row->code,
                                  "', 'fortran_order': False, 'shape': ", to_string(shape), ", }");
  constexpr size_t kBefore = kMagic.size() + 4;
  text.resize(
      (kBefore + text.size() + 1 + kNpyAlignment - 1) / kNpyAlignment * kNpyAlignment - kBefore - 1,
      ' ');
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

Tensor read_npy(const FilePart& file) {
  if (!absl::StartsWith(text_of(file.bytes), kMagic)) file.name.fail("is not a .npy file");
  const auto version = static_cast<int>(file.slice(kMagic.size(), 2, "the version")[0]);
  if (version < 1 || version > 3) file.name.fail("version ", version, " of .npy is not known");
  // Little-endian.
  const Bytes count = file.slice(kMagic.size() + 2, version == 1 ? 2 : 4, "the header's length");
  uint32_t length = 0;
  std::memcpy(&length, count.data(), count.size());
  const uint64_t start = kMagic.size() + 2 + count.size();
  const Header header =
      HeaderParser(file.name, text_of(file.slice(start, length, "the header"))).parse();
  const std::string name = file.name.text();
  const Shape shape = make_shape(name.c_str(), header.dims);
  check_bytes(name.c_str(), header.dtype, shape);
  const size_t size = size_of(header.dtype);
  const uint64_t bytes = static_cast<uint64_t>(shape.numel()) * size;
  Bytes values = file.slice(start + length, bytes, "the values");
  std::vector<int64_t> strides;
  if (header.fortran_order && shape.numel() > 0) {
    int64_t stride = 1;
    for (const int64_t dim : shape) {
      strides.push_back(stride);
      stride *= dim;
    }
  }
  if (!header.big_endian) return tensor_of(file, values, header.dtype, shape, strides);
  FilePart swapped = file;
  const auto copy = std::make_shared<std::vector<std::byte>>(values.begin(), values.end());
  for (size_t at = 0; at < copy->size(); at += size) {
    std::reverse(copy->begin() + static_cast<std::ptrdiff_t>(at),
                 copy->begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  swapped.owner = copy;
  return tensor_of(swapped, Bytes(*copy), header.dtype, shape, strides);
}

}  // namespace frontend

void save(const std::string& path, const Tensor& x, Location where) {
  const engine::CallSite site(where, "save");
  frontend::node_of("save", x);
  const frontend::Values values(x);
  const std::string header = frontend::npy_header(x.dtype(), x.shape());
  frontend::write_file("save", path, [&](frontend::Append append) {
    append(header.data(), header.size());
    append(values.bytes().data(), values.bytes().size());
  });
}

Tensor load(const std::string& path, Location where) {
  const engine::CallSite site(where, "load");
  return frontend::read_npy(frontend::open_file("load", path));
}

}  // namespace sluice
