#include "base/parallel.hpp"

#include <sched.h>

#include <algorithm>

#include "base/lazy.hpp"
#include "base/openmp.hpp"
#include "base/pool.hpp"
#include "base/quota.hpp"

namespace cornerturn::base {
namespace {

struct work {
  std::int64_t units;
  int tasks;
  unit_range body;
  void* argument;
};

// Task sizes differ by at most one unit.
void run_task(void* together, int task) {
  const work& all = *static_cast<const work*>(together);
  const std::int64_t size = all.units / all.tasks, larger = all.units % all.tasks;
  const std::int64_t begin = size * task + std::min<std::int64_t>(task, larger);
  all.body(all.argument, begin, begin + size + (task < larger ? 1 : 0));
}

}  // namespace

int hardware_threads() noexcept {
  constinit static lazy_number known;
  const int quota = known.get([] {
    try {
      return cpu_quota();
    } catch (...) {  // no memory for a path
      return 0;
    }
  });
  cpu_set_t mask;
  int cores = 1;
  if (openmp::places(mask) || sched_getaffinity(0, sizeof mask, &mask) == 0) cores = std::max(1, CPU_COUNT(&mask));
  return quota > 0 ? std::min(cores, quota) : cores;
}

int default_threads() noexcept {
  const int most = openmp::most_threads();
  return most > 0 ? std::min(most, hardware_threads()) : hardware_threads();
}

int threads_of_call(int asked) noexcept { return std::min(asked == 0 ? default_threads() : asked, most_threads); }

void parallel_for(const executor& parallel, int threads, std::int64_t units, unit_range body, void* argument) {
  if (units <= 0) return;
  threads = static_cast<int>(std::min<std::int64_t>(threads, units));
  if (threads <= 1) return body(argument, 0, units);
  const auto tasks = static_cast<int>(std::min<std::int64_t>(std::int64_t{ranges_per_thread} * threads, units));
  work all{units, tasks, body, argument};
  if (parallel.run != nullptr) return parallel.run(parallel.context, tasks, run_task, &all);
  run_on_pool(threads, tasks, run_task, &all);
}

}  // namespace cornerturn::base
