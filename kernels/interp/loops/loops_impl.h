// The templates behind loops.h, for the translation units that are compiled once for each
// instruction set with SLUICE_ISA_NAMESPACE defined to its name.
//
// A hazard: such a unit must not emit an inline function under a name that other units share (the
// linker could keep the copy that needs AVX-512 and give it to everyone). So these files use
// nothing of the standard library but types, and everything lives in the set's own namespace.
#ifndef SLUICE_KERNELS_INTERP_LOOPS_LOOPS_IMPL_H_
#define SLUICE_KERNELS_INTERP_LOOPS_LOOPS_IMPL_H_

#ifndef SLUICE_ISA_NAMESPACE
#error "compile the loops with SLUICE_ISA_NAMESPACE defined"
#endif

#include <cstdint>
#include <type_traits>

#include "kernels/independent_turns.h"
#include "kernels/interp/loops/loops.h"
#include "kernels/math/functions.h"
#include "kernels/reduction.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {

namespace m = math;
using fusion::Op;
using fusion::TypeRule;

// Each family of element types fills its part of the table, in a file of its own.
void fill_float32(LoopTable& table);
void fill_float64(LoopTable& table);
void fill_int8(LoopTable& table);
void fill_int16(LoopTable& table);
void fill_int32(LoopTable& table);
void fill_int64(LoopTable& table);
void fill_bool(LoopTable& table);
void fill_conversions(LoopTable& table);
void fill_nontemporal(LoopTable& table);

// The expressions of ops.def, as types.
namespace expressions {
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                         \
  struct id {                                                                        \
    template <typename A, typename V>                                                \
    SLUICE_MATH_INLINE static auto apply([[maybe_unused]] A a, [[maybe_unused]] V b, \
                                         [[maybe_unused]] V c) {                     \
      return __VA_ARGS__;                                                            \
    }                                                                                \
  };
#define SLUICE_INTERNAL(id, name, arity, in, out, ...) \
  SLUICE_POINTWISE(id, name, arity, kFixed, kAll, __VA_ARGS__)
#define SLUICE_ARG_REDUCTION SLUICE_REDUCTION
#define SLUICE_REDUCTION(id, name, domain, identity_value, ...) \
  struct id {                                                   \
    template <typename V>                                       \
    static V identity() {                                       \
      return identity_value;                                    \
    }                                                           \
    template <typename V>                                       \
    SLUICE_MATH_INLINE static V apply(V a, V b) {               \
      return __VA_ARGS__;                                       \
    }                                                           \
  };
#include "fusion/ir/ops.def"
}  // namespace expressions

// Iterations may run side by side although `out` may be an operand: element i is read before it is
// written and never again.
#define SLUICE_TILE_LOOP SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i)

// Element i. A mask that chooses between wider elements is read as the byte that it is: the
// compiler vectorises a selection by a comparison, but not by a loaded bool.
template <typename V, typename A>
inline A element(const A* a, int64_t i) {
  if constexpr (std::is_same_v<A, bool> && !std::is_same_v<V, bool>) {
    return static_cast<int>(reinterpret_cast<const uint8_t*>(a)[i]) != 0;
  } else {
    return a[i];
  }
}

template <typename F, typename A, typename V, int kArity, int kUniform>
void map_loop(void* out, const void* const* in, int64_t n) {
  using R = decltype(F::apply(A{}, V{}, V{}));
  R* o = static_cast<R*>(out);
  const A* a = static_cast<const A*>(in[0]);
  const V* b = static_cast<const V*>(in[kArity > 1 ? 1 : 0]);
  const V* c = static_cast<const V*>(in[kArity > 2 ? 2 : 0]);
  const A a0 = a[0];
  const V b0 = kUniform & 2 ? b[0] : V{};
  const V c0 = kUniform & 4 ? c[0] : V{};
  SLUICE_TILE_LOOP {
    // Read before selecting: the compiler may then select between values, not between loads.
    const V x = kUniform & 2 || kArity < 2 ? b0 : b[i];
    const V y = kUniform & 4 || kArity < 3 ? c0 : c[i];
    o[i] = F::template apply<A, V>(kUniform & 1 ? a0 : element<V>(a, i), x, y);
  }
}

