// The clock of the speed tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace cornerturn::testing {

inline double seconds(const auto& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

// CORNERTURN_PERF_THREADS; 1 is the default.
inline int threads_to_measure() {
  const char* const wanted = std::getenv("CORNERTURN_PERF_THREADS");
  return wanted == nullptr ? 1 : std::atoi(wanted);
}

}  // namespace cornerturn::testing
