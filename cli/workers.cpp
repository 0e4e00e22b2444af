#include "workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::cli {

int threads_for(int requested) { return requested > 0 ? requested : cpu().default_threads; }

void run_tasks(int threads, std::int64_t count, const std::function<worker()>& make_worker,
               const std::function<void()>& tick) {
  struct team {
    const std::function<worker()>& make_worker;
    const std::function<void()>& tick;
    std::int64_t count;
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<std::int64_t> next{0};
    std::mutex guard{};
    std::exception_ptr first_fault{};
  } all{make_worker, tick, count};
  const auto body = [](void* argument, int /*member*/) {
    team& mine = *static_cast<team*>(argument);
    try {  // an exception may not leave a task
      std::int64_t task = mine.next++;
      if (task >= mine.count) return;  // this member began after the others had taken all tasks
      for (const worker work = mine.make_worker(); task < mine.count; task = mine.next++) {
        work(task);
        if (std::this_thread::get_id() == mine.caller) mine.tick();
      }
    } catch (...) {
      const std::lock_guard lock(mine.guard);
      if (!mine.first_fault) mine.first_fault = std::current_exception();
      mine.next.store(mine.count);
    }
  };
  const auto members = static_cast<int>(std::clamp<std::int64_t>(count, 1, threads));
  const executor parallel = default_executor(members);
  parallel.run(parallel.context, members, body, &all);
  if (all.first_fault) std::rethrow_exception(all.first_fault);
}

}  // namespace cornerturn::cli
