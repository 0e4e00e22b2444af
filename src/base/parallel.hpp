// The one function through which the library starts parallel work.
#pragma once

#include <cstdint>

#include "cornerturn/plan.hpp"

namespace cornerturn::base {

// Returns the cores that this thread may use: its affinity mask or the places of OMP_PROC_BIND, and at most the CPU quota of
// the process's control group. At least 1.
[[nodiscard]] int hardware_threads() noexcept;

// Returns hardware_threads(), or fewer if OMP_NUM_THREADS or omp_set_num_threads() sets a smaller limit.
[[nodiscard]] int default_threads() noexcept;

// More threads than a call can have are taken for this many.
inline constexpr int most_threads = 1024;

// Returns the threads of a call for which the caller asked for so many. 0: default_threads().
[[nodiscard]] int threads_of_call(int asked) noexcept;

// With one of 16 cores busy, 4 ranges a thread leave a range in 60 unbalanced. A range of the smallest parallel call takes a
// few microseconds.
inline constexpr int ranges_per_thread = 4;

// The work of one task: the units [begin, end).
using unit_range = void (*)(void* argument, std::int64_t begin, std::int64_t end);

// Effect  calls body for consecutive ranges that cover the units [0, units), on at most `threads` threads at a time, and
//         returns after all these calls. There are more ranges than threads, so that a thread on a busy core takes fewer
// Shape   a null executor.run selects the library's own pool. One thread, or one unit: one call in the caller's thread
void parallel_for(const executor& parallel, int threads, std::int64_t units, unit_range body, void* argument);

}  // namespace cornerturn::base
