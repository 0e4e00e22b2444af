// How busy others kept this machine while we measured: a stranger on a core halves a two-thread result.
#pragma once

#include <chrono>

namespace cornerturn::bench {

class load_watch {
 public:
  load_watch();

  // Effect  CPUs that other processes (and the hypervisor, where it says so) kept busy since construction, on average;
  //         -1 where the system does not tell
  [[nodiscard]] double other_cpus() const;

 private:
  double machine_seconds_;
  double own_seconds_;
  std::chrono::steady_clock::time_point begin_;
};

inline constexpr double busy_limit = 0.15;  // more than this is marked in the table: 7 % of a 2-core machine

}  // namespace cornerturn::bench
