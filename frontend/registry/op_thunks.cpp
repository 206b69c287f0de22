#include "frontend/registry/op_thunks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice::frontend {
namespace {

// For each C++ type of a parameter: what it is, and its value in a frame, which lives as long as
// the statement.
template <typename T>
struct Parameter;
template <ParameterType kParameterType>
struct ParameterOf {
  static constexpr ParameterType kType = kParameterType;
};
template <>
struct Parameter<Arg> : ParameterOf<ParameterType::kTensor> {
  static Arg get(const Frame& frame, size_t k) { return Arg(*frame.values[k].tensor, Location()); }
};
template <>
struct Parameter<const Operand&> : ParameterOf<ParameterType::kTensor> {
  static Operand get(const Frame& frame, size_t k) {
    return Operand(*frame.values[k].tensor, Location());
  }
};
template <>
struct Parameter<const Tensor&> : ParameterOf<ParameterType::kTensor> {
  static const Tensor& get(const Frame& frame, size_t k) { return *frame.values[k].tensor; }
};
template <>
struct Parameter<std::span<const Tensor>> : ParameterOf<ParameterType::kTensors> {
  static std::span<const Tensor> get(const Frame& frame, size_t) { return frame.inputs; }
};
template <>
struct Parameter<Location> : ParameterOf<ParameterType::kLocation> {
  static Location get(const Frame&, size_t) { return Location(); }
};
template <>
struct Parameter<int64_t> : ParameterOf<ParameterType::kInt> {
  static int64_t get(const Frame& frame, size_t k) { return frame.attribute<int64_t>(k); }
};
template <>
struct Parameter<int> : ParameterOf<ParameterType::kInt> {
  // What does not fit is no axis or count either.
  static int get(const Frame& frame, size_t k) { return narrow(frame.attribute<int64_t>(k)); }
  static int narrow(int64_t value) {
    using Limits = std::numeric_limits<int>;
    return static_cast<int>(std::clamp<int64_t>(value, Limits::min(), Limits::max()));
  }
};
template <>
struct Parameter<double> : ParameterOf<ParameterType::kFloat> {
  static double get(const Frame& frame, size_t k) { return frame.attribute<double>(k); }
};
template <>
struct Parameter<bool> : ParameterOf<ParameterType::kBool> {
  static bool get(const Frame& frame, size_t k) { return frame.attribute<bool>(k); }
};
template <>
struct Parameter<DType> : ParameterOf<ParameterType::kDType> {
  static DType get(const Frame& frame, size_t k) { return frame.attribute<DType>(k); }
};
template <>
struct Parameter<Scalar> : ParameterOf<ParameterType::kScalar> {
  static Scalar get(const Frame& frame, size_t k) { return frame.attribute<Scalar>(k); }
};
template <>
struct Parameter<std::string_view> : ParameterOf<ParameterType::kString> {
  static std::string_view get(const Frame& frame, size_t k) {
    return frame.attribute<std::string>(k);
  }
};
using Ints = std::vector<int64_t>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;
template <>
struct Parameter<std::span<const int64_t>> : ParameterOf<ParameterType::kInts> {
  static std::span<const int64_t> get(const Frame& frame, size_t k) {
    return frame.attribute<Ints>(k);
  }
};
template <>
struct Parameter<const Shape&> : ParameterOf<ParameterType::kInts> {
  static Shape get(const Frame& frame, size_t k) {
    return Shape(std::span<const int64_t>(frame.attribute<Ints>(k)));
  }
};
template <>
struct Parameter<const Axes&> : ParameterOf<ParameterType::kInts> {
  static Axes get(const Frame& frame, size_t k) {
    std::vector<int> axes;
    for (int64_t axis : frame.attribute<Ints>(k)) axes.push_back(Parameter<int>::narrow(axis));
    return Axes(axes);
  }
};
template <>
struct Parameter<std::span<const std::pair<int64_t, int64_t>>>
    : ParameterOf<ParameterType::kPairs> {
  static std::span<const std::pair<int64_t, int64_t>> get(const Frame& frame, size_t k) {
    return frame.attribute<Pairs>(k);
  }
};

// Numbers that structs are made of, in their order.
struct Numbers {
  const Ints& list;
  size_t next = 0;

