#include "base/parallel.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>

namespace cornerturn::base {

// With OMP_PROC_BIND, OpenMP binds this thread to one core, so the mask has one bit. Without it, clang's runtime counts the
// cores of the program's start. A later mask may have fewer.
int hardware_threads() noexcept {
  cpu_set_t mask;
  if (omp_get_proc_bind() == omp_proc_bind_false && sched_getaffinity(0, sizeof mask, &mask) == 0) {
    return std::max(1, CPU_COUNT(&mask));
  }
  return std::max(1, omp_get_num_procs());
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
