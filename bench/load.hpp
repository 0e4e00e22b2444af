// The load of other processes during the measurement: another process on one core halves a two-thread result.
#pragma once

#include <chrono>

namespace cornerturn::bench {

class load_watch {
 public:
  load_watch();

  // Effect  returns the average number of CPUs that other processes kept busy since construction, with the hypervisor's
  //         stolen time if it reports that. -1: the system does not report its load
  [[nodiscard]] double other_cpus() const;

 private:
  double machine_seconds_;
  double own_seconds_;
  std::chrono::steady_clock::time_point begin_;
};

inline constexpr double busy_limit = 0.15;  // CPUs; the table marks larger loads: 7 % of a 2-core machine

}  // namespace cornerturn::bench
