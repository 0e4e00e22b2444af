// Problems in place, from choose_in_place to the bytes: every row that accepts them, on every SIMD target. The
// simulated caches are so small that rectangles of a few kilobytes are cut into strips.
#include "run/in_place_cpu.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "../kernels/in_place_cases.hpp"
#include "api/check.hpp"
#include "api/in_place.hpp"

namespace cornerturn {
namespace {

using testing::dice;
using testing::one_memory;
using testing::placed;
using testing::to_text;

base::machine with_cache(std::int64_t l2_bytes) {
  base::machine made;
  made.simd = kernels::this_machine().simd;
  made.l2_bytes = l2_bytes;
  return made;
}

// "" when it is moved rightly and nothing next to it, or next to the workspace, is touched.
std::string move(const problem& what, const planning::cpu_request& wanted, const base::machine& machine,
                 std::size_t misalignment, std::set<std::string>* ways = nullptr) {
  api::check(what);
  const map::canonical form = map::canonicalize(what);
  const map::in_place_form places = map::in_place(form);
  api::check_in_place(what, places);
  const planning::in_place_choice made = planning::choose_in_place(form, places, wanted, machine);
  if (made.kernel == nullptr) return "refused";
  if (ways != nullptr) {
    const bool swapped = made.way == planning::in_place_way::swapped;
    ways->insert(!swapped ? made.reason : made.kernel->element_bytes == 0 ? "elements" : "blocks");
  }
  one_memory memory(what, misalignment);
  constexpr std::size_t guard = 61;  // the workspace is unaligned
  const auto bytes = static_cast<std::size_t>(made.workspace_bytes);
  std::vector<std::byte> workspace(bytes + 2 * guard, testing::poison);
  running::run_in_place(made, memory.data() + form.src_offset * form.word_bytes, {workspace.data() + guard, bytes}, {});
  for (std::size_t k = 0; k < guard; ++k) {
    if (workspace[k] != testing::poison || workspace[guard + bytes + k] != testing::poison) {
      return "wrote outside of the workspace";
    }
  }
  const std::string fault = memory.difference();
  return fault.empty() ? fault : fault + ", " + made.reason + "\n" + api::explain(made);
}

class in_place_rows : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(kernels::force_simd_target(GetParam())); }
  void TearDown() override { EXPECT_TRUE(kernels::force_simd_target("")); }
};

TEST_P(in_place_rows, swap_what_trades_places) {
  dice roll(7);
  std::set<std::string> ways;
  int failures = 0;
  const auto give = [&](const problem& what, std::int64_t cache = 0) {
    const int threads = static_cast<int>(1 + roll.below(3));
    const auto misalignment = static_cast<std::size_t>(roll.below(64));
    const std::string fault = move(what, {.threads = threads}, with_cache(cache), misalignment, &ways);
    EXPECT_EQ(fault, "") << to_text(what) << " cache " << cache << " threads " << threads;
    failures += !fault.empty();
  };
  constexpr std::int64_t large_cache = 2 << 20;  // of machines with larger tiles
  for (const std::int64_t element_bytes : testing::element_sizes) {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 193, 257}) {
      if (failures > 4) return;
      give(placed(transpose_problem(n, n, element_bytes)));
      give(placed(transpose_problem(n, n, element_bytes, n + 5, n + 5)));
      if (n < 70) give(placed(batched(transpose_problem(n, n, element_bytes), 7, n * n + n % 3, n * n + n % 3)));
    }
    for (int k = 0; k < 50 && failures < 4; ++k) {
      give(any_involution(roll, element_bytes, 30000), roll.one_in(2) ? large_cache : 0);
    }
    if (element_bytes > 16) continue;
    for (const std::int64_t tile : {128 / element_bytes + 1, std::int64_t{128}, 1024 / element_bytes}) {
      for (const std::int64_t more : {0, 1, 17, 63, 129}) {
        if (failures > 4) return;
        const std::int64_t n = tile + more;
        give(placed(transpose_problem(n, n, element_bytes, n + more, n + more)), large_cache);
        give(placed(batched(transpose_problem(n, n, element_bytes), 2, n * n + more, n * n + more)), large_cache);
      }
    }
  }
  for (const std::int64_t element_bytes : {1, 3, 4, 12, 32}) {
    for (const std::int64_t n : {2, 3, 5, 8}) {  // small squares; several threads share them
      const std::int64_t pitch = n + roll.below(2), apart = n * pitch + roll.below(3);
      const std::int64_t count = 1 + roll.below(600000 / (n * n * element_bytes));
      const problem one = transpose_problem(n, n, element_bytes, pitch, pitch);
      for (const std::int64_t cache : {std::int64_t{0}, std::int64_t{1} << 16, large_cache}) {
        if (failures > 4) return;
        give(placed(batched(one, count, apart, apart)), cache);
        give(placed(batched(batched(one, count / 20 + 1, apart, apart), 3, count * apart, count * apart)), cache);
      }
    }
  }
  EXPECT_TRUE(ways.contains("every element is where it belongs") && ways.contains("blocks") &&
              ways.contains("elements"));
  EXPECT_EQ(ways.size(), 4);
}

INSTANTIATE_TEST_SUITE_P(targets, in_place_rows, ::testing::ValuesIn([] {
                           std::vector<std::string> all;
                           for (const std::string_view one : kernels::simd_targets()) all.emplace_back(one);
                           return all;
                         }()));

