#include "api/plan_cache.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "api/problem_hash.hpp"
#include "api/tuned.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::api {
namespace {

std::uint64_t hash_of(const plan_key& key) noexcept {
  hash_sum sum;
  sum.add(api::hash_of(key.what), static_cast<std::uint64_t>(key.device) << 32 ^ std::uint64_t{key.measure} << 40 ^
                                      static_cast<std::uint32_t>(key.threads));
  return sum.value();
}

// 1. A thread's own plans, in sets of two: a new plan replaces the second one, a hit of the second one swaps them. 500 shapes
// at random fill a third of the places; of 8 threads with them, a tenth of the calls needs the store.
class own_plans {
 public:
  [[nodiscard]] const cached_plan* find(const plan_key& key, std::uint64_t hash, std::uint64_t generation) noexcept {
    auto& [first, second] = sets_[hash % sets_.size()];
    if (first.is_for(key, hash, generation)) return first.plan.get();
    if (!second.is_for(key, hash, generation)) return nullptr;
    std::swap(first, second);
    return first.plan.get();
  }
  const cached_plan& keep(const plan_key& key, std::uint64_t hash, std::shared_ptr<const cached_plan> plan) noexcept {
    auto& [first, second] = sets_[hash % sets_.size()];
    second = std::move(first);
    first = {hash, key.threads, std::move(plan)};
    return *first.plan;
  }

 private:
  struct place {
    std::uint64_t hash = 0;
    int threads = 0;  // as the caller asked: 0 stands for the default of this thread when it first asked
    std::shared_ptr<const cached_plan> plan;

    [[nodiscard]] bool is_for(const plan_key& key, std::uint64_t hash_of_key, std::uint64_t generation) const noexcept {
      return hash == hash_of_key && plan != nullptr && threads == key.threads && plan->solves(key, generation);
    }
  };
  std::array<std::array<place, 2>, 256> sets_;
};

// Trivial variables: they may be read until the thread's last instruction.
constinit thread_local own_plans* mine = nullptr;
constinit thread_local bool is_ending = false;

struct thread_end {
  ~thread_end() {
    is_ending = true;
    delete mine;
    mine = nullptr;
  }
};

// Null: this thread is ending, or there is no memory.
own_plans* plans_of_thread() noexcept {
  if (mine != nullptr || is_ending) return mine;
  static thread_local const thread_end destroyed_with_the_thread;
  static_cast<void>(destroyed_with_the_thread);
  return mine = new (std::nothrow) own_plans;
}

// 2. The store.

struct alignas(64) plan_set {
  std::mutex lock;
  int count = 0;
  std::int64_t made = 0;
  std::uint64_t time = 0;                               // counts the calls that found or added a plan
  std::array<std::uint64_t, plans_of_set> hashes{};     // the first `count` of them
  std::array<std::uint64_t, plans_of_set> last_used{};  // at this time
  std::array<std::shared_ptr<const cached_plan>, plans_of_set> plans;

  // These functions need the lock.
  [[nodiscard]] std::shared_ptr<const cached_plan> find(const plan_key& key, std::uint64_t hash,
                                                        std::uint64_t generation) noexcept {
    for (std::size_t k = 0; k < size(); ++k) {
      if (hashes[k] != hash || plans[k]->threads != key.threads || !plans[k]->solves(key, generation)) continue;
      last_used[k] = ++time;
      return plans[k];
    }
    return nullptr;
  }

  // Requires  a free place
  void add(std::shared_ptr<const cached_plan> plan) noexcept {
    const std::size_t k = size();
    hashes[k] = plan->hash;
    last_used[k] = ++time;
    plans[k] = std::move(plan);
    ++count;
    ++made;
  }

  // The plan that was used longest ago. Threads that have a plan of their own do not come here, but mark it.
  std::shared_ptr<const cached_plan> take_oldest() noexcept {
    std::size_t oldest = 0;
    for (std::size_t k = 0; k < size(); ++k) {
      if (plans[k]->used.exchange(false, std::memory_order_relaxed)) last_used[k] = ++time;
      if (last_used[k] < last_used[oldest]) oldest = k;
    }
    const std::size_t last = size() - 1;
    std::shared_ptr<const cached_plan> taken = std::move(plans[oldest]);
    plans[oldest] = std::move(plans[last]);
    hashes[oldest] = hashes[last];
    last_used[oldest] = last_used[last];
    plans[last] = nullptr;
    --count;
    return taken;
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(count); }
  [[nodiscard]] std::int64_t bytes() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < size(); ++k) sum += plans[k]->state.bytes();
    return sum;
  }
};

