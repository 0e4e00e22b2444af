// The one function through which the library starts parallel work.
#pragma once

#include "cornerturn/plan.hpp"

namespace cornerturn::base {

// Hardware threads that this process may run on (its affinity mask), at least 1.
[[nodiscard]] int hardware_threads() noexcept;

// The same, or fewer where OpenMP was told so: OMP_NUM_THREADS, omp_set_num_threads().
[[nodiscard]] int default_threads() noexcept;

// Effect  body(argument, task) once for each task in [0, tasks); returns when all have returned.
//         A null executor.run means an OpenMP team; one task runs in the caller's thread.
void parallel_for(const executor& parallel, int tasks, void (*body)(void* argument, int task), void* argument);

}  // namespace cornerturn::base
