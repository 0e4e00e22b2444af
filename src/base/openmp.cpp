#include "base/openmp.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/lazy.hpp"
#include "base/loader.hpp"

namespace cornerturn::base::openmp {
namespace {

// Held by a thread that asks the runtime its first question. fork() waits for it: LLVM's runtime then makes its tables and an
// entry for the thread, under locks that stay locked in a child. Not long: such a thread may itself wait for what the runtime
// locked for this fork.
constinit std::atomic<bool> meeting{false};

void lock_for_fork() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (meeting.exchange(true, std::memory_order_acquire) && std::chrono::steady_clock::now() < end) sched_yield();
}
void lock() {
  while (meeting.exchange(true, std::memory_order_acquire)) sched_yield();
}
void unlock() { meeting.store(false, std::memory_order_release); }

const int waits_at_forks = pthread_atfork(lock_for_fork, unlock, unlock);

// LLVM's runtime moves a thread that asks its first question to all cores of the process. The thread keeps its cores, or the place
// among them that OMP_PROC_BIND selects.
int answer_on_own_cores(int (*ask)()) noexcept {
  cpu_set_t before, after, both;
  const bool is_known = sched_getaffinity(0, sizeof before, &before) == 0;
  const int answer = ask();
  if (!is_known || sched_getaffinity(0, sizeof after, &after) != 0) return answer;
  CPU_AND(&both, &before, &after);
  if (!CPU_EQUAL(&both, &after)) sched_setaffinity(0, sizeof before, &before);
  return answer;
}

int answer_of(int (*ask)()) noexcept {
  constinit static thread_local bool has_met_this_thread = false;
  if (has_met_this_thread) return ask();
  lock();
  const int answer = answer_on_own_cores(ask);
  unlock();
  has_met_this_thread = true;
  return answer;
}

// The functions of the runtime. A program may load one late, as Python does with a framework, so a failed search is repeated
// after each load. Null: there is no runtime.
struct runtime {
  std::atomic<int (*)()> in_parallel{nullptr};
  std::atomic<int (*)()> get_max_threads{nullptr};
  std::atomic<int (*)()> get_proc_bind{nullptr};
  std::atomic<int (*)()> get_num_places{nullptr};
  std::atomic<int (*)(int)> get_place_num_procs{nullptr};
  std::atomic<void (*)(int, int*)> get_place_proc_ids{nullptr};
  std::atomic<unsigned long long> searched{0};

  static runtime& of_program() noexcept {
    constinit static runtime all;
    if (all.get_max_threads != nullptr) return all;
    const unsigned long long now = libraries_loaded();
    if (all.searched == now) return all;
    lock();
    if (all.get_max_threads == nullptr && all.searched != now) all.find(now);
    unlock();
    return all;
  }
  void find(unsigned long long now) noexcept {
    auto* const ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    if (ask != nullptr) answer_on_own_cores(ask);
    find(in_parallel, "omp_in_parallel");
    find(get_proc_bind, "omp_get_proc_bind");
    find(get_num_places, "omp_get_num_places");
    find(get_place_num_procs, "omp_get_place_num_procs");
    find(get_place_proc_ids, "omp_get_place_proc_ids");
    get_max_threads = ask;
    searched = now;
  }
  template <class Function>
  static void find(std::atomic<Function>& into, const char* name) noexcept {
    into = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

}  // namespace

bool in_parallel() noexcept {
  auto* const ask = runtime::of_program().in_parallel.load();
  return ask != nullptr && answer_of(ask) != 0;
}

int most_threads() noexcept {
  if (auto* const ask = runtime::of_program().get_max_threads.load(); ask != nullptr) return answer_of(ask);
  // "4", or "4,2": the outermost level counts.
  constinit static lazy_number from_environment;
  return from_environment.get([] {
    const char* const text = secure_getenv("OMP_NUM_THREADS");
    int number = 0;
    if (text != nullptr) std::from_chars(text + std::strspn(text, " \t"), text + std::strlen(text), number);
    return number;
  });
}

bool places(cpu_set_t& cores) noexcept {
  const runtime& all = runtime::of_program();
  auto* const bind = all.get_proc_bind.load();
  auto* const count = all.get_num_places.load();
  auto* const size = all.get_place_num_procs.load();
  auto* const list = all.get_place_proc_ids.load();
  if (bind == nullptr || answer_of(bind) == 0 || count == nullptr || size == nullptr || list == nullptr) return false;
  CPU_ZERO(&cores);
  for (int place = count() - 1; place >= 0; --place) {
    constexpr int most = 4096;
    int ids[most];
    const int cpus = size(place);
    if (cpus > most) continue;
    list(place, ids);
    for (int k = 0; k < cpus; ++k) {
      if (ids[k] >= 0 && ids[k] < CPU_SETSIZE) CPU_SET(ids[k], &cores);
    }
  }
  return CPU_COUNT(&cores) > 0;
}

}  // namespace cornerturn::base::openmp