  bool has_next() const { return next < list.size(); }
  void read(int64_t& number) { number = list[next++]; }
  void read(bool& flag) { flag = list[next++] != 0; }
  void read(Pair& pair) {
    for (int64_t* number : {&pair.height, &pair.width}) read(*number);
  }
  template <typename Extents>
  void read(Padding<Extents>& padding) {
    read(padding.extents);
  }
  void read(Triple& triple) {
    for (int64_t* number : {&triple.depth, &triple.height, &triple.width}) read(*number);
  }
};
template <typename T>
constexpr size_t kCount = 1;
template <>
constexpr size_t kCount<Pair> = 2;
template <>
constexpr size_t kCount<Triple> = 3;
template <typename Extents>
constexpr size_t kCount<Padding<Extents>> = kCount<Extents>;

// An extent for each axis, or the same for all.
template <typename Extents>
struct ParameterOfExtents : ParameterOf<ParameterType::kInts> {
  static Extents get(const Frame& frame, size_t k) {
    const Ints& list = frame.attribute<Ints>(k);
    if (list.size() == 1) return list[0];
    constexpr size_t kAll = kCount<Extents>;
    if (list.size() != kAll) {
      fail("call", list.size(), " numbers for ", kAll == 2 ? "Pair" : "Triple", ", which has ",
           kAll);
    }
    Extents extents = 0;
    Numbers{list}.read(extents);
    return extents;
  }
};
template <>
struct Parameter<Pair> : ParameterOfExtents<Pair> {};
template <>
struct Parameter<Triple> : ParameterOfExtents<Triple> {};

// Those of the first members; what is not there is as it is by default.
template <typename Options, typename... Members>
struct ParameterOfOptions : ParameterOf<ParameterType::kInts> {
  static Options read(const Frame& frame, size_t k, Members Options::*... members) {
    const Ints& list = frame.attribute<Ints>(k);
    Options options;
    Numbers numbers{list};
    const auto read_one = [&](auto& member) {
      using Member = std::remove_reference_t<decltype(member)>;
      if (!numbers.has_next()) return;
      if (list.size() - numbers.next < kCount<Member>) refuse(list);
      numbers.read(member);
    };
    (read_one(options.*members), ...);
    if (numbers.has_next()) refuse(list);
    return options;
  }
  [[noreturn]] static void refuse(const Ints& list) {
    fail("call", list.size(), " numbers for options that have ", (kCount<Members> + ...));
  }
};
template <typename E>
struct Parameter<const ConvOptions<E>&>
    : ParameterOfOptions<ConvOptions<E>, E, Padding<E>, E, int64_t> {
  using O = ConvOptions<E>;
  static O get(const Frame& frame, size_t k) {
    return Parameter::read(frame, k, &O::stride, &O::padding, &O::dilation, &O::groups);
  }
};
template <typename E>
struct Parameter<const ConvTransposeOptions<E>&>
    : ParameterOfOptions<ConvTransposeOptions<E>, E, E, E, E, int64_t> {
  using O = ConvTransposeOptions<E>;
  static O get(const Frame& frame, size_t k) {
    return Parameter::read(frame, k, &O::stride, &O::padding, &O::output_padding, &O::dilation,
                           &O::groups);
  }
};
template <typename E>
struct Parameter<const PoolOptions<E>&> : ParameterOfOptions<PoolOptions<E>, E, E, bool, bool> {
  using O = PoolOptions<E>;
  static O get(const Frame& frame, size_t k) {
    return Parameter::read(frame, k, &O::stride, &O::padding, &O::count_include_pad, &O::ceil_mode);
  }
};

std::vector<Tensor> results(Tensor result) {
  std::vector<Tensor> list;
  list.push_back(std::move(result));
  return list;
}
std::vector<Tensor> results(std::vector<Tensor> list) { return list; }
std::vector<Tensor> results(TensorPair pair) {
  return {std::move(pair.first), std::move(pair.second)};
}
std::vector<Tensor> results(UniqueAll all) {
  return {std::move(all.values), std::move(all.indices), std::move(all.inverse_indices),
          std::move(all.counts)};
}

template <typename R, typename... P>
std::vector<Tensor> call_function(Thunk::Function function, const Frame& frame) {
  return [&]<size_t... k>(std::index_sequence<k...>) {
    return results(reinterpret_cast<R (*)(P...)>(function)(Parameter<P>::get(frame, k)...));
  }
  (std::index_sequence_for<P...>());
}

template <typename... P>
inline constexpr std::array<ParameterType, sizeof...(P)> kParameterTypes = {Parameter<P>::kType...};

template <typename R, typename... P>
Thunk thunk_of(R (*function)(P...)) {
  return {reinterpret_cast<Thunk::Function>(function), &call_function<R, P...>,
          kParameterTypes<P...>};
}

}  // namespace

// The functions as the rows declare them, never defined: their types choose the overloads.
namespace rows {
#define SLUICE_FUNCTION(result, name, parameters, ...) result name parameters;
#include "frontend/functions.def"
}  // namespace rows

Thunks make_thunks() {
  using Unary = Tensor (*)(const Tensor&, Location);
  using Binary = Tensor (*)(const Tensor&, const Tensor&, Location);
  using Ternary = Tensor (*)(const Operand&, const Operand&, const Operand&);
  using Reduction = Tensor (*)(Arg, const Axes&, bool);
  Thunks thunks;
#define SLUICE_TYPE_1 Unary
#define SLUICE_TYPE_2 Binary
#define SLUICE_TYPE_3 Ternary
#define SLUICE_POINTWISE_OP(id, name, arity, ...) \
  thunks[#name] = thunk_of(static_cast<SLUICE_TYPE_##arity>(&sluice::name));
#define SLUICE_REDUCTION_OP(id, name, ...) \
  thunks[#name] = thunk_of(static_cast<Reduction>(&sluice::name));
#define SLUICE_ARG_REDUCTION_OP SLUICE_REDUCTION_OP
#include "fusion/ir/ops.def"
#define SLUICE_ALIAS(arity, name, id, of) \
  thunks[#name] = thunk_of(static_cast<SLUICE_TYPE_##arity>(&sluice::name));
#define SLUICE_FUNCTION(result, name, ...) \
  thunks[#name] = thunk_of(static_cast<decltype(&rows::name)>(&sluice::name));
#include "frontend/functions.def"
  return thunks;
}

}  // namespace sluice::frontend
