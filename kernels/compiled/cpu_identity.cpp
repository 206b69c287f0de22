#include "kernels/compiled/cpu_identity.h"

#include "absl/strings/str_cat.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#else
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#endif

namespace sluice::kernels {
namespace {

#if defined(__x86_64__)

constexpr unsigned kEax = 1, kEbx = 2, kEcx = 4, kEdx = 8;

// The leaves that LLVM reads (llvm/TargetParser/Host.cpp). The other registers differ between the
// cores of a machine, or say nothing of instructions.
struct Leaf {
  unsigned leaf, subleaf, registers;
};
constexpr Leaf kLeaves[] = {
    {0, 0, kEbx | kEcx | kEdx},
    {1, 0, kEax | kEcx | kEdx},
    {7, 0, kEbx | kEcx | kEdx},
    {7, 1, kEax | kEbx | kEcx | kEdx},
    {0xd, 1, kEax},
    {0x14, 0, kEbx},
    {0x19, 0, kEbx},
    {0x1e, 1, kEax},
    {0x24, 0, kEbx},
    {0x80000001, 0, kEcx | kEdx},
    {0x80000008, 0, kEbx},
};

std::string identity() {
  std::string result = "x86-64";
  for (const Leaf& leaf : kLeaves) {
    unsigned values[4] = {};
    __get_cpuid_count(leaf.leaf, leaf.subleaf, &values[0], &values[1], &values[2], &values[3]);
    for (int i = 0; i < 4; ++i) {
      if ((leaf.registers >> i & 1) != 0) absl::StrAppend(&result, " ", absl::Hex(values[i]));
    }
  }
  // Which registers the system keeps.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_OSXSAVE) != 0) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    absl::StrAppend(&result, " ", absl::Hex(low));
  }
  return result;
}

#else

// The lines that tell models and instructions, of all cores.
std::string identity() {
  std::set<std::string> lines;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (const char* const name :
         {"Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part"}) {
      if (absl::StartsWith(line, name)) lines.insert(line);
    }
  }
  return absl::StrJoin(lines, ", ");
}

#endif

}  // namespace

const std::string& cpu_identity() {
  static const std::string& result = *new std::string(identity());
  return result;
}

}  // namespace sluice::kernels
