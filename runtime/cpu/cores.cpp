#include "runtime/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool contains(absl::string_view list, absl::string_view name) {
  const std::vector<absl::string_view> names = absl::StrSplit(list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

double ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

// The limit of one group.
double limit_of(const std::string& folder, bool version_2) {
  double quota = 0, period = 0;
  if (version_2) {
    std::ifstream file(folder + "/cpu.max");  // "max 100000", or microseconds for "max"
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: no limit
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return ratio(quota, period);
}

// The process's group in the hierarchy that limits CPU time, as /proc/self/cgroup names it.
std::string group_of(const std::string& root, bool version_2) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (version_2 ? fields[1].empty() : contains(fields[1], "cpu")) return fields[2];
  }
  return "/";
}

}  // namespace

double cgroup_cores(const std::string& root) {
  double limit = kNoLimit;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // id parent device root mount-point options [optional fields] - type source super-options
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> mount = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> system = absl::StrSplit(halves[1], ' ');
    if (mount.size() < 5 || system.size() < 3) continue;
    const bool version_2 = system[0] == "cgroup2";
    if (!version_2 && !(system[0] == "cgroup" && contains(system[2], "cpu"))) continue;
    // In a container the group may be named as the host sees it, and the mount begin there.
    const std::string group = group_of(root, version_2);
    absl::string_view below = group;
    if (mount[3] != "/" && !absl::ConsumePrefix(&below, mount[3])) below = "";
    const std::string top = root + mount[4];
    std::string folder = top + std::string(absl::StripSuffix(below, "/"));
    while (true) {
      limit = std::min(limit, limit_of(folder, version_2));
      if (folder.size() <= top.size()) break;
      folder.resize(std::max(top.size(), folder.rfind('/')));
    }
  }
  return limit;
}

int available_cores() {
  cpu_set_t mask;
  double cores = std::thread::hardware_concurrency();
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) cores = CPU_COUNT(&mask);
  return static_cast<int>(std::max(1.0, std::min(cores, std::floor(cgroup_cores()))));
}

}  // namespace sluice
