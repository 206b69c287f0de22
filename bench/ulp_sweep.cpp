// Measures the error of the unary float32 functions of kernels/math over all 2^32 inputs:
//
//   ulp_sweep [--function NAME] [--stride N]
//
// Prints, for each function, the maximum error in units of the last place and an input with that
// error. Exit status: 0; 1 if an error exceeds the documented bound; 2 for wrong arguments.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/integers.h"
#include "tests/support/math_reference.h"

namespace {

using sluice::testing::kUnaryFunctions;
using sluice::testing::UnaryFunction;

struct Options {
  std::string_view function;  // empty: all of them
  int64_t stride = 1;
};

struct Worst {
  double ulp = -1;
  float input = 0;
  float output = 0;
};

constexpr int64_t kInputs = int64_t{1} << 32;
constexpr int64_t kChunk = 4096;

Worst sweep(const UnaryFunction& function, int64_t stride) {
  const int64_t count = sluice::ceil_div(kInputs, stride);
  const int64_t chunks = sluice::ceil_div(count, kChunk);
  Worst worst;
#pragma omp parallel
  {
    Worst mine;
    std::vector<float> in(kChunk), out(kChunk);
#pragma omp for schedule(dynamic, 16)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t begin = chunk * kChunk;
      const int64_t n = std::min(kChunk, count - begin);
      for (int64_t i = 0; i < n; ++i) {
        in[i] = std::bit_cast<float>(static_cast<uint32_t>((begin + i) * stride));
      }
      function.run(in.data(), out.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const double ulp = sluice::testing::ulp_error(out[i], function.reference(in[i]));
        if (ulp > mine.ulp) mine = {ulp, in[i], out[i]};
      }
    }
#pragma omp critical
    if (mine.ulp > worst.ulp) worst = mine;
  }
  return worst;
}

// Returns an error message, or an empty string.
std::string parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag != "--function" && flag != "--stride") return "unknown flag " + std::string(flag);
    if (++i == argc) return std::string(flag) + " needs a value";
    const std::string_view value = argv[i];
    if (flag == "--function") {
      const bool known = std::any_of(std::begin(kUnaryFunctions), std::end(kUnaryFunctions),
                                     [&](const UnaryFunction& f) { return f.name == value; });
      if (!known) return "no function is named " + std::string(value);
      options.function = value;
    } else {
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, options.stride);
      if (error != std::errc() || stop != end || options.stride < 1 || options.stride > kInputs) {
        return "--stride must be an integer from 1 to 2^32, not " + std::string(value);
      }
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string problem = parse(argc, argv, options); !problem.empty()) {
    std::fprintf(stderr, "ulp_sweep: %s (usage: ulp_sweep [--function NAME] [--stride N])\n",
                 problem.c_str());
    return 2;
  }
  bool good = true;
  for (const UnaryFunction& function : kUnaryFunctions) {
    if (!options.function.empty() && function.name != options.function) continue;
    const Worst worst = sweep(function, options.stride);
    good &= worst.ulp <= function.max_ulp;
    std::printf("%-10s  max %8.4f ulp (bound %.1f) at x = %.9g (%a), result %.9g\n",
                std::string(function.name).c_str(), worst.ulp, function.max_ulp, worst.input,
                worst.input, worst.output);
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
