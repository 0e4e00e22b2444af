// The library's own threads. Nothing else in it starts a thread, but file/engine.cpp, whose threads wait for a disk.
#pragma once

namespace cornerturn::base {

// Effect  calls body(argument, task) once for each task in [0, tasks), on the caller's thread and on at most threads - 1
//         helpers, and returns after all these calls. The caller blocks only for tasks that helpers have begun
// Shape   fewer helpers take part while other callers use them, in an OpenMP parallel region, and if the system refuses to
//         start threads. A child of fork() starts helpers of its own
void run_on_pool(int threads, int tasks, void (*body)(void* argument, int task), void* argument);

// Effect  starts the helpers for `threads` threads, unless they run
// Returns the threads that a call can use, its own included; fewer than `threads` if the system refused
int start_pool(int threads) noexcept;

// For tests: true makes the system appear to refuse new threads.
void refuse_threads(bool refused) noexcept;

}  // namespace cornerturn::base
