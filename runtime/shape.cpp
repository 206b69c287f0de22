#include <sluice/shape.h>

#include <algorithm>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice {
namespace {

std::string dims_to_string(std::span<const int64_t> dims) {
  return absl::StrCat("(", absl::StrJoin(dims, ", "), dims.size() == 1 ? ",)" : ")");
}

[[noreturn]] void fail(std::span<const int64_t> dims, const char* why) {
  throw Error(ErrorCode::kInvalidArgument, absl::StrCat("shape ", dims_to_string(dims), " ", why));
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) fail(dims, "has more than 8 dimensions");
  bool overflow = false;
  for (int64_t dim : dims) {
    if (dim < 0) fail(dims, "has a negative dimension");
    dims_[rank_++] = dim;
    overflow |= __builtin_mul_overflow(numel_, dim, &numel_);
  }
  // A zero extent makes the product 0, even if the others overflow.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    numel_ = 0;
  } else if (overflow) {
    fail(dims, "has more elements than int64 can count");
  }
}

int Shape::from_end(int axis) const {
  if (axis < -rank_ || axis >= rank_) {
    throw Error(ErrorCode::kOutOfRange,
                absl::StrCat("shape ", to_string(*this), " has no axis ", axis));
  }
  return axis < 0 ? axis + rank_ : axis;
}

void Shape::check_rank(size_t rank) const {
  if (rank != static_cast<size_t>(rank_)) {
    fail(*this, absl::StrCat("has ", rank_, " dimensions, not ", rank).c_str());
  }
}

std::string to_string(const Shape& shape) { return dims_to_string(shape); }

}  // namespace sluice
