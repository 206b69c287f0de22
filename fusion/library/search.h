// Library calls that find the places of values among sorted ones.
#ifndef SLUICE_FUSION_LIBRARY_SEARCH_H_
#define SLUICE_FUSION_LIBRARY_SEARCH_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

// How many elements of a line, which is in the order of an ascending sort (see SortAttributes),
// come before each value; those equal to it are counted too if `right`.
//
// Buffers: line (length,) and values (count,), both of `dtype`; y (count,), of int64. Offsets and
// strides in elements.
struct SearchAttributes : SizedAttributes<SearchAttributes> {
  DType dtype = DType::kFloat32;
  bool right = false;
  int64_t length = 0, count = 0;
  int64_t offset = 0, stride = 1;                // of the line
  int64_t values_offset = 0, values_stride = 1;  // of the values

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number :
         {&of.length, &of.count, &of.offset, &of.stride, &of.values_offset, &of.values_stride}) {
      f(*number);
    }
  }
  std::string text() const override;
  int64_t flops() const override { return 0; }
  double cost() const override;
};

// `call` is of kind kSearch.
inline const SearchAttributes& search_of(const LibraryCall& call) {
  return static_cast<const SearchAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_SEARCH_H_
