// How many cores this process may use.
#ifndef SLUICE_RUNTIME_CPU_CORES_H_
#define SLUICE_RUNTIME_CPU_CORES_H_

#include <string>

namespace sluice {

// The cores of the calling thread's affinity mask, at most the cgroup's limit rounded down; at
// least 1.
int available_cores();

// The limit of CPU time of the process's control group and those around it (cpu.max of version 2,
// cpu.cfs_quota_us of version 1), in cores; infinity if there is none. `root` is prepended to the
// paths of /proc and of the mounts.
double cgroup_cores(const std::string& root = "");

}  // namespace sluice

#endif  // SLUICE_RUNTIME_CPU_CORES_H_
