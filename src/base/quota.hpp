// The CPU quota of this process's control group: a container of 2 CPUs on a host of 64 may run 2 threads at a time.
#pragma once

#include <string>

namespace cornerturn::base {

// Effect  returns the whole CPUs of the smallest quota of the process's control group and the groups around it, at least 1;
//         0: there is no quota. Versions 1 and 2 of control groups
// Shape   `root` replaces / for tests
[[nodiscard]] int cpu_quota(const std::string& root = "");

}  // namespace cornerturn::base