// A guarded function of float32 has a cheaper form for small operands.
template <typename G, typename V>
concept HasSmallForm = m::kIsF32<V> && requires(V a) {
  G::of_small(a);
};

// By blocks: the inline form for all, and then the library for the rare ones, whose operands `out`
// must not have replaced by then.
template <typename G, typename V, int kArity, int kUniform>
void guarded_loop(void* out, const void* const* in, int64_t n) {
  constexpr int64_t kBlock = 256;
  constexpr m::External kLibrary = m::kIsF32<V> ? G::kF32 : G::kF64;
  V* o = static_cast<V*>(out);
  // One element that stands for all is read at once: the first block may replace it.
  const V a0 = *static_cast<const V*>(in[0]);
  const V b0 = *static_cast<const V*>(in[kArity - 1]);
  const V* a = kUniform & 1 ? &a0 : static_cast<const V*>(in[0]);
  const V* b = kUniform & 2 ? &b0 : static_cast<const V*>(in[kArity - 1]);
  constexpr int64_t kStepA = kUniform & 1 ? 0 : 1, kStepB = kUniform & 2 ? 0 : 1;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    const V* x = a + first * kStepA;
    const V* y = b + first * kStepB;
    V results[kBlock];
    m::IntOf<V> any = 0;  // as wide as V, so that the loop is vectorised
    if constexpr (HasSmallForm<G, V>) {
      for (int64_t i = 0; i < count; ++i) any |= G::is_small(x[i]) ? 0 : 1;
      if (any == 0) {
        for (int64_t i = 0; i < count; ++i) results[i] = G::of_small(x[i]);
        for (int64_t i = 0; i < count; ++i) o[first + i] = results[i];
        continue;
      }
      any = 0;
    }
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (kArity == 1) {
        results[i] = G::usual(x[i]);
        any |= G::is_rare(x[i]) ? 1 : 0;
      } else {
        results[i] = G::usual(x[i * kStepA], y[i * kStepB]);
        any |= G::is_rare(x[i * kStepA], y[i * kStepB]) ? 1 : 0;
      }
    }
    for (int64_t i = 0; any != 0 && i < count; ++i) {
      if constexpr (kArity == 1) {
        if (G::is_rare(x[i])) results[i] = m::call_external(kLibrary, x[i]);
      } else {
        const V p = x[i * kStepA], q = y[i * kStepB];
        if (G::is_rare(p, q)) results[i] = m::call_external(kLibrary, p, q);
      }
    }
    for (int64_t i = 0; i < count; ++i) o[first + i] = results[i];
  }
}

template <Op kOp, typename V>
concept IsGuarded = m::kIsFloat<V> && requires {
  m::Guarded<kOp>::kF32;
};

template <typename G, typename V, int kArity>
void set_guarded(MapLoops& loops) {
  loops.form[0] = guarded_loop<G, V, kArity, 0>;
  if constexpr (kArity == 2) {
    loops.form[1] = guarded_loop<G, V, kArity, 1>;
    loops.form[2] = guarded_loop<G, V, kArity, 2>;
  }
}

template <typename F, typename A, typename V, int kArity>
void set_map(MapLoops& loops) {
  loops.form[0] = map_loop<F, A, V, kArity, 0>;
  if constexpr (kArity >= 2) {
    loops.form[1] = map_loop<F, A, V, kArity, 1>;
    loops.form[2] = map_loop<F, A, V, kArity, 2>;
  }
  if constexpr (kArity == 3) {
    loops.form[3] = map_loop<F, A, V, kArity, 3>;
    loops.form[4] = map_loop<F, A, V, kArity, 4>;
    loops.form[5] = map_loop<F, A, V, kArity, 5>;
    loops.form[6] = map_loop<F, A, V, kArity, 6>;
  }
}

