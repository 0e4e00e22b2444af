// The command runs its tasks on the library's threads.
#pragma once

#include <cstdint>
#include <functional>

namespace cornerturn::cli {

// Effect  returns `requested`, or for 0 the threads of a call of the library
[[nodiscard]] int threads_for(int requested);

// A team executes tasks 0, 1, ... count - 1. make_worker() is called once on each thread; its result executes one task.
using worker = std::function<void(std::int64_t task)>;

// Effect  executes `count` tasks on at most `threads` threads, each on the next free thread. The calling thread works too,
//         and calls tick() after each of its tasks
// Errors  rethrows the first exception of a task. The tasks that have not begun by then are left out
void run_tasks(int threads, std::int64_t count, const std::function<worker()>& make_worker,
               const std::function<void()>& tick);

}  // namespace cornerturn::cli
