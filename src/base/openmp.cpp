#include "base/openmp.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

// NOLINTBEGIN(readability-identifier-naming): OpenMP's names
extern "C" {
__attribute__((weak)) int omp_in_parallel();
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) int omp_get_proc_bind();
__attribute__((weak)) int omp_get_num_places();
__attribute__((weak)) int omp_get_place_num_procs(int place);
__attribute__((weak)) void omp_get_place_proc_ids(int place, int* ids);
}
// NOLINTEND(readability-identifier-naming)

namespace cornerturn::base::openmp {

bool in_parallel() noexcept { return omp_in_parallel != nullptr && omp_in_parallel() != 0; }

int most_threads() noexcept {
  if (omp_get_max_threads != nullptr) return omp_get_max_threads();
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
  if (omp_get_proc_bind == nullptr || omp_get_proc_bind() == 0 || omp_get_place_proc_ids == nullptr) return false;
  constexpr int most = 4096;
  static_assert(CPU_SETSIZE <= most);
  CPU_ZERO(&cores);
  for (int place = omp_get_num_places() - 1; place >= 0; --place) {
    int ids[most];
    const int count = omp_get_place_num_procs(place);
    if (count > most) continue;
    omp_get_place_proc_ids(place, ids);
    for (int k = 0; k < count; ++k) {
      if (ids[k] >= 0 && ids[k] < CPU_SETSIZE) CPU_SET(ids[k], &cores);
    }
  }
  return CPU_COUNT(&cores) > 0;
}

}  // namespace cornerturn::base::openmp
