#include "base/openmp.hpp"

#include <dlfcn.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/lazy.hpp"
#include "base/loader.hpp"

namespace cornerturn::base::openmp {
namespace {

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
    if (const unsigned long long now = libraries_loaded(); now != all.searched) {
      all.searched = now;
      find(all.in_parallel, "omp_in_parallel");
      find(all.get_proc_bind, "omp_get_proc_bind");
      find(all.get_num_places, "omp_get_num_places");
      find(all.get_place_num_procs, "omp_get_place_num_procs");
      find(all.get_place_proc_ids, "omp_get_place_proc_ids");
      find(all.get_max_threads, "omp_get_max_threads");
    }
    return all;
  }
  template <class Function>
  static void find(std::atomic<Function>& into, const char* name) noexcept {
    into = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

}  // namespace

bool in_parallel() noexcept {
  auto* const ask = runtime::of_program().in_parallel.load();
  return ask != nullptr && ask() != 0;
}

int most_threads() noexcept {
  if (auto* const ask = runtime::of_program().get_max_threads.load(); ask != nullptr) return ask();
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
  if (bind == nullptr || bind() == 0 || count == nullptr || size == nullptr || list == nullptr) return false;
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
