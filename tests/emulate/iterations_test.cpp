// Ways through loops: which accesses are of one iteration.
#include "emulate/iterations.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cornerturn::emulated {
namespace {

target at(int number) { return reinterpret_cast<target>(static_cast<std::uintptr_t>(number)); }

// The iterations of those loops that the last target belongs to.
std::vector<int> turns_of(const iterations& way, const loop_map& loops) {
  std::vector<loop_count> all;
  way.append_to(all);
  std::vector<int> turns;
  for (const loop_count& one : all) {
    if (loops.contains(one.head, way.last())) turns.push_back(one.turns);
  }
  return turns;
}

void walk(iterations& way, loop_map& loops, std::initializer_list<int> targets) {
  for (const int one : targets) way.pass(at(one), loops);
}

TEST(iterations, counts_the_turns_of_a_loop) {
  loop_map loops;
  iterations way;
  walk(way, loops, {1, 2, 3, 2, 3, 2, 3});
  EXPECT_EQ(turns_of(way, loops), std::vector<int>{2});
}

// A lane that skips an iteration's body is still in the same iteration later.
TEST(iterations, a_skipped_body_counts) {
  loop_map loops;
  iterations all, some;
  walk(all, loops, {1, 2, 3, 2, 3, 2, 3});
  walk(some, loops, {1, 2, 2, 2, 3});
  EXPECT_EQ(turns_of(all, loops), turns_of(some, loops));
}

TEST(iterations, inner_loops_begin_again) {
  loop_map loops;
  iterations way;
  walk(way, loops, {1, 2, 3, 3, 3, 4, 2, 3, 3});
  EXPECT_EQ(turns_of(way, loops), (std::vector<int>{1, 1}));
}

// Lanes that leave a loop after different numbers of iterations execute together what comes behind it.
TEST(iterations, what_comes_behind_a_loop_is_no_part_of_it) {
  loop_map loops;
  iterations longer, shorter;
  walk(longer, loops, {1, 2, 3, 2, 3, 2, 3, 9});
  walk(shorter, loops, {1, 2, 3, 9});
  EXPECT_EQ(turns_of(longer, loops), std::vector<int>{});
  EXPECT_EQ(turns_of(shorter, loops), std::vector<int>{});
}

TEST(iterations, forget_when_cleared) {
  loop_map loops;
  iterations way;
  walk(way, loops, {1, 1, 1});
  way.clear();
  EXPECT_EQ(way.last(), nullptr);
  walk(way, loops, {1});
  EXPECT_EQ(turns_of(way, loops), std::vector<int>{});
}

}  // namespace
}  // namespace cornerturn::emulated
