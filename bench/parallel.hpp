// Loops of the bench on the library's own threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cornerturn/plan.hpp"

namespace cornerturn::bench {

// Effect  calls body(task) for each task in [0, tasks) on at most `threads` threads; 0: all
template <class Body>
void parallel_tasks(int threads, int tasks, const Body& body) {
  const executor all = default_executor(threads);
  all.run(
      all.context, tasks, [](void* argument, int task) { (*static_cast<const Body*>(argument))(task); },
      const_cast<Body*>(&body));
}

// Effect  calls body(begin, end) for ranges of at most `size` that cover [0, count), on all threads
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t size, const Body& body) {
  // A task is a number of type int.
  size = std::max(size, count / (1 << 30) + 1);
  parallel_tasks(0, static_cast<int>((count + size - 1) / size),
                 [&](int task) { body(task * size, std::min(count, (task + 1) * size)); });
}

}  // namespace cornerturn::bench
