#include "base/openmp.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace cornerturn::base::openmp {
namespace {

// Returns a number that changes when the program loads a library.
unsigned long long loads() noexcept {
  unsigned long long number = 0;
  const auto read = [](dl_phdr_info* one, std::size_t, void* into) {
    *static_cast<unsigned long long*>(into) = one->dlpi_adds;
    return 1;  // the first library says it
  };
  dl_iterate_phdr(read, &number);
  return number;
}

// A function of the runtime. A program may load one late, as Python does with a framework, so a failed search is repeated
// after each load.
template <class Signature>
class function {
 public:
  explicit constexpr function(const char* name) noexcept : name_(name) {}
  [[nodiscard]] Signature* find() noexcept {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      const unsigned long long now = loads();
      if (now == searched_.load(std::memory_order_relaxed)) return nullptr;
      found = dlsym(RTLD_DEFAULT, name_);
      found_.store(found, std::memory_order_relaxed);
      searched_.store(now, std::memory_order_relaxed);
    }
    return reinterpret_cast<Signature*>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
  std::atomic<unsigned long long> searched_{0};
};

constinit function<int()> omp_in_parallel("omp_in_parallel");
constinit function<int()> omp_get_max_threads("omp_get_max_threads");
constinit function<int()> omp_get_proc_bind("omp_get_proc_bind");
constinit function<int()> omp_get_num_places("omp_get_num_places");
constinit function<int(int)> omp_get_place_num_procs("omp_get_place_num_procs");
constinit function<void(int, int*)> omp_get_place_proc_ids("omp_get_place_proc_ids");

}  // namespace

bool in_parallel() noexcept {
  auto* const ask = omp_in_parallel.find();
  return ask != nullptr && ask() != 0;
}

int most_threads() noexcept {
  if (auto* const ask = omp_get_max_threads.find(); ask != nullptr) return ask();
  // "4", or "4,2": the outermost level counts.
  static const int from_environment = [] {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    int number = 0;
    if (text != nullptr) std::from_chars(text + std::strspn(text, " \t"), text + std::strlen(text), number);
    return number > 0 ? number : 0;
  }();
  return from_environment;
}

bool places(cpu_set_t& cores) noexcept {
  auto* const bind = omp_get_proc_bind.find();
  auto* const count = omp_get_num_places.find();
  auto* const size = omp_get_place_num_procs.find();
  auto* const list = omp_get_place_proc_ids.find();
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
