// CPUID traps on virtual machines, 6 us each time: only the first call may execute it.
#include <gtest/gtest.h>

#include <vector>

#include "cornerturn/batch.hpp"
#include "cornerturn/transpose.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

namespace cornerturn::cpuid_test {
namespace {

// Allows or forbids CPUID in this thread. Forbidden, it raises SIGSEGV. Returns false if this machine cannot forbid it.
bool allow_cpuid(bool allowed) {
  constexpr long set_cpuid = 0x1012;  // ARCH_SET_CPUID
  return syscall(SYS_arch_prctl, set_cpuid, allowed ? 1L : 0L) == 0;
}

// Makes plans and runs them, in place, in batches and out of place.
void run_all() {
  std::vector<std::byte> src(1 << 16), dst(1 << 16);
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    for (const std::int64_t rows : {1, 2, 3, 7, 16, 30}) {
      for (const std::int64_t cols : {1, 2, 5, 24}) {
        const problem what = transpose_problem(rows, cols, element_bytes);
        plan(what, {.device = device::cpu}).execute(src.data(), dst.data());
        execute(what, src.data(), dst.data());
        batch(what, std::vector<const void*>{src.data()}, std::vector<void*>{dst.data()}).execute();
        problem in_place = what;
        in_place.in_place = true;
        if (rows == cols) execute(in_place, src.data(), src.data());
      }
    }
  }
}

TEST(cpuid, is_executed_by_the_first_call_only) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer's death tests do not end without CPUID";
#endif
#endif
  if (!allow_cpuid(true)) GTEST_SKIP() << "this machine cannot forbid CPUID";
  EXPECT_EXIT(
      {
        run_all();
        if (!allow_cpuid(false)) _exit(2);
        run_all();
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cornerturn::cpuid_test
#endif
