// Two functions on their own stacks and the test itself switch to each other. Each keeps its variables, stack and
// registers.
#include "emulate/stack_switch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

// AddressSanitizer does not know of these switches, so it must not instrument the functions.
#define UNSEEN __attribute__((no_sanitize("address"), noinline))

namespace cornerturn::testing::stack_switch_test {
namespace {

constexpr int steps = 100;

struct task {
  alignas(16) std::array<unsigned char, 1 << 16> stack{};
  void* stack_pointer = nullptr;
  std::uintptr_t frame = 0;
  std::uint64_t whole = 0;
  double real = 0;
};

std::array<task, 2> tasks;
void* host = nullptr;

UNSEEN void work(task& mine, int start) {
  mine.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  std::uint64_t a = static_cast<std::uint64_t>(start), b = a + 1, c = a + 2, d = a + 3, e = a + 4;
  double x = start, y = x + 1;
  for (;;) {
    mine.whole = a + b * 3 + c * 5 + d * 7 + e * 11;
    mine.real = x + y * 3;
    emulated::cornerturn_switch_stack(&mine.stack_pointer, host);
    a += 1, b += 2, c += 3, d += 4, e += 5;
    x += 0.5, y += 0.25;
  }
}
UNSEEN void first() { work(tasks[0], 10); }
UNSEEN void second() { work(tasks[1], 1000); }

UNSEEN void run(task& one) { emulated::cornerturn_switch_stack(&host, one.stack_pointer); }

TEST(stack_switch, each_stack_keeps_its_variables) {
  tasks[0].stack_pointer = emulated::prepare_stack(tasks[0].stack.data() + tasks[0].stack.size(), &first);
  tasks[1].stack_pointer = emulated::prepare_stack(tasks[1].stack.data() + tasks[1].stack.size(), &second);
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      run(tasks[k]);
      const std::uint64_t start = k == 0 ? 10 : 1000;
      const std::uint64_t wanted = (start + step) + (start + 1 + 2 * step) * 3 + (start + 2 + 3 * step) * 5 +
                                   (start + 3 + 4 * step) * 7 + (start + 4 + 5 * step) * 11;
      const auto at = static_cast<double>(step);
      ASSERT_EQ(tasks[k].whole, wanted) << k << ' ' << step;
      ASSERT_EQ(tasks[k].real,
                static_cast<double>(start) + 0.5 * at + (static_cast<double>(start) + 1 + 0.25 * at) * 3);
    }
  }
}

TEST(stack_switch, a_function_begins_aligned_and_on_its_stack) {
  for (task& one : tasks) {
    one.stack_pointer =
        emulated::prepare_stack(one.stack.data() + one.stack.size(), &one == &tasks[0] ? &first : &second);
    run(one);
    EXPECT_EQ(one.frame % 16, 0u);
    const auto begin = reinterpret_cast<std::uintptr_t>(one.stack.data());
    EXPECT_TRUE(one.frame > begin && one.frame < begin + one.stack.size());
  }
}

}  // namespace
}  // namespace cornerturn::testing::stack_switch_test
