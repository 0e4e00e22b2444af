#include "base/parallel.hpp"

#include <omp.h>

#include <algorithm>

namespace cornerturn::base {

// OpenMP counts them: with OMP_PROC_BIND it binds this thread to one core, and the affinity mask has one bit only.
int hardware_threads() noexcept { return std::max(1, omp_get_num_procs()); }

int default_threads() noexcept { return std::clamp(omp_get_max_threads(), 1, hardware_threads()); }

void parallel_for(const executor& parallel, int tasks, void (*body)(void* argument, int task), void* argument) {
  if (tasks <= 0) return;
  if (tasks == 1) return body(argument, 0);
  if (parallel.run != nullptr) return parallel.run(parallel.context, tasks, body, argument);
#pragma omp parallel for schedule(static, 1) num_threads(tasks)
  for (int task = 0; task < tasks; ++task) body(argument, task);
}

}  // namespace cornerturn::base
