#include "plan/batch_cpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../kernels/cases.hpp"
#include "base/parallel.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::planning::batch_test {
namespace {

base::machine some_machine() {
  base::machine made;
  made.l1d_bytes = 32 << 10;
  made.l2_bytes = 512 << 10;
  made.l3_bytes = 32 << 20;
  made.page_bytes = 4096;
  return made;
}

// Bytes of one thread: whole items, and parts of an item in proportion to its units.
double share_of(const batch_choice& made, const std::vector<map::canonical>& forms,
                const std::vector<batch_move>& moves, std::size_t thread) {
  double bytes = 0;
  const auto begin = made.begins[thread], end = made.begins[thread + 1];
  for (std::size_t k = begin.move; k <= end.move && k < moves.size(); ++k) {
    const std::int64_t units = made.small[moves[k].which] ? 1 : made.problems[moves[k].which].units;
    const std::int64_t first = k == begin.move ? begin.unit : 0, last = k == end.move ? end.unit : units;
    EXPECT_LE(0, first);
    EXPECT_LE(last, units);
    const map::canonical& form = forms[moves[k].which];
    const auto all = static_cast<double>(map::words(form) * form.word_bytes);
    if (last > first) bytes += all * static_cast<double>(last - first) / static_cast<double>(units);
  }
  return bytes;
}

double largest_unit(const batch_choice& made, const std::vector<map::canonical>& forms) {
  double most = 0;
  for (std::size_t k = 0; k < forms.size(); ++k) {
    const auto bytes = static_cast<double>(map::words(forms[k]) * forms[k].word_bytes);
    most = std::max(most, made.small[k] ? bytes : bytes / static_cast<double>(made.problems[k].units));
  }
  return most;
}

TEST(batch, shares_are_equal) {
  testing::dice roll(5);
  for (const bool huge : {false, true}) {
    std::vector<map::canonical> forms;
    std::vector<batch_move> moves;
    for (std::uint32_t k = 0; k < 500; ++k) {
      forms.push_back(map::canonicalize(transpose_problem(8 + roll.below(200), 8 + roll.below(200), 4)));
      moves.push_back({k, nullptr, nullptr});
    }
    if (huge) {
      forms.push_back(map::canonicalize(transpose_problem(8000, 8000, 4)));
      moves.insert(moves.begin() + 100, {500, nullptr, nullptr});
    }
    for (const int threads : {1, 2, 3, 4, 16}) {
      const batch_choice made = choose_batch(forms, moves, threads, some_machine());
      ASSERT_EQ(made.threads, threads);
      double all = 0;
      const std::int64_t shares = threads == 1 ? 1 : threads * base::ranges_per_thread;
      ASSERT_EQ(made.shares(), shares);
      for (std::int64_t k = 0; k < shares; ++k) {
        const double share = share_of(made, forms, moves, static_cast<std::size_t>(k));
        all += share;
        EXPECT_NEAR(share, static_cast<double>(made.bytes) / static_cast<double>(shares), largest_unit(made, forms))
            << k << " of " << shares;
      }
      EXPECT_NEAR(all, static_cast<double>(made.bytes), 1e-6 * all);
    }
  }
}

TEST(batch, little_is_for_one_thread) {
  const std::vector<map::canonical> forms{map::canonicalize(transpose_problem(5, 7, 4))};
  const std::vector<batch_move> moves(10);
  const batch_choice made = choose_batch(forms, moves, 16, some_machine());
  EXPECT_EQ(made.threads, 1);
  EXPECT_EQ(made.bytes, 1400);
  EXPECT_EQ(choose_batch({}, {}, 16, some_machine()).threads, 1);
}

TEST(batch, what_overflows_the_cache_together_goes_past_it) {
  const auto choice_of = [&](const problem& what, std::size_t count) {
    const std::vector<map::canonical> forms{map::canonicalize(what)};
    return choose_batch(forms, std::vector<batch_move>(count), 1, some_machine());
  };
  const auto expect = [&](const problem& what, std::size_t count, bool small, bool streaming) {
    const batch_choice made = choice_of(what, count);
    EXPECT_EQ(made.small[0], small);
    const auto* const work = kernels::cpu::blocking_of(made.problems[0]);
    EXPECT_EQ(work != nullptr && work->streaming, streaming);
  };
  const problem tile = transpose_problem(100, 100, 4), padded = transpose_problem(100, 100, 4, 100, 101);
  const problem larger = transpose_problem(200, 200, 4);
  expect(tile, 1, false, false);
  expect(tile, 1000, true, false);    // through a buffer
  expect(padded, 1000, false, true);  // dst is not one run
  expect(larger, 1000, false, true);  // the buffer would not stay in the cache
  problem backward = tile;
  backward.axes[0].dst_stride *= -1;
  expect(backward, 1000, false, true);  // index 0 is not where it begins
  EXPECT_STREQ(choice_of(larger, 1000).problems[0].row->family, "stream");
}

TEST(batch, small_items_are_moved_by_one_thread) {
  const std::vector<map::canonical> forms{map::canonicalize(batched(transpose_problem(16, 16, 4), 7, 256, 256))};
  const std::vector<batch_move> moves(1000);
  for (const int threads : {2, 3, 7}) {
    const batch_choice made = choose_batch(forms, moves, threads, some_machine());
    ASSERT_EQ(made.threads, threads);
    EXPECT_TRUE(made.small[0]);
    for (const batch_choice::position& one : made.begins) EXPECT_EQ(one.unit, 0);
  }
}

}  // namespace
}  // namespace cornerturn::planning::batch_test