// All pointwise ops that exist for compute type V.
template <typename V>
void fill_map(LoopTable& table) {
  constexpr DType kType = dtype_of<V>();
  constexpr int kIndex = static_cast<int>(kType);
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                    \
  if constexpr (fusion::in_domain(fusion::domain, kType)) {                     \
    using A = std::conditional_t<TypeRule::rule == TypeRule::kSelect, bool, V>; \
    MapLoops& loops = table.map[static_cast<int>(Op::k##id)][kIndex];           \
    if constexpr (IsGuarded<Op::k##id, V>)                                      \
      set_guarded<m::Guarded<Op::k##id>, V, arity>(loops);                      \
    else                                                                        \
      set_map<expressions::id, A, V, arity>(loops);                             \
  }
#define SLUICE_INTERNAL(id, name, arity, in, out, ...)                                     \
  if constexpr (kType == DType::in) {                                                      \
    set_map<expressions::id, V, V, arity>(table.map[static_cast<int>(Op::k##id)][kIndex]); \
  }
#include "fusion/ir/ops.def"
}

template <typename F, typename G>
struct Pair {
  template <typename A, typename V>
  static V apply(A a, V b, V c) {
    const V inner = F::template apply<V, V>(a, b, b);
    return G::template apply<V, V>(inner, c, c);
  }
};

struct ReversedSub {
  template <typename A, typename V>
  static V apply(A a, V b, V c) {
    return expressions::Sub::apply<V, V>(b, a, c);
  }
};

template <typename V, typename F>
void fill_pairs(MapLoops (&row)[kNumPaired + 1][kNumDTypes]) {
  constexpr int kType = static_cast<int>(dtype_of<V>());
  set_map<Pair<F, expressions::Add>, V, V, 3>(row[paired_index(Op::kAdd)][kType]);
  set_map<Pair<F, expressions::Sub>, V, V, 3>(row[paired_index(Op::kSub)][kType]);
  set_map<Pair<F, expressions::Mul>, V, V, 3>(row[paired_index(Op::kMul)][kType]);
  set_map<Pair<F, ReversedSub>, V, V, 3>(row[kReversedSub][kType]);
}

template <typename V>
void fill_pairs(LoopTable& table) {
  fill_pairs<V, expressions::Add>(table.pair[paired_index(Op::kAdd)]);
  fill_pairs<V, expressions::Sub>(table.pair[paired_index(Op::kSub)]);
  fill_pairs<V, expressions::Mul>(table.pair[paired_index(Op::kMul)]);
}

// Reductions.

template <typename V>
void fill_with(void* out, V value, int64_t n) {
  V* o = static_cast<V*>(out);
  SLUICE_TILE_LOOP { o[i] = value; }
}

template <typename F, typename V>
struct Reducer {
  static void identity(void* acc, int64_t n) { fill_with<V>(acc, F::template identity<V>(), n); }

  static void combine(void* acc, const void* x, int64_t n) {
    V* a = static_cast<V*>(acc);
    const V* b = static_cast<const V*>(x);
    SLUICE_TILE_LOOP { a[i] = F::apply(a[i], b[i]); }
  }

  static void lanes(void* acc, const void* x, int64_t n) {
    V* a = static_cast<V*>(acc);
    const V* b = static_cast<const V*>(x);
    // A local copy stays in vector registers through the loop.
    V lane[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = a[l];
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 1
      for (int64_t l = 0; l < kLanes; ++l) lane[l] = F::apply(lane[l], b[i + l]);
    }
    for (int64_t l = 0; l < kLanes; ++l) a[l] = lane[l];
    for (int64_t l = 0; i + l < n; ++l) a[l] = F::apply(a[l], b[i + l]);
  }

  static void fold_from(V* a, int64_t half) {
    for (int64_t h = half; h >= 1; h /= 2) {
      SLUICE_INDEPENDENT_TURNS
      for (int64_t l = 0; l < h; ++l) a[l] = F::apply(a[l], a[l + h]);
    }
  }

  static void fold(void* out, void* acc) {
    V* a = static_cast<V*>(acc);
    fold_from(a, kLanes / 2);
    *static_cast<V*>(out) = a[0];
  }

  static void rows(void* out, const void* x, int64_t rows, int64_t length) {
    V* o = static_cast<V*>(out);
    const V* row = static_cast<const V*>(x);
    // Lanes that get no element keep the identity, and combining with that changes nothing: the
    // fold may begin at the lanes in use.
    int64_t used = 1;
    while (used < kLanes && used < length) used *= 2;
    for (int64_t k = 0; k < rows; ++k, row += length) {
      V lane[kLanes];
      if (length >= kLanes) {
        identity(lane, kLanes);
        lanes(lane, row, length);
      } else {
        for (int64_t l = 0; l < used; ++l) {
          lane[l] = l < length ? row[l] : F::template identity<V>();
        }
      }
      fold_from(lane, used / 2);
      o[k] = lane[0];
    }
  }
};

// F is the expression that combines, R the reduction that has its identity.
template <typename F, typename R, typename V>
struct Scanner {
  SLUICE_MATH_INLINE static V apply(V a, V b) { return F::template apply<V, V>(a, b, b); }

  static void identity(void* out, int64_t n) { fill_with<V>(out, R::template identity<V>(), n); }

  static void combine(void* out, const void* a, const void* b, int64_t n) {
    V* o = static_cast<V*>(out);
    const V* x = static_cast<const V*>(a);
    const V* y = static_cast<const V*>(b);
    SLUICE_TILE_LOOP { o[i] = apply(x[i], y[i]); }
  }

  template <int64_t kGroup>
  static void join_groups(V* lane) {
#pragma GCC unroll 16
    for (int64_t first = 0; first < kLanes; first += 2 * kGroup) {
      const V last = lane[first + kGroup - 1];
      SLUICE_INDEPENDENT_TURNS
      for (int64_t l = kGroup; l < 2 * kGroup; ++l) lane[first + l] = apply(last, lane[first + l]);
    }
  }

  static void row(void* out, const void* x, int64_t n, const void* before, void* vectors) {
    V* o = static_cast<V*>(out);
    const V* from = static_cast<const V*>(x);
    V* const so_far = static_cast<V*>(vectors);
    for (int64_t first = 0; first < n; first += kLanes) {
      const int64_t count = n - first < kLanes ? n - first : kLanes;
      V lane[kLanes];
      if (count == kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) lane[l] = from[first + l];
      } else {
        for (int64_t l = 0; l < kLanes; ++l) lane[l] = from[first + (l < count ? l : 0)];
      }
      static_assert(kLanes == 32);
      join_groups<1>(lane);
      join_groups<2>(lane);
      join_groups<4>(lane);
      join_groups<8>(lane);
      join_groups<16>(lane);
      const V earlier = apply(*static_cast<const V*>(before), *so_far);
      *so_far = apply(*so_far, lane[count - 1]);
      if (count == kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) o[first + l] = apply(earlier, lane[l]);
      } else {
        for (int64_t l = 0; l < count; ++l) o[first + l] = apply(earlier, lane[l]);
      }
    }
  }
};

// F is the expression of an arg reduction.
template <typename F, typename V>
struct ArgReducer {
  // True if `b`, which comes later, must replace `a`.
  static bool replaces(V b, V a) {
    bool better = F::apply(a, b);
    if constexpr (m::kIsFloat<V>) better = better | ((b != b) & (a == a));
    return better;
  }

  static void identity(void* values, int64_t* positions, int64_t position, int64_t n) {
    fill_with<V>(values, F::template identity<V>(), n);
    fill_with<int64_t>(positions, position, n);
  }

  static void combine(void* values, int64_t* positions, const void* x, const int64_t* x_positions,
                      int64_t n) {
    V* a = static_cast<V*>(values);
    const V* b = static_cast<const V*>(x);
    for (int64_t i = 0; i < n; ++i) {
      if (!replaces(b[i], a[i])) continue;
      a[i] = b[i];
      positions[i] = x_positions[i];
    }
  }

  static void step(void* values, int64_t* positions, const void* x, int64_t position, int64_t n) {
    V* a = static_cast<V*>(values);
    const V* b = static_cast<const V*>(x);
    SLUICE_TILE_LOOP {
      const bool better = replaces(b[i], a[i]);
      a[i] = better ? b[i] : a[i];
      positions[i] = better ? position : positions[i];
    }
  }

  static void row(void* values, int64_t* positions, const void* x, int64_t position, int64_t n) {
    V best = *static_cast<V*>(values);
    const V* b = static_cast<const V*>(x);
    // Most groups hold nothing better, and that is quick to see.
    constexpr int64_t kGroup = 256;
    for (int64_t first = 0; first < n; first += kGroup) {
      const int64_t count = n - first < kGroup ? n - first : kGroup;
      const V before = best;
      m::IntOf<V> any = 0;  // as wide as V, so that the loop is vectorised
      for (int64_t i = 0; i < count; ++i) any |= replaces(b[first + i], before) ? 1 : 0;
      if (any == 0) continue;
      for (int64_t i = 0; i < count; ++i) {
        if (!replaces(b[first + i], best)) continue;
        best = b[first + i];
        positions[0] = position + first + i;
      }
    }
    *static_cast<V*>(values) = best;
  }
};

template <typename F, typename V>
void set_reduce(ReduceLoops& loops) {
  using R = Reducer<F, V>;
  loops = {R::identity, R::combine, R::lanes, R::fold, R::rows};
}

template <typename F, typename V>
void set_arg(ArgLoops& loops) {
  using R = ArgReducer<F, V>;
  loops = {R::identity, R::combine, R::step, R::row};
}

template <typename V>
void fill_reductions(LoopTable& table) {
  constexpr DType kType = dtype_of<V>();
  constexpr int kIndex = static_cast<int>(kType);
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                             \
  if constexpr (fusion::in_domain(fusion::domain, kType)) {                           \
    set_reduce<expressions::id, V>(table.reduce[reduction_index(Op::k##id)][kIndex]); \
  }
#define SLUICE_ARG_REDUCTION(id, name, domain, identity, ...) \
  set_arg<expressions::id, V>(table.arg[arg_reduction_index(Op::k##id)][kIndex]);
#include "fusion/ir/ops.def"
}

template <typename F, typename R, typename V>
void set_scan(ScanLoops& loops) {
  using S = Scanner<F, R, V>;
  loops = {S::identity, S::combine, S::row};
}

// Scans accumulate in floats and in integers of 64 bits.
template <typename V>
void fill_scans(LoopTable& table) {
  constexpr DType kType = dtype_of<V>();
#define SLUICE_SCAN(id, combining_op, like)                                  \
  if constexpr (m::kIsFloat<V> || Op::k##combining_op != Op::kLogAddExp) {   \
    set_scan<expressions::combining_op, expressions::like, V>(               \
        table.scan[fusion::scan_index(Op::k##id)][static_cast<int>(kType)]); \
  }
#include "fusion/ir/scans.def"
}

template <typename V>
void fill_type(LoopTable& table) {
  fill_map<V>(table);
  if constexpr (m::kIsFloat<V>) fill_pairs<V>(table);
  fill_reductions<V>(table);
  if constexpr (m::kIsFloat<V> || sizeof(V) == 8) fill_scans<V>(table);
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_INTERP_LOOPS_LOOPS_IMPL_H_
