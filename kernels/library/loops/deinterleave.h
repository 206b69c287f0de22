// Elements of one memory that lie interleaved, each kind in vectors of its own.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_DEINTERLEAVE_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_DEINTERLEAVE_H_

#include <cstdint>
#include <utility>

#include "kernels/library/products/products_lanes.h"
#include "kernels/shuffled.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// kKinds: a product of twos and threes.
template <typename T, int kKinds>
class Deinterleave {
  using Vectors = Lanes<T, T>;
  using Vector = typename Vectors::Vector;
  static constexpr int kLanes = Vectors::kCount;
  // Into so many first, each of which is of kInner kinds.
  static constexpr int kStep = kKinds % 2 == 0 ? 2 : 3;
  static constexpr int kInner = kKinds / kStep;
  static_assert(kInner * kStep == kKinds);

 public:
  // to[k]: lane i is element i * kKinds + k of kKinds vectors.
  static void run(const Vector* from, Vector* to) {
    one<0>(from, to);
    one<1>(from, to);
    if constexpr (kStep == 3) one<2>(from, to);
  }

 private:
  template <int kKind>
  static void one(const Vector* from, Vector* to) {
    Vector parts[kInner], kinds[kInner];
    for (int i = 0; i < kInner; ++i) {
      parts[i] = part<kKind>(from + i * kStep, std::make_integer_sequence<int, kLanes>());
    }
    Deinterleave<T, kInner>::run(parts, kinds);
    for (int i = 0; i < kInner; ++i) to[i * kStep + kKind] = kinds[i];
  }

  // Every kStep-th element of kStep vectors.
  template <int kKind, int... kLane>
  static Vector part(const Vector* from, std::integer_sequence<int, kLane...>) {
    if constexpr (kStep == 2) {
      return shuffled<(2 * kLane + kKind)...>(from[0], from[1]);
    } else {
      const Vector first = shuffled<of_first_two(3 * kLane + kKind)...>(from[0], from[1]);
      return shuffled<with_third(kLane, 3 * kLane + kKind)...>(first, from[2]);
    }
  }
  static constexpr int of_first_two(int element) { return element < 2 * kLanes ? element : 0; }
  static constexpr int with_third(int lane, int element) {
    return element < 2 * kLanes ? lane : element - kLanes;
  }
};

template <typename T>
class Deinterleave<T, 1> {
 public:
  static void run(const typename Lanes<T, T>::Vector* from, typename Lanes<T, T>::Vector* to) {
    to[0] = from[0];
  }
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_DEINTERLEAVE_H_
