// The text of a program's indices and addresses.
//
// The points of a program are numbered by one index for the outer dims (`team.line` or `team.row`)
// and one for what a thread walks: `i` along the last outer dim of a pointwise program, `r` over
// the reduced dims of others. Addresses are made of the indices of single dims,
//     a3 + r0 * Index(p.s3[1]) + (r1 + l)
// where `a3` is the part that does not vary in the walk and l is the lane.
#ifndef SLUICE_KERNELS_GPU_EMIT_ADDRESSES_H_
#define SLUICE_KERNELS_GPU_EMIT_ADDRESSES_H_

#include <cstdint>
#include <string>

#include "fusion/ir/program.h"
#include "kernels/gpu/emit/writer.h"

namespace sluice::kernels::cuda {

class Addresses {
 public:
  explicit Addresses(const fusion::Program& program);

  // What the walk runs over: "i" or "r".
  const char* walked() const { return pointwise_ ? "i" : "r"; }

  // Defines the indices of the dims that are not walked, and each access's `a<k>`.
  void write_outer(Writer* writer) const;
  // Defines the indices of the dims that are walked, from walked().
  void write_walked(Writer* writer) const;

  // The address of an access outside the walk, and in lane `lane` of the walk ("" for the first).
  std::string outer(uint16_t access) const;
  std::string walked(uint16_t access, const std::string& lane) const;
  // Elements between lanes.
  std::string lane_stride(uint16_t access) const;

 private:
  int num_outer() const;
  std::string index_name(int dim) const;
  // Defines the indices of `count` dims from `first` on, given their row-major number.
  void split(const std::string& number, int first, int count, Writer* writer) const;
  // " + index * stride" for each of the dims along which the access varies.
  std::string terms(uint16_t access, int first, int count, const std::string& lane) const;

  const fusion::Program& program_;
  const bool pointwise_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_ADDRESSES_H_
