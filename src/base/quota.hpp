// The limits of this process's control group: a container of 2 CPUs on a host of 64 may run 2 threads at a time.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::base {

// Effect  returns the whole CPUs of the smallest quota of the process's control group and the groups around it, at least 1;
//         0: there is no quota. Versions 1 and 2 of control groups
// Shape   `root` replaces / for tests
[[nodiscard]] int cpu_quota(const std::string& root = "");

// Effect  returns the bytes that the process can still allocate: MemAvailable, and at most the rest of the limits of its control
//         group and the groups around it
[[nodiscard]] std::int64_t available_memory(const std::string& root = "");

}  // namespace cornerturn::base
