// dl_iterate_phdr() takes a lock of the loader. 8 threads that call at once take 3 us each, so the number is read once in each
// tick of the coarse clock, which takes some nanoseconds to read. fork() leaves that lock locked in the child if another
// thread holds it: it waits for the thread that calls here.
#include "base/loader.hpp"

#include <link.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace cornerturn::base {
namespace {

constinit std::mutex reading;
constinit std::atomic<std::int64_t> tick{-1};  // of `count`
constinit std::atomic<unsigned long long> count{0};

const int watches_forks = pthread_atfork([] { reading.lock(); }, [] { reading.unlock(); }, [] { reading.unlock(); });

std::int64_t tick_now() noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * std::int64_t{1000000000} + now.tv_nsec;
#else
  static std::atomic<std::int64_t> calls{0};
  return ++calls;
#endif
}

}  // namespace

unsigned long long libraries_loaded() noexcept {
  const std::int64_t now = tick_now();
  if (tick.load(std::memory_order_acquire) == now) return count.load(std::memory_order_relaxed);
  const std::unique_lock alone(reading, std::try_to_lock);
  if (!alone.owns_lock() && tick.load(std::memory_order_acquire) >= 0) return count.load(std::memory_order_relaxed);
  unsigned long long loads = 0;
  const auto read = [](dl_phdr_info* one, std::size_t, void* into) {
    *static_cast<unsigned long long*>(into) = one->dlpi_adds;
    return 1;  // the first library says it
  };
  dl_iterate_phdr(read, &loads);
  count.store(loads, std::memory_order_relaxed);
  tick.store(now, std::memory_order_release);
  return loads;
}

}  // namespace cornerturn::base
