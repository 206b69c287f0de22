// The layout of numpy.array2string: rows in brackets, wrapped, and long axes by their ends.
#include <sluice/print.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <sluice/ops.h>
#include "frontend/print/element_text.h"

namespace sluice {
namespace {

class Layout {
 public:
  // `shape`: of the whole tensor; `words`: of the elements that are shown, in row-major order.
  Layout(const Shape& shape, bool shows_ends, std::vector<std::string> words,
         const PrintOptions& options)
      : shape_(shape), shows_ends_(shows_ends), words_(std::move(words)), options_(options) {}

  std::string text() { return block(0, " ", options_.width); }

 private:
  // How many elements are shown before the dots along an axis, and how many after them or in all.
  bool is_cut(int axis) const { return shows_ends_ && shape_[axis] > 2 * options_.edge_items; }
  int64_t leading(int axis) const { return is_cut(axis) ? options_.edge_items : 0; }
  int64_t trailing(int axis) const { return is_cut(axis) ? options_.edge_items : shape_[axis]; }

  // The elements from the axis on, in brackets; later lines begin with `indent`.
  std::string block(int axis, const std::string& indent, int width) {
    std::string text =
        axis == shape_.rank() - 1 ? row(axis, indent, width - 1) : rows(axis, indent, width - 1);
    // The bracket stands in the last column of the indent, which is not empty.
    text[indent.size() - 1] = '[';
    text.erase(0, indent.size() - 1);
    text.push_back(']');
    return text;
  }

  std::string row(int axis, const std::string& indent, int width) {
    std::string done, line = indent;
    auto add = [&](const std::string& word) {
      if (line.size() + word.size() > static_cast<size_t>(std::max(width, 0)) &&
          line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        done += line + "\n";
        line = indent;
      }
      line += word;
    };
    for (int64_t i = 0; i < leading(axis); ++i) {
      add(words_[next_++]);
      line += ' ';
    }
    const int64_t last = trailing(axis);
    if (is_cut(axis)) {
      add("...");
      if (last > 0) line += ' ';
    }
    for (int64_t i = 0; i < last; ++i) {
      add(words_[next_++]);
      if (i + 1 < last) line += ' ';
    }
    return done + line;
  }

  std::string rows(int axis, const std::string& indent, int width) {
    const std::string between(shape_.rank() - 1 - axis, '\n');
    std::string text;
    auto add = [&](const std::string& part) {
      if (!text.empty()) text += between;
      text += indent + part;
    };
    for (int64_t i = 0; i < leading(axis); ++i) add(block(axis + 1, indent + ' ', width));
    if (is_cut(axis)) add("...");
    for (int64_t i = 0; i < trailing(axis); ++i) add(block(axis + 1, indent + ' ', width));
    return text;
  }

  const Shape& shape_;
  const bool shows_ends_;
  const std::vector<std::string> words_;
  const PrintOptions& options_;
  size_t next_ = 0;
};

// The elements within `items` of the ends of each axis.
Tensor ends_of(Tensor x, int64_t items, Location where) {
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const int64_t extent = x.shape()[axis];
    if (extent <= 2 * items) continue;
    x = concat({x.slice(axis, 0, items, 1, where), x.slice(axis, extent - items, extent, 1, where)},
               axis, where);
  }
  return x;
}

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& given, Location where) {
  if (!x.defined()) return "<empty>";
  if (x.ndim() == 0) return frontend::scalar_word(x);
  if (x.numel() == 0) return "[]";
  PrintOptions options = given;
  options.edge_items = std::max<int64_t>(options.edge_items, 0);
  const bool shows_ends = x.numel() > options.threshold;
  std::vector<std::string> words = frontend::element_words(
      shows_ends ? ends_of(x, options.edge_items, where) : x, options.precision);
  return Layout(x.shape(), shows_ends, std::move(words), options).text();
}

std::string to_string(DType dtype) { return name_of(dtype); }

std::ostream& operator<<(std::ostream& stream, const Tensor& x) { return stream << to_string(x); }
std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
  return stream << to_string(shape);
}
std::ostream& operator<<(std::ostream& stream, DType dtype) { return stream << name_of(dtype); }
std::ostream& operator<<(std::ostream& stream, Device device) {
  return stream << to_string(device);
}

}  // namespace sluice
