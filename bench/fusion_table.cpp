// Runs every fused program once and prints its costs beside their limits.
#include <cstdio>
#include <string>
#include <string_view>

#include <sluice/sluice.h>
#include "workloads/fused_programs.h"

namespace {

using sluice::Stats;
using sluice::Tensor;
using sluice::workloads::FusedProgram;
using sluice::workloads::Size;

constexpr double kMaxRatio = 1.10;

constexpr const char* kUsage =
    "usage: fusion_table [--small]\n"
    "Runs every fused program once, on some millions of elements, and prints for each:\n"
    "  ops      recorded\n"
    "  kernels  launched, and how many there may be\n"
    "  library  calls, and how many there should be\n"
    "  bytes    read and written by kernels and library calls, as stats() counts them\n"
    "  least    bytes that so many kernels have to read and write\n"
    "  elided   temporaries that never had memory\n"
    "A row with more kernels, other library calls or more than 1.10 times the least bytes is\n"
    "marked '!'; the exit code is 1 if there is one.\n"
    "  --small  on a few thousand elements\n"
    "  --help   prints this\n";

struct Cost {
  int64_t ops, kernels, library_calls, bytes, least_bytes, elided;
  double ratio() const { return static_cast<double>(bytes) / static_cast<double>(least_bytes); }
};

Cost cost_of(const FusedProgram& program, Size size) {
  const std::vector<Tensor> inputs = program.make_inputs(size);
  const Stats before = sluice::stats();
  const std::vector<Tensor> outputs = program.run(inputs);
  sluice::sync();
  const Stats after = sluice::stats();
  return {
      .ops = after.ops_recorded - before.ops_recorded,
      .kernels = after.kernels_launched - before.kernels_launched,
      .library_calls = after.library_calls - before.library_calls,
      .bytes = after.bytes_read - before.bytes_read + after.bytes_written - before.bytes_written,
      .least_bytes = program.least_bytes(inputs, outputs),
      .elided = after.temporaries_elided - before.temporaries_elided};
}

bool print_row(const FusedProgram& program, const Cost& cost) {
  const bool good = cost.kernels <= program.kernels &&
                    cost.library_calls == program.library_calls && cost.ratio() <= kMaxRatio;
  const auto count_of = [](int64_t count, int64_t bound) {
    return std::to_string(count) + " (" + std::to_string(bound) + ")";
  };
  std::printf("%c %-40s %5lld %8s %8s %13lld %13lld %6.2f %7lld\n", good ? ' ' : '!',
              program.name.c_str(), static_cast<long long>(cost.ops),
              count_of(cost.kernels, program.kernels).c_str(),
              count_of(cost.library_calls, program.library_calls).c_str(),
              static_cast<long long>(cost.bytes), static_cast<long long>(cost.least_bytes),
              cost.ratio(), static_cast<long long>(cost.elided));
  std::fflush(stdout);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Size size = Size::kLarge;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument != "--small") {
      std::fprintf(stderr, "fusion_table: unknown argument '%s' (see fusion_table --help)\n",
                   argv[i]);
      return 2;
    }
    size = Size::kSmall;
  }
  std::printf("  %-40s %5s %8s %8s %13s %13s %6s %7s\n", "program", "ops", "kernels", "library",
              "bytes", "least", "ratio", "elided");
  bool good = true;
  for (const FusedProgram& program : sluice::workloads::fused_programs()) {
    good &= print_row(program, cost_of(program, size));
  }
  return good ? 0 : 1;
}
