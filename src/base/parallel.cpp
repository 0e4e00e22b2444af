#include "base/parallel.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace cornerturn::base {

int hardware_threads() noexcept {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_threads() noexcept { return std::clamp(omp_get_max_threads(), 1, hardware_threads()); }

void parallel_for(const executor& parallel, int tasks, void (*body)(void* argument, int task), void* argument) {
  if (tasks <= 0) return;
  if (tasks == 1) return body(argument, 0);
  if (parallel.run != nullptr) return parallel.run(parallel.context, tasks, body, argument);
#pragma omp parallel for schedule(static, 1) num_threads(tasks)
  for (int task = 0; task < tasks; ++task) body(argument, task);
}

}  // namespace cornerturn::base
