// The one function through which the library starts parallel work.
#pragma once

#include "cornerturn/plan.hpp"

namespace cornerturn::base {

// Returns the hardware threads in this process's affinity mask, at least 1.
[[nodiscard]] int hardware_threads() noexcept;

// Returns hardware_threads(), or fewer if OMP_NUM_THREADS or omp_set_num_threads() sets a smaller limit.
[[nodiscard]] int default_threads() noexcept;

// Effect  calls body(argument, task) once for each task in [0, tasks), and returns after all these calls.
//         A null executor.run selects an OpenMP team; a single task runs in the caller's thread.
void parallel_for(const executor& parallel, int tasks, void (*body)(void* argument, int task), void* argument);

}  // namespace cornerturn::base
