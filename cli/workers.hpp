// A few threads that share a counter, and a calling thread that keeps the progress bar alive.
#pragma once

#include <atomic>
#include <functional>

namespace cornerturn::cli {

// Effect  calls body(stop) once on each of `threads` threads; meanwhile the calling thread calls tick() ten times a
//         second. A body that throws sets stop, which the others look at between two pieces of work.
// Errors  what the first body to fail threw, after all have ended
void run_workers(int threads, const std::function<void(std::atomic<bool>& stop)>& body,
                 const std::function<void()>& tick);

}  // namespace cornerturn::cli
