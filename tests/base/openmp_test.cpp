#include "base/openmp.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>

#include "base/parallel.hpp"

// This program links an OpenMP runtime.
namespace cornerturn::base {
namespace {

TEST(openmp, the_programs_limit_counts) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(5);
  EXPECT_EQ(openmp::most_threads(), 5);
  omp_set_num_threads(before);
  EXPECT_EQ(openmp::most_threads(), before);
}

TEST(openmp, a_parallel_region_is_seen) {
  EXPECT_FALSE(openmp::in_parallel());
  std::atomic<int> inside{0}, members{0};
#pragma omp parallel num_threads(2)
  {
    ++members;
    inside += openmp::in_parallel() ? 1 : 0;
  }
  if (members == 1) GTEST_SKIP() << "OpenMP started no second thread";
  EXPECT_EQ(inside, members);
}

TEST(openmp, calls_in_a_parallel_region_use_one_thread) {
  std::atomic<int> members{0}, others{0};
#pragma omp parallel num_threads(2)
  {
    ++members;
    struct {
      pthread_t caller;
      std::atomic<int>& others;
    } mine{pthread_self(), others};
    parallel_for(
        {}, 4, 1000,
        [](void* argument, std::int64_t, std::int64_t) {
          auto& its = *static_cast<decltype(mine)*>(argument);
          if (pthread_equal(its.caller, pthread_self()) == 0) ++its.others;
        },
        &mine);
  }
  if (members == 1) GTEST_SKIP() << "OpenMP started no second thread";
  EXPECT_EQ(others, 0);
}

TEST(openmp, places_are_those_of_the_program) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool bound = openmp::places(cores);
  EXPECT_EQ(bound, omp_get_proc_bind() != omp_proc_bind_false && omp_get_num_places() > 0);
  EXPECT_EQ(CPU_COUNT(&cores) > 0, bound);
}

}  // namespace
}  // namespace cornerturn::base
