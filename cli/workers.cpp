#include "workers.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "cornerturn/system.hpp"

namespace cornerturn::cli {

int threads_for(int requested) {
  return requested > 0 ? requested : std::clamp(omp_get_max_threads(), 1, std::max(1, cpu().threads));
}

void run_tasks(int threads, std::int64_t count, const std::function<worker()>& make_worker,
               const std::function<void()>& tick) {
  std::atomic<std::int64_t> next{0};
  std::mutex guard;
  std::exception_ptr first_fault;
  const int team = static_cast<int>(std::clamp<std::int64_t>(count, 1, threads));
#pragma omp parallel num_threads(team)
  {
    try {  // an exception may not leave the parallel region
      const worker work = make_worker();
      for (std::int64_t task = next++; task < count; task = next++) {
        work(task);
        if (omp_get_thread_num() == 0) tick();
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!first_fault) first_fault = std::current_exception();
      next.store(count);
    }
  }
  if (first_fault) std::rethrow_exception(first_fault);
}

}  // namespace cornerturn::cli
