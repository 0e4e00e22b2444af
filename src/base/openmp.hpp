// Asks the OpenMP runtime of the program, if it has one. The library itself uses none.
#pragma once

#include <sched.h>

namespace cornerturn::base::openmp {

// Whether the caller's thread is one of an OpenMP team, whose other threads may call too.
[[nodiscard]] bool in_parallel() noexcept;

// Returns omp_get_max_threads(), or without a runtime the number in OMP_NUM_THREADS. 0: there is no limit.
[[nodiscard]] int most_threads() noexcept;

// Effect  writes the cores of all places, if OMP_PROC_BIND binds the threads of the program
// Returns false, without a write, if it does not. Then the affinity mask of the caller's thread counts
[[nodiscard]] bool places(cpu_set_t& cores) noexcept;

}  // namespace cornerturn::base::openmp
