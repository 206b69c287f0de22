// What x(...) takes: positions, ranges, and tensors of either.
#ifndef SLUICE_INDEX_H_
#define SLUICE_INDEX_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <vector>

#include <sluice/detail/node_handle.h>
#include <sluice/dtype.h>

#pragma GCC visibility push(default)
namespace sluice {

class Tensor;

// Python's start:stop:step. Slice{} is all, Slice{1, {}, 2} is 1::2, Slice{-3} the last three.
struct Slice {
  std::optional<int64_t> start = std::nullopt;
  std::optional<int64_t> stop = std::nullopt;
  int64_t step = 1;  // not 0
};

// A new axis of extent 1.
struct NewAxis {};
inline constexpr NewAxis newaxis{};
// As many whole axes as the other indices leave; at most one of them.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};

// One index of x(i, j, ...), with NumPy's meaning:
//   an integer          the element there; the axis goes. Negative ones count from the end
//   Slice               a range of the axis
//   newaxis, ellipsis   see above
//   a tensor of ints    the elements there, in the tensor's shape
//   a bool tensor       the elements where it is true; stands for as many axes as it has, and is
//                       waited for, as it says how many there are
class Index {
 public:
  enum class Kind : uint8_t { kNone, kInteger, kSlice, kNewAxis, kEllipsis, kTensor };

  Index() = default;  // no index: the end of the list
  template <std::integral T>
  requires(!std::same_as<T, bool>)
      Index(T position, std::source_location where = std::source_location::current())
      : kind_(Kind::kInteger), where_(where) {
    slice_.start = static_cast<int64_t>(position);
  }
  Index(Slice slice, std::source_location where = std::source_location::current())
      : kind_(Kind::kSlice), slice_(slice), where_(where) {}
  Index(NewAxis, std::source_location where = std::source_location::current())
      : kind_(Kind::kNewAxis), where_(where) {}
  Index(Ellipsis, std::source_location where = std::source_location::current())
      : kind_(Kind::kEllipsis), where_(where) {}
  Index(const Tensor& tensor, std::source_location where = std::source_location::current());
  Index(const std::vector<int64_t>& positions,
        std::source_location where = std::source_location::current());
  Index(bool) = delete;

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int64_t position() const { return *slice_.start; }
  [[nodiscard]] const Slice& slice() const { return slice_; }
  [[nodiscard]] const engine::NodeRef& tensor() const { return tensor_; }
  // Where the program wrote it.
  [[nodiscard]] const std::source_location& where() const { return where_; }

 private:
  Kind kind_ = Kind::kNone;
  Slice slice_;
  engine::NodeRef tensor_;
  std::source_location where_;
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_INDEX_H_
