// The plans of the one-line calls. All threads share one store of plans, and each thread keeps the plans that it used last:
//   1. a thread's own plans: a hit costs a hash and a comparison, no lock and no shared counter
//   2. the store: sets of plans, each with its own lock. The least recently used plan of a set leaves for a new one
//   3. a plan that no one has is made outside of the locks
// The store lives until the process ends, and a thread's own plans until its thread_local variables are destroyed. Later calls of
// the thread, such as out of an atexit() handler or the destructor of a pthread key, use the store alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "api/plan_state.hpp"

namespace cornerturn::api {

// All that selects a plan.
struct plan_key {
  const problem& what;
  cornerturn::device device = cornerturn::device::automatic;
  int threads = 0;  // 0: the default of the caller's thread
  bool measure = false;
};

// A plan in the cache.
struct cached_plan {
  cached_plan(const plan_key& key, std::uint64_t hash_of_key, std::uint64_t generation_of_tuning);

  // Whether the key asks for this plan, but for the number of threads.
  [[nodiscard]] bool solves(const plan_key& key, std::uint64_t generation_now) const noexcept;

  std::uint64_t hash;
  std::uint64_t generation;  // of the results of tune(): it may have found a faster kernel since
  cornerturn::device device;
  int threads;
  bool measure;
  mutable std::atomic<bool> used{true};  // since the store last looked for a plan to drop
  detail::plan_state state;
};

// A plan for one call. It is valid until the next find_plan() of this thread, and as long as this object lives.
class held_plan {
 public:
  explicit held_plan(const cached_plan& kept_by_the_thread) noexcept : plan_(&kept_by_the_thread) {}
  explicit held_plan(std::shared_ptr<const cached_plan> owner) noexcept
      : owner_(std::move(owner)), plan_(owner_.get()) {}
  [[nodiscard]] const detail::plan_state& operator*() const noexcept { return plan_->state; }
  [[nodiscard]] const detail::plan_state* operator->() const noexcept { return &plan_->state; }

 private:
  std::shared_ptr<const cached_plan> owner_;
  const cached_plan* plan_;
};

// Effect  finds or makes the plan
// Errors  as plan::plan
[[nodiscard]] held_plan find_plan(const plan_key& key);

// The limits of the store. A plan takes about 6 KiB, 9 KiB more once it has kernels for a GPU, and up to 25 KiB more if it
// measures itself.
inline constexpr int cache_sets = 64;
inline constexpr int plans_of_set = 32;
inline constexpr std::int64_t cache_bytes = 16 << 20;

struct cache_use {
  std::int64_t plans = 0;
  std::int64_t bytes = 0;
  std::int64_t made = 0;  // plans that were added so far
};
[[nodiscard]] cache_use use_of_cache() noexcept;

}  // namespace cornerturn::api
