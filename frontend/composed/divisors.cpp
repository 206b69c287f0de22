// Common divisors and multiples: loops on integers, which are no expression that kernels could
// have.
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>

#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/record.h"
#include "frontend/registry/external.h"
#include "runtime/cpu/parallel.h"

namespace sluice {
namespace {

constexpr int64_t kGrain = 1 << 12;  // elements

template <typename T>
constexpr auto magnitude(T x) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(x < 0 ? U{0} - static_cast<U>(x) : static_cast<U>(x));
}

template <typename T>
T divisor(T x, T y) {
  return static_cast<T>(std::gcd(magnitude(x), magnitude(y)));
}
template <typename T>
T multiple(T x, T y) {
  const uint64_t a = magnitude(x), b = magnitude(y);
  return a == 0 || b == 0 ? T{0} : static_cast<T>(a / std::gcd(a, b) * b);
}

template <typename T, T (*f)(T, T)>
void run(const ExternalCall& call) {
  const auto x = call.inputs[0].span<T>(), y = call.inputs[1].span<T>();
  const auto result = call.output.span<T>();
  parallel_for(call.output.shape().numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      result[i] = f(x[i], y[i]);
    }
  });
}

// The same for a GPU, between a definition of `number` and one of `combined(a, b, divisor)`.
constexpr const char* kSource = R"(
typedef unsigned long long natural;
__device__ natural magnitude_of(number x) {
  return x < 0 ? natural(0) - natural(x) : natural(x);
}
__device__ void compute(const sluice_call& call, long long i) {
  const natural a = magnitude_of(sluice_at<number>(call, 0, i));
  const natural b = magnitude_of(sluice_at<number>(call, 1, i));
  natural x = a, y = b;
  while (y != 0) {
    const natural rest = x % y;
    x = y;
    y = rest;
  }
  ((number*)call.output)[i] = number(combined);
}
)";

template <typename T>
ExternalDefinition definition_of(const char* name, bool is_divisor) {
  constexpr const char* kTypes[] = {"char", "short", "int", "long long"};
  const std::string type = absl::StrCat(std::is_signed_v<T> ? "signed " : "unsigned ",
                                        kTypes[std::countr_zero(sizeof(T))]);
  return {.name = name,
          .result = [](std::span<const TensorSpec> inputs, const Attributes&) { return inputs[0]; },
          .run = is_divisor ? &run<T, divisor<T>> : &run<T, multiple<T>>,
          .cuda_source =
              absl::StrCat("typedef ", type, " number;\n#define combined ",
                           is_divisor ? "x" : "(a == 0 || b == 0 ? 0 : a / x * b)", kSource)};
}

// By dtype; null where there is none.
using Definitions = std::array<std::shared_ptr<const ExternalDefinition>, kNumDTypes>;
Definitions make_definitions(const char* name, bool is_divisor) {
  Definitions result;
  for (int k = 0; k < kNumDTypes; ++k) {
    const auto dtype = static_cast<DType>(k);
    if (!is_integer(dtype)) continue;
    visit_dtype(dtype, [&]<typename T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        result[static_cast<size_t>(k)] =
            std::make_shared<const ExternalDefinition>(definition_of<T>(name, is_divisor));
      }
    });
  }
  return result;
}

Tensor of_integers(const char* name, const Definitions& definitions, const Operand& x,
                   const Operand& y) {
  return frontend::composed(x, y, name, [&](const Tensor& a, const Tensor& b) {
    frontend::common_device(name, a, b);
    const DType dtype = promote(a.dtype(), b.dtype());
    if (!is_integer(dtype)) {
      frontend::fail(name, "takes integers, not ", frontend::describe(a), " and ",
                     frontend::describe(b));
    }
    const std::vector<Tensor> both = broadcast_arrays({astype(a, dtype), astype(b, dtype)});
    return frontend::call_external({op(name), definitions[static_cast<size_t>(dtype)]}, both, {},
                                   x.where());
  });
}

}  // namespace

Tensor gcd(const Operand& x, const Operand& y) {
  static const auto* const definitions = new Definitions(make_definitions("gcd", true));
  return of_integers("gcd", *definitions, x, y);
}

Tensor lcm(const Operand& x, const Operand& y) {
  static const auto* const definitions = new Definitions(make_definitions("lcm", false));
  return of_integers("lcm", *definitions, x, y);
}

}  // namespace sluice
