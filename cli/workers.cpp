#include "workers.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cornerturn::cli {

void run_workers(int threads, const std::function<void(std::atomic<bool>& stop)>& body,
                 const std::function<void()>& tick) {
  using namespace std::chrono_literals;
  std::mutex guard;
  std::condition_variable ended;
  std::exception_ptr first_fault;
  std::atomic<bool> stop{false};
  int running = threads;
  std::vector<std::jthread> team;
  const auto work = [&] {
    std::exception_ptr fault;
    try {
      body(stop);
    } catch (...) {
      fault = std::current_exception();
      stop.store(true);
    }
    const std::lock_guard lock(guard);
    if (fault && !first_fault) first_fault = fault;
    --running;
    ended.notify_one();
  };
  team.reserve(static_cast<std::size_t>(threads));
  for (int k = 0; k < threads; ++k) {
    try {
      team.emplace_back(work);
    } catch (const std::system_error&) {
      if (k == 0) throw;  // fewer threads than requested are enough, but not zero
      const std::lock_guard lock(guard);
      running -= threads - k;
      break;
    }
  }
  {
    std::unique_lock lock(guard);
    while (running > 0) {
      if (!ended.wait_for(lock, 100ms, [&] { return running == 0; })) {
        lock.unlock();
        tick();
        lock.lock();
      }
    }
  }
  team.clear();
  if (first_fault) std::rethrow_exception(first_fault);
}

}  // namespace cornerturn::cli