class plan_store {
 public:
  [[nodiscard]] std::shared_ptr<const cached_plan> find(const plan_key& key, std::uint64_t hash,
                                                        std::uint64_t generation) noexcept {
    plan_set& set = set_of(hash);
    const std::lock_guard locked(set.lock);
    return set.find(key, hash, generation);
  }

  // Returns  `fresh`, or an equal plan that another thread has added
  [[nodiscard]] std::shared_ptr<const cached_plan> add(const plan_key& key,
                                                       std::shared_ptr<const cached_plan> fresh) noexcept {
    // Destroyed without the lock: a plan for a GPU frees much memory.
    std::array<std::shared_ptr<const cached_plan>, plans_of_set> dropped;
    std::size_t count = 0;
    plan_set& set = set_of(fresh->hash);
    const std::lock_guard locked(set.lock);
    if (auto known = set.find(key, fresh->hash, fresh->generation); known != nullptr) return known;
    std::int64_t bytes = set.bytes() + fresh->state.bytes();
    while (set.count > 0 && (set.count == plans_of_set || bytes > cache_bytes / cache_sets)) {
      dropped[count] = set.take_oldest();
      bytes -= dropped[count++]->state.bytes();
    }
    set.add(fresh);
    return fresh;
  }

  [[nodiscard]] cache_use use() noexcept {
    cache_use sum;
    for (plan_set& set : sets_) {
      const std::lock_guard locked(set.lock);
      sum.plans += set.count;
      sum.bytes += set.bytes();
      sum.made += set.made;
    }
    return sum;
  }

  void clear() noexcept {
    for (plan_set& set : sets_) {
      std::array<std::shared_ptr<const cached_plan>, plans_of_set> dropped;
      const std::lock_guard locked(set.lock);
      dropped.swap(set.plans);
      set.count = 0;
    }
  }

  void lock() noexcept {
    for (plan_set& set : sets_) set.lock.lock();
  }
  void unlock() noexcept {
    for (plan_set& set : sets_) set.lock.unlock();
  }

 private:
  plan_set& set_of(std::uint64_t hash) noexcept { return sets_[hash / 256 % cache_sets]; }

  std::array<plan_set, cache_sets> sets_;
};

// Never destroyed: a thread may call the library while exit() runs, and after it.
union immortal_store {
  constexpr immortal_store() noexcept : store() {}
  ~immortal_store() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
  plan_store store;
};
constinit immortal_store plans;

// Frees the plans when the library is unloaded, and at exit. The empty store still works.
struct library_end {
  ~library_end() { plans.store.clear(); }
};
const library_end frees_plans;

// A child of fork() has one thread. No other thread may hold a lock while its memory is copied.
const int watches_forks =
    pthread_atfork([] { plans.store.lock(); }, [] { plans.store.unlock(); }, [] { plans.store.unlock(); });

}  // namespace

cached_plan::cached_plan(const plan_key& key, std::uint64_t hash_of_key, std::uint64_t generation_of_tuning)
    : hash(hash_of_key),
      generation(generation_of_tuning),
      device(key.device),
      threads(key.threads),
      measure(key.measure),
      state(key.what, {.device = key.device, .threads = key.threads, .measure = key.measure}) {}

bool cached_plan::solves(const plan_key& key, std::uint64_t generation_now) const noexcept {
  return generation == generation_now && device == key.device && measure == key.measure &&
         is_same(state.what(), key.what);
}

held_plan find_plan(const plan_key& key) {
  const std::uint64_t hash = hash_of(key);
  const std::uint64_t generation = tuned_generation();
  own_plans* const own = plans_of_thread();
  if (const cached_plan* const known = own == nullptr ? nullptr : own->find(key, hash, generation)) {
    if (!known->used.load(std::memory_order_relaxed)) known->used.store(true, std::memory_order_relaxed);
    return held_plan(*known);
  }
  // The default depends on the thread: its affinity, and omp_set_num_threads().
  plan_key shared = key;
  if (key.threads == 0 && !api::is_gpu(key.device)) shared.threads = base::default_threads();
  const std::uint64_t hash_of_shared = hash_of(shared);
  std::shared_ptr<const cached_plan> found = plans.store.find(shared, hash_of_shared, generation);
  if (found == nullptr) {
    try {
      found = plans.store.add(shared, std::make_shared<const cached_plan>(shared, hash_of_shared, generation));  // 3.
    } catch (const std::bad_alloc&) {
      throw error(status::out_of_memory, "no memory for a plan");
    }
  }
  return own == nullptr ? held_plan(std::move(found)) : held_plan(own->keep(key, hash, std::move(found)));
}

cache_use use_of_cache() noexcept { return plans.store.use(); }

}  // namespace cornerturn::api