TEST(in_place, units_in_any_ranges_make_the_whole) {
  dice roll(11);
  for (int k = 0; k < 300; ++k) {
    problem what = any_involution(roll, roll.of(testing::element_sizes), 40000);
    if (k % 10 == 0) {  // several of the largest tiles
      const std::int64_t n = 257 + roll.below(600);
      what = placed(transpose_problem(n, n, std::int64_t{4} << roll.below(3)));
    }
    const map::canonical form = map::canonicalize(what);
    const map::in_place_form places = map::in_place(form);
    planning::cpu_request wanted{.threads = 1};
    const base::machine machine = with_cache(roll.one_in(2) ? 0 : 2 << 20);
    planning::in_place_choice made = planning::choose_in_place(form, places, wanted, machine);
    if (made.way == planning::in_place_way::nothing) continue;
    if (made.way == planning::in_place_way::buffered) {
      wanted.kernel = "cpu_swap";
      made = planning::choose_in_place(form, places, wanted, machine);
    }
    const kernels::offer& how = made.moves[0];
    one_memory memory(what, 3);
    std::byte* const at = memory.data() + form.src_offset * form.word_bytes;
    for (std::int64_t end = how.units; end > 0;) {
      const std::int64_t begin = roll.below(end);
      how.row->run(how.args, {.dst = at}, begin, end);
      end = begin;
    }
    ASSERT_EQ(memory.difference(), "") << to_text(what);
  }
}

TEST(in_place, rectangles_of_every_way) {
  dice roll(13);
  std::set<std::string> ways;
  int failures = 0;
  const auto give = [&](const problem& what) {
    if (failures > 4) return;
    const std::int64_t caches[] = {0, 0, 1 << 11, 1 << 13, 1 << 22};
    const std::int64_t cache = roll.of(caches);
    const planning::cpu_request wanted{
        .threads = roll.one_in(4) ? 3 : 1,
    };
    const std::string fault = move(what, wanted, with_cache(cache), static_cast<std::size_t>(roll.below(64)), &ways);
    EXPECT_EQ(fault, "") << to_text(what) << " cache " << cache << " threads " << wanted.threads;
    failures += !fault.empty();
  };
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 12, 16, 40}) {
    std::int64_t variant = element_bytes;
    for (const std::int64_t rows : {2, 3, 5, 16, 21, 40, 64, 83, 97, 211}) {
      for (const std::int64_t cols : {2, 3, 7, 19, 20, 41, 60, 100, 121, 251}) {
        give(testing::rectangle_of(rows, cols, element_bytes, variant++));
      }
    }
  }
  for (const std::int64_t element_bytes : {1000, 1024, 4096}) {
    for (const std::int64_t rows : {2, 7, 24}) give(testing::rectangle_of(rows, 31, element_bytes, rows));
  }
  for (int k = 0; k < 200; ++k) {
    const std::int64_t rows = 1 + roll.below(roll.one_in(2) ? 30 : 900);
    const std::int64_t cols = 1 + roll.below(std::max<std::int64_t>(200000 / rows, 1));
    give(testing::rectangle_of(rows, cols, roll.of(testing::element_sizes), roll.below(40)));
  }
  EXPECT_EQ(ways.size(), 7U) << "nothing, blocks and elements that are swapped, and four programs";
}

RC_GTEST_PROP(in_place, rectangles_are_turned, ()) {
  const problem what = testing::rectangle_of(
      *rc::gen::inRange<std::int64_t>(1, 260), *rc::gen::inRange<std::int64_t>(1, 260),
      *rc::gen::element<std::int64_t>(1, 2, 3, 4, 8, 12, 16, 20), *rc::gen::inRange<std::int64_t>(0, 8));
  const std::int64_t cache = *rc::gen::element<std::int64_t>(0, 500, 4096);
  const planning::cpu_request wanted{
      .threads = *rc::gen::element(1, 1, 2, 5),
  };
  const std::string fault = move(what, wanted, with_cache(cache), *rc::gen::inRange<std::size_t>(0, 64));
  RC_LOG() << to_text(what) << " cache " << cache << " threads " << wanted.threads << "\n" << fault;
  RC_ASSERT(fault == "");
}

TEST(in_place, rectangles_by_many_threads) {
  for (const auto& [rows, cols] : {std::pair{1009, 613}, {613, 1009}, {1000, 600}, {2003, 23}, {23, 2003}}) {
    for (const std::int64_t element_bytes : {1, 4, 24}) {
      for (const int threads : {2, 3, 8}) {
        EXPECT_EQ(move(testing::rectangle_of(rows, cols, element_bytes, 0), {.threads = threads}, with_cache(4096), 1),
                  "");
      }
    }
  }
}

TEST(in_place, forced_rows_move_or_are_refused) {
  for (const kernels::kernel& row : kernels::all()) {
    for (const problem& what : {placed(transpose_problem(67, 67, 4)), placed(transpose_problem(67, 67, 3)),
                                placed(transpose_problem(60, 97, 4)), placed(transpose_problem(60, 97, 2)),
                                placed(batched(transpose_problem(33, 33, 8), 3, 2000, 2000))}) {
      const std::string found = move(what, {.threads = 2, .kernel = row.name}, with_cache(0), 5);
      const bool square = what.axes[what.rank - 1].extent == what.axes[what.rank - 2].extent;
      const std::string family = row.family;
      const bool fits = row.name == std::string_view("cpu_reference") || (family == "cycles" && !square) ||
                        (family == "swap" && square && row.element_bytes == 0) ||
                        (family == "swap" && square && row.element_bytes == what.element_bytes);
      const bool moves = fits && row.run != nullptr;
      EXPECT_EQ(found, moves ? "" : "refused") << row.name << " " << to_text(what);
    }
  }
}

}  // namespace
}  // namespace cornerturn
