// The extents of a tensor, held inline.
#ifndef SLUICE_SHAPE_H_
#define SLUICE_SHAPE_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace sluice {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank extents, each >= 0. Constructing a longer or a negative one throws Error, as does
// a product of extents that overflows int64.
class Shape {
 public:
  constexpr Shape() = default;  // rank 0: a scalar, one element
  Shape(std::initializer_list<int64_t> dims);
  Shape(std::span<const int64_t> dims);
  Shape(const std::vector<int64_t>& dims) : Shape(std::span<const int64_t>(dims)) {}
  // One axis: zeros(5) is zeros({5}).
  template <std::integral T>
  requires(!std::same_as<T, bool>) Shape(T extent) : Shape({static_cast<int64_t>(extent)}) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return rank_; }
  [[nodiscard]] bool empty() const { return rank_ == 0; }
  // The extent of an axis; -1 is the last. Throws Error (kOutOfRange) if there is no such axis.
  [[nodiscard]] int64_t operator[](int axis) const {
    if (static_cast<uint32_t>(axis) >= static_cast<uint32_t>(rank_)) [[unlikely]]
      axis = from_end(axis);
    return begin()[axis];
  }
  [[nodiscard]] int64_t back() const { return end()[-1]; }
  [[nodiscard]] const int64_t* begin() const { return dims_.data(); }
  [[nodiscard]] const int64_t* end() const { return dims_.data() + rank_; }
  [[nodiscard]] const int64_t* data() const { return dims_.data(); }
  operator std::span<const int64_t>() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  // The extents, for a structured binding: auto [rows, columns] = x.shape().as<2>(). Throws Error
  // (kInvalidArgument) if the rank is another.
  template <size_t kRank>
  [[nodiscard]] std::array<int64_t, kRank> as() const {
    check_rank(kRank);
    std::array<int64_t, kRank> extents;
    for (size_t k = 0; k < kRank; ++k) extents[k] = begin()[k];
    return extents;
  }

  // The number of elements: the product of the extents, 1 for rank 0.
  [[nodiscard]] int64_t numel() const { return numel_; }

  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int k = 0; k < rank_; ++k) {
      if (begin()[k] != other.begin()[k]) return false;
    }
    return true;
  }

 private:
  int from_end(int axis) const;
  void check_rank(size_t rank) const;

  std::array<int64_t, kMaxRank> dims_{};  // unused entries stay 0
  int64_t numel_ = 1;
  int32_t rank_ = 0;
};

// "(2, 3)", "(4,)", "()": as Python writes tuples.
[[nodiscard]] std::string to_string(const Shape& shape);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_SHAPE_H_
