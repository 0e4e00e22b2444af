// A pool of threads. A call waits for units of work, not for threads.
//
//   1. a caller posts its job in a free slot. Each thread of the job has a queue: its share of the tasks
//   2. a thread claims the tasks of its own queue, then tasks of other queues. So a loop of calls finds its data in the caches of
//      the same cores, and a helper that comes late, or never, delays no call: others take its tasks
//   3. the caller returns when all tasks are done. It spins briefly for the tasks that helpers have begun, then sleeps
//   4. an idle helper spins, then sleeps until somebody wakes it. While c callers work on n cores, the first n - c helpers may
//      help, so that no core has two threads. Each helper that joins a job wakes two more: no thread makes all system calls
//   5. helpers are started by the first calls that want them. They run until the process ends: the library stays loaded
//      after dlclose(). A child of fork() has none and starts its own
//
// All state is static and has no destructor, so calls from exit handlers and from destructors of threads work.
// A slot is used again and again. A queue holds the generation of its job beside its first unclaimed task. A new job closes
// the queues before it changes the slot: a helper that read members of two jobs fails to claim.
#include "base/pool.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "base/openmp.hpp"
#include "base/parallel.hpp"

namespace cornerturn::base {
namespace {

using body_function = void (*)(void* argument, int task);

constexpr int most_helpers = most_threads - 1;
constexpr int most_queues = 64;        // more threads share queues
constexpr std::size_t most_jobs = 16;  // a caller without a free slot works alone

// Long enough for the gap between two calls of a loop, short enough to leave the core to others.
constexpr std::chrono::microseconds helper_spins{100};
constexpr std::chrono::microseconds caller_spins{50};

// A generation is in the upper half of a word, a number in the lower half.
constexpr std::uint64_t generation_one = std::uint64_t{1} << 32;
constexpr std::uint64_t low_half = generation_one - 1;

struct alignas(64) queue {
  std::atomic<std::uint64_t> next{0};  // the generation, and the first unclaimed task of this queue
};

struct alignas(64) job {
  std::atomic<std::uint64_t> open{0};  // the generation, and the number of helpers wanted; 0: none any more
  std::atomic<std::uint32_t> tasks{0};
  std::atomic<body_function> body{nullptr};
  std::atomic<void*> argument{nullptr};
  std::atomic<int> queues{0};
  std::atomic<int> first{0};    // the number of the helper with rank 0
  std::atomic<int> helpers{0};  // of the pool, at the time of the post
  std::atomic<int> room{0};     // callers and helpers together, at most
  alignas(64) std::atomic<std::uint32_t> done{0};
  std::atomic<int> waking{0};  // the rank of the next helper to wake
  std::atomic<bool> taken{false};
  std::array<queue, most_queues> shares;
};

struct alignas(64) helper {
  std::atomic<bool> asleep{false};
  std::atomic<std::uint32_t> alarm{0};  // changes when the helper shall wake
};

struct pool {
  std::array<job, most_jobs> jobs;
  std::array<helper, most_helpers> helpers;
  alignas(64) std::atomic<std::uint32_t> posts{0};  // changes with each post
  alignas(64) std::atomic<int> sleepers{0};
  alignas(64) std::atomic<int> callers{0};  // with jobs in slots
  std::atomic<int> started{0};              // helpers
  std::atomic<int> cores{0};                // that this process may use, when the last helper was started
  std::atomic<bool> starting{false};        // one thread starts helpers; others do not block for it
  std::atomic<bool> refused{false};         // by a test
  std::atomic<std::int64_t> next_start{0};  // after a refusal: no attempt before this time of the steady clock
};

constinit pool all;

std::chrono::steady_clock::time_point now() noexcept { return std::chrono::steady_clock::now(); }

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns false if `ready` stays false for `limit`.
template <class Ready>
bool spin(std::chrono::microseconds limit, const Ready& ready) noexcept {
  const auto end = now() + limit;
  do {
    for (int k = 0; k < 16; ++k) {
      if (ready()) return true;
      relax();
    }
  } while (now() < end);
  return false;
}

// 4. Wakes up to `most` helpers of the job. Any of its threads may call.
void wake(job& one, int most) noexcept {
  while (most > 0 && all.sleepers.load(std::memory_order_seq_cst) > 0) {
    const int rank = one.waking.fetch_add(1, std::memory_order_relaxed);
    if (rank >= static_cast<int>(one.open.load(std::memory_order_relaxed) & low_half)) return;
    const int count = std::max(one.helpers.load(std::memory_order_relaxed), 1);
    helper& its = all.helpers[static_cast<std::size_t>((one.first.load(std::memory_order_relaxed) + rank) % count)];
    if (!its.asleep.exchange(false, std::memory_order_seq_cst)) continue;
    its.alarm.fetch_add(1, std::memory_order_release);
    its.alarm.notify_one();
    --most;
  }
}

// 2. Claims tasks of this generation until none is left. `member` is 0 for the caller.
void work_on(job& one, std::uint64_t generation, int member) {
  // acquire: if a later job stored one of these members, its closed queues are seen below.
  const auto tasks = static_cast<std::int64_t>(one.tasks.load(std::memory_order_acquire));
  const body_function body = one.body.load(std::memory_order_acquire);
  void* const argument = one.argument.load(std::memory_order_acquire);
  const int queues = std::max(one.queues.load(std::memory_order_acquire), 1);
  std::uint32_t finished = 0;
  for (int k = 0; k < queues; ++k) {
    const int share = (member + k) % queues;
    const std::int64_t begin = tasks * share / queues, end = tasks * (share + 1) / queues;
    std::atomic<std::uint64_t>& next = one.shares[static_cast<std::size_t>(share)].next;
    std::uint64_t unclaimed = next.load(std::memory_order_acquire);
    while ((unclaimed & ~low_half) == generation && begin + static_cast<std::int64_t>(unclaimed & low_half) < end) {
      if (!next.compare_exchange_weak(unclaimed, unclaimed + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      body(argument, static_cast<int>(begin + static_cast<std::int64_t>(unclaimed & low_half)));
      ++finished;
      if (member == 0) wake(one, 1);
      unclaimed = next.load(std::memory_order_acquire);
    }
  }
  // One addition for all tasks of this thread: a line that 16 threads change costs microseconds.
  if (finished > 0 && one.done.fetch_add(finished, std::memory_order_acq_rel) + finished == tasks)
    one.done.notify_one();
}

// Returns whether helper `number` took part.
bool help(job& one, int number) {
  const std::uint64_t open = one.open.load(std::memory_order_acquire);
  const int count = one.helpers.load(std::memory_order_relaxed);
  if ((open & low_half) == 0 || number >= count) return false;
  const int rank = (number - one.first.load(std::memory_order_relaxed) + count) % count;
  if (rank >= static_cast<int>(open & low_half)) return false;
  if (number >= one.room.load(std::memory_order_relaxed) - all.callers.load(std::memory_order_seq_cst)) return false;
  wake(one, 2);
  work_on(one, open & ~low_half, rank + 1);
  return true;
}

// Not inlined: clang takes the address of a thread_local variable, for which glibc needs memory, ahead of any test.
[[gnu::noinline]] void use_thread_locals() noexcept {
  [[maybe_unused]] static constinit thread_local volatile bool are_there = false;
  are_there = true;
}

// A thread gets its thread_local variables of a shared library at the first access, and glibc ends the process if it has no
// memory for them. So a thread without memory takes no work. The memory is used at once, before other threads take it.
bool has_thread_locals() noexcept {
  void* volatile room = std::malloc(16384);
  if (room == nullptr) return false;
  std::free(room);
  use_thread_locals();
  return true;
}

void* be_a_helper(void* argument) {
  const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  helper& mine = all.helpers[static_cast<std::size_t>(number)];
  bool is_ready = false;
  for (;;) {  // 4.
    const std::uint32_t seen = all.posts.load(std::memory_order_seq_cst);
    const auto posted = [seen] { return all.posts.load(std::memory_order_relaxed) != seen; };
    is_ready = is_ready || has_thread_locals();
    for (job& one : all.jobs) {
      if (is_ready) help(one, number);
    }
    if (spin(helper_spins, posted)) continue;
    const std::uint32_t alarm = mine.alarm.load(std::memory_order_relaxed);
    all.sleepers.fetch_add(1, std::memory_order_seq_cst);
    mine.asleep.store(true, std::memory_order_seq_cst);
    // A post before `asleep` was set woke no thread. If another thread has cleared `asleep`, the alarm rings soon.
    const bool stays_awake = all.posts.load(std::memory_order_seq_cst) != seen && mine.asleep.exchange(false);
    if (!stays_awake) mine.alarm.wait(alarm, std::memory_order_acquire);
    all.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  return nullptr;
}

// 5. Only the forking thread lives on in the child, and it is in no call.
void forget_helpers() noexcept {
  for (job& one : all.jobs) {
    one.open.store(one.open.load(std::memory_order_relaxed) & ~low_half, std::memory_order_relaxed);
    one.taken.store(false, std::memory_order_relaxed);
  }
  for (helper& one : all.helpers) one.asleep.store(false, std::memory_order_relaxed);
  all.sleepers.store(0, std::memory_order_relaxed);
  all.callers.store(0, std::memory_order_relaxed);
  all.started.store(0, std::memory_order_relaxed);
  all.starting.store(false, std::memory_order_relaxed);
  all.next_start.store(0, std::memory_order_relaxed);
}

// The code of the helpers must stay mapped. In a program that links the library statically there is nothing to keep.
void stay_loaded() noexcept {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&stay_loaded), &here) == 0) return;
  static_cast<void>(dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

bool start_helper(std::intptr_t number) noexcept {
  pthread_attr_t how;
  if (all.refused.load(std::memory_order_relaxed) || pthread_attr_init(&how) != 0) return false;
  // Kernels need a few pages of stack. A small one also fits a process with little address space.
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  pthread_attr_setstacksize(&how, stack_bytes);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  // The program's signal handlers run on its own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &how, be_a_helper, reinterpret_cast<void*>(number)) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&how);
  if (!started) return false;
  pthread_setname_np(thread, "cornerturn");
  if (cpu_set_t places; openmp::places(places)) pthread_setaffinity_np(thread, sizeof places, &places);
  return true;
}

job* take_slot() noexcept {
  for (job& one : all.jobs) {
    if (!one.taken.load(std::memory_order_relaxed) && !one.taken.exchange(true, std::memory_order_acquire)) return &one;
  }
  return nullptr;
}

// 1. Returns the generation.
std::uint64_t post(job& mine, int threads, int tasks, body_function body, void* argument, int room) noexcept {
  const std::uint64_t generation = (mine.open.load(std::memory_order_relaxed) & ~low_half) + generation_one;
  const int queues = std::min(threads, most_queues), helpers = all.started.load(std::memory_order_relaxed);
  const auto slot = static_cast<int>(&mine - all.jobs.data());
  for (int k = std::max(queues, mine.queues.load(std::memory_order_relaxed)) - 1; k >= 0; --k) {
    mine.shares[static_cast<std::size_t>(k)].next.store(generation | low_half, std::memory_order_relaxed);
  }
  mine.tasks.store(static_cast<std::uint32_t>(tasks), std::memory_order_release);
  mine.body.store(body, std::memory_order_release);
  mine.argument.store(argument, std::memory_order_release);
  mine.queues.store(queues, std::memory_order_release);
  mine.done.store(0, std::memory_order_relaxed);
  // Callers in other slots begin with other helpers.
  mine.first.store(helpers == 0 ? 0 : slot * (threads - 1) % helpers, std::memory_order_relaxed);
  mine.helpers.store(helpers, std::memory_order_relaxed);
  mine.room.store(room, std::memory_order_relaxed);
  mine.waking.store(0, std::memory_order_relaxed);
  for (int k = 0; k < queues; ++k) {
    mine.shares[static_cast<std::size_t>(k)].next.store(generation, std::memory_order_release);
  }
  mine.open.store(generation | static_cast<std::uint64_t>(std::min(threads - 1, helpers)), std::memory_order_release);
  return generation;
}

}  // namespace

void refuse_threads(bool refused) noexcept { all.refused.store(refused, std::memory_order_relaxed); }

int start_pool(int threads) noexcept {
  const int wanted = std::min(threads - 1, most_helpers);
  const int running = all.started.load(std::memory_order_acquire);
  if (running >= wanted) return threads;
  const std::int64_t time = now().time_since_epoch().count();
  if (time < all.next_start.load(std::memory_order_relaxed)) return running + 1;
  if (all.starting.exchange(true, std::memory_order_acquire)) return running + 1;
  static std::atomic<bool> is_ready{false};
  if (!is_ready.exchange(true, std::memory_order_relaxed)) {
    stay_loaded();
    pthread_atfork(nullptr, nullptr, forget_helpers);
  }
  all.cores.store(hardware_threads(), std::memory_order_relaxed);
  int helpers = all.started.load(std::memory_order_relaxed);
  while (helpers < wanted && start_helper(helpers)) all.started.store(++helpers, std::memory_order_release);
  constexpr std::int64_t pause = std::chrono::steady_clock::duration(std::chrono::seconds(1)).count();
  if (helpers < wanted) all.next_start.store(time + pause, std::memory_order_relaxed);
  all.starting.store(false, std::memory_order_release);
  return std::min(threads, helpers + 1);
}

void run_on_pool(int threads, int tasks, void (*body)(void* argument, int task), void* argument) {
  threads = openmp::in_parallel() ? 1 : start_pool(std::min(threads, tasks));
  job* const mine = threads > 1 ? take_slot() : nullptr;
  if (mine == nullptr) {
    for (int task = 0; task < tasks; ++task) body(argument, task);
    return;
  }
  const int room = std::max(threads, all.cores.load(std::memory_order_relaxed));
  const std::uint64_t generation = post(*mine, threads, tasks, body, argument, room);
  if (all.callers.fetch_add(1, std::memory_order_seq_cst) + 1 < room) {
    all.posts.fetch_add(1, std::memory_order_seq_cst);
    wake(*mine, 2);
  }
  work_on(*mine, generation, 0);

  // 3.
  mine->open.store(generation, std::memory_order_relaxed);
  const auto wanted = static_cast<std::uint32_t>(tasks);
  const auto is_done = [&] { return mine->done.load(std::memory_order_acquire) == wanted; };
  if (!is_done() && !spin(caller_spins, is_done)) {
    for (std::uint32_t done = mine->done.load(std::memory_order_acquire); done != wanted;
         done = mine->done.load(std::memory_order_acquire)) {
      mine->done.wait(done, std::memory_order_acquire);
    }
  }
  mine->taken.store(false, std::memory_order_release);
  // Helpers that found no room for another caller's job find some now.
  const int others = all.callers.fetch_sub(1, std::memory_order_seq_cst) - 1;
  if (others > 0 && others < room) {
    all.posts.fetch_add(1, std::memory_order_seq_cst);
    for (job& one : all.jobs) {
      if ((one.open.load(std::memory_order_relaxed) & low_half) == 0) continue;
      one.waking.store(0, std::memory_order_relaxed);
      wake(one, 1);
    }
  }
}

}  // namespace cornerturn::base
