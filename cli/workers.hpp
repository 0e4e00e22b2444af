// Worker threads, and a calling thread that updates the progress bar.
#pragma once

#include <atomic>
#include <functional>

namespace cornerturn::cli {

// Effect  calls body(stop) once on each of `threads` threads. Meanwhile the calling thread calls tick() ten times a
//         second. An exception in a body sets stop; the other bodies check it between two tasks.
// Errors  rethrows the exception of the first body that failed, after all threads have ended
void run_workers(int threads, const std::function<void(std::atomic<bool>& stop)>& body,
                 const std::function<void()>& tick);

}  // namespace cornerturn::cli
