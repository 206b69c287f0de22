// What scatters do to an element, and to short rows of them in registers.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_COMBINED_ELEMENTS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_COMBINED_ELEMENTS_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

template <typename T>
bool is_negative(T a) {
  if constexpr (std::is_floating_point_v<T>) return __builtin_signbit(a) != 0;
  return false;  // equal integers are the same
}

struct Add {
  // NaN is made canonical when all is added.
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
// As maximum() and minimum(): NaN wins, and +0 is greater than -0.
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || b != b || (a == b && is_negative(a)) ? b : a;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a || b != b || (a == b && is_negative(b)) ? b : a;
  }
};
struct Set {
  template <typename T>
  T operator()(T, T b) const {
    return b;
  }
};

// In registers: as many as a power of two, and the rest. Several are added only.
template <typename T, typename Combine, int64_t kCount>
struct Elements {
  static_assert(std::is_same_v<Combine, Add>);
  static constexpr auto kPart = static_cast<int64_t>(std::bit_floor(uint64_t{kCount}));
  typedef T Part __attribute__((vector_size(kPart * sizeof(T)), aligned(sizeof(T)), may_alias));

  void load(const T* from) {
    part = *reinterpret_cast<const Part*>(from);
    rest.load(from + kPart);
  }
  void combine(const T* from) {
    part += *reinterpret_cast<const Part*>(from);
    rest.combine(from + kPart);
  }
  void store(T* to) const {
    *reinterpret_cast<Part*>(to) = part;
    rest.store(to + kPart);
  }

  Part part;
  [[no_unique_address]] Elements<T, Combine, kCount - kPart> rest;
};
template <typename T, typename Combine>
struct Elements<T, Combine, 1> {
  void load(const T* from) { element = *from; }
  void combine(const T* from) { element = Combine()(element, *from); }
  void store(T* to) const { *to = element; }

  T element;
};
template <typename T, typename Combine>
struct Elements<T, Combine, 0> {
  void load(const T*) {}
  void combine(const T*) {}
  void store(T*) const {}
};

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_COMBINED_ELEMENTS_H_
