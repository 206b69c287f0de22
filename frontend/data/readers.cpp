// Files of samples.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/data.h>
#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/files/file.h"

namespace sluice::data {
namespace {

using frontend::Bytes;
using frontend::check_bytes;
using frontend::describe;
using frontend::FilePart;
using frontend::open_file;
using frontend::tensor_of;

uint32_t big_endian(Bytes bytes) {
  uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<uint32_t>(byte);
  return value;
}

// The dtype of a code of IDX.
DType idx_dtype(const FilePart& file, uint32_t code) {
  switch (code) {
    case 0x08: return DType::kUInt8;
    case 0x09: return DType::kInt8;
    case 0x0b: return DType::kInt16;
    case 0x0c: return DType::kInt32;
    case 0x0d: return DType::kFloat32;
    case 0x0e: return DType::kFloat64;
    default: file.name.fail("element type ", code, " is none of IDX");
  }
}

constexpr int64_t kCifarSide = 32, kCifarPixels = 3 * kCifarSide * kCifarSide;
constexpr int64_t kCifarRecord = 1 + kCifarPixels;

}  // namespace

Tensor load_idx(const std::string& path) {
  const FilePart file = open_file("load_idx", path);
  const Bytes head = file.slice(0, 4, "the header");
  const auto rank = std::to_integer<int>(head[3]);
  if (head[0] != std::byte{0} || head[1] != std::byte{0}) {
    file.name.fail("does not begin as an IDX file");
  }
  const DType dtype = idx_dtype(file, std::to_integer<uint32_t>(head[2]));
  if (rank > kMaxRank) file.name.fail(rank, " axes; at most ", kMaxRank, " are supported");
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    dims.push_back(big_endian(file.slice(4 + 4 * static_cast<uint64_t>(axis), 4, "the extents")));
  }
  const Shape shape(dims);
  const size_t size = size_of(dtype);
  const Bytes values = file.slice(4 + 4 * static_cast<uint64_t>(rank),
                                  static_cast<uint64_t>(shape.numel()) * size, "the elements");
  if (size == 1) return tensor_of(file, values, dtype, shape);
  std::vector<std::byte> own(values.begin(), values.end());
  if (std::endian::native == std::endian::little) {
    for (size_t at = 0; at < own.size(); at += size) {
      std::reverse(own.begin() + static_cast<std::ptrdiff_t>(at),
                   own.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
  }
  return visit_dtype(dtype, [&]<typename T>() -> Tensor {
    if constexpr (std::is_same_v<T, bool>) {
      file.name.fail("bool is no element type of IDX");
    } else {
      std::vector<T> elements(shape.numel());
      if (!own.empty()) std::memcpy(elements.data(), own.data(), own.size());
      return Tensor::from(elements, shape).to(default_device());
    }
  });
}

Tensor load_raw(const std::string& path, const Shape& sample, DType dtype,
                const RawOptions& options, Location where) {
  const engine::CallSite site(where, "load_raw");
  const FilePart file = open_file("load_raw", path);
  const auto size = static_cast<int64_t>(size_of(dtype));
  check_bytes("load_raw", dtype, sample);
  const int64_t bytes = sample.numel() * size;
  const int64_t record = options.record == 0 ? bytes : options.record;
  if (options.skip < 0 || record < bytes || bytes == 0 || record % size != 0) {
    file.name.fail("samples of ", describe(dtype, sample), ", ", bytes, " bytes, are not at every ",
                   record, " bytes after ", options.skip);
  }
  if (dtype == DType::kBool && record != bytes) {
    file.name.fail("bools with something between the samples: read them as uint8");
  }
  if (sample.rank() == kMaxRank) file.name.fail("samples have ", kMaxRank, " axes, and one more");
  const auto all = static_cast<int64_t>(file.bytes.size());
  // The last needs not be followed by what is between two.
  const int64_t count = all - options.skip < bytes ? 0 : 1 + (all - options.skip - bytes) / record;
  std::vector<int64_t> dims{count}, strides(static_cast<size_t>(sample.rank()) + 1);
  dims.insert(dims.end(), sample.begin(), sample.end());
  strides[0] = record / size;
  for (int64_t axis = sample.rank(), stride = 1; axis > 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= dims[static_cast<size_t>(axis)];
  }
  const int64_t reach = count == 0 ? 0 : (count - 1) * record + bytes;
  const Bytes values = count == 0 ? Bytes()
                                  : file.slice(static_cast<uint64_t>(options.skip),
                                               static_cast<uint64_t>(reach), "the samples");
  if (count == 0) return zeros(Shape(dims), dtype);
  return tensor_of(file, values, dtype, Shape(dims), strides);
}

Dataset load_cifar10(const std::vector<std::string>& paths) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (const std::string& path : paths) {
    const FilePart file = open_file("load_cifar10", path);
    const auto size = static_cast<int64_t>(file.bytes.size());
    if (size % kCifarRecord != 0) {
      file.name.fail(size, " bytes are not whole records of ", kCifarRecord);
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(file.bytes.data());
    for (int64_t at = 0; at < size; at += kCifarRecord) {
      if (bytes[at] > 9) file.name.fail("label ", bytes[at], " of record ", at / kCifarRecord);
      labels.push_back(bytes[at]);
      pixels.insert(pixels.end(), bytes + at + 1, bytes + at + kCifarRecord);
    }
  }
  const auto count = static_cast<int64_t>(labels.size());
  return {Tensor::from(pixels, {count, 3, kCifarSide, kCifarSide}).to(default_device()),
          Tensor::from(labels).to(default_device())};
}

Tensor load_csv(const std::string& path, const CsvOptions& options) {
  const FilePart file = open_file("load_csv", path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  std::vector<double> values;
  int64_t rows = 0, columns = 0;
  for (int64_t line = 1; !text.empty(); ++line) {
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (line <= options.skip || row.find_first_not_of(" \t") == std::string_view::npos) continue;
    int64_t count = 0;
    while (true) {
      std::string_view word = row.substr(0, row.find(options.separator));
      const bool is_last = word.size() == row.size();
      row.remove_prefix(is_last ? word.size() : word.size() + 1);
      const size_t first = word.find_first_not_of(" \t+");
      const size_t last = word.find_last_not_of(" \t");
      word = first > last || first == std::string_view::npos ? ""
                                                             : word.substr(first, last - first + 1);
      double value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      ++count;
      if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
        file.name.fail("line ", line, ", column ", count, ": \"", std::string(word),
                       "\" is no number");
      }
      values.push_back(value);
      if (is_last) break;
    }
    if (rows > 0 && count != columns) {
      file.name.fail("line ", line, " has ", count, " columns, not ", columns);
    }
    columns = count;
    ++rows;
  }
  return astype(Tensor::from(values, {rows, columns}), options.dtype).to(default_device());
}

}  // namespace sluice::data
