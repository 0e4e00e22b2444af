// The in-place rows of the GPU that swap elements, emulated, at any alignment, with all kinds of edge tiles. No block
// may read a byte after any block has written it.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../kernels/in_place_cases.hpp"
#include "api/check.hpp"
#include "kernels/gpu/swap/args.hpp"
#include "move.hpp"

namespace cornerturn::testing {
namespace {

moved move_in_place(const problem& what, gpu_setting setting) {
  setting.src_misalignment = setting.dst_misalignment;
  gpu_way way = plan_of(what, setting);
  const map::canonical& form = way.form;
  kernels::offer& made = way.chosen;
  moved result = chosen(made, setting);
  if (!result.can_run()) return result;
  one_memory memory(what, setting.dst_misalignment);
  const map::byte_span span = map::dst_span(form);
  emulated::session running;
  running.threads = setting.threads;
  running.seed = setting.seed;
  running.src = running.dst = {memory.data() + span.lo, memory.data() + span.hi};
  auto& args = args_of<gpu::array_args>(made);
  args.src = args.dst = memory.data() + form.src_offset * form.word_bytes;
  if (made.blocks > 0) made.row->launch(made.args, made.blocks, made.shared_bytes, &running);
  result.fault = running.fault.empty() ? memory.difference() : running.fault;
  return result;
}

// A square matrix of about a tile, batched or not; every address is a multiple of 16 bytes, or not.
problem any_square(dice& roll, std::int64_t element_bytes) {
  constexpr std::int64_t sides[] = {1, 3, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 150, 192, 200, 257};
  const std::int64_t n = std::min(roll.of(sides), 260 / std::max<std::int64_t>(element_bytes / 8, 1));
  const std::int64_t unit = roll.one_in(3) ? 1 : 16 / std::min<std::int64_t>(element_bytes & -element_bytes, 16);
  const std::int64_t ld = (n + unit - 1) / unit * unit + unit * roll.below(3);
  problem what = transpose_problem(n, n, element_bytes, ld, ld);
  if (roll.one_in(4)) what = batched(what, 2, n * ld + unit, n * ld + unit);
  return placed(what);
}

class emulated_in_place : public ::testing::TestWithParam<std::string> {};

TEST_P(emulated_in_place, moves_what_trades_places) {
  const kernels::kernel& row = *kernels::find(GetParam());
  dice roll(static_cast<std::uint64_t>(row.element_bytes) + (row.tile_rows > 0 ? 100 : 0));
  int moves = 0, failures = 0;
  const int wanted = 60 / slower;
  for (int k = 0; k < 3000 && moves < wanted && failures < 4; ++k) {
    constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 272};
    const std::int64_t element_bytes = roll.one_in(2) ? row.element_bytes : roll.of(sizes);
    const problem what = roll.one_in(2) ? any_square(roll, element_bytes)
                                        : any_involution(roll, element_bytes, 30000 / element_bytes + 300);
    api::check(what);
    gpu_setting setting = any_setting(roll, what);
    setting.row = GetParam();
    if (row.tile_rows > 0 && !roll.one_in(8)) setting.alignment = 16, setting.dst_misalignment = 0;
    const moved result = move_in_place(what, setting);
    if (result.row.empty()) continue;
    ++moves;
    EXPECT_EQ(result.fault, "") << to_text(what) << "\n" << to_text(setting);
    failures += !result.fault.empty();
  }
  EXPECT_TRUE(moves >= wanted || failures > 0) << "only " << moves << " problems reach this row";
}

INSTANTIATE_TEST_SUITE_P(list, emulated_in_place, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const kernels::kernel& one : kernels::all()) {
                             const bool swaps = one.family == std::string_view("swap");
                             if (one.launch != nullptr && swaps) names.emplace_back(one.name);
                           }
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

TEST(emulated_in_place_list, moves_whatever_trades_places) {
  dice roll(99);
  std::map<std::string, int> met;
  for (int k = 0; k < 150 / slower; ++k) {
    const std::int64_t element_bytes = roll.of(element_sizes);
    const problem what = roll.one_in(2) ? any_square(roll, element_bytes)
                                        : any_involution(roll, element_bytes, 30000 / element_bytes + 300);
    const gpu_setting setting = any_setting(roll, what);
    const moved result = move_in_place(what, setting);
    ASSERT_NE(result.row, "") << to_text(what) << "\n" << to_text(setting);
    ASSERT_EQ(result.fault, "") << result.row << " " << to_text(what) << "\n" << to_text(setting);
    ++met[result.row];
  }
  EXPECT_GE(met.size(), 5U);
}

// The emulator must find a tile that is written before all of it is read.
TEST(emulated_in_place_list, a_read_after_a_write_is_seen) {
  const problem what = placed(transpose_problem(64, 64, 4));
  const map::canonical form = map::canonicalize(what, 4);
  kernels::offer made =
      choose_in_place(form, map::in_place(form), {.multiprocessors = 1, .shared_bytes = 64 << 10, .alignment = 16});
  ASSERT_NE(made.row, nullptr);
  one_memory memory(what, 0);
  emulated::session running;
  running.src = running.dst = {memory.data(), memory.data() + 64 * 64 * 4};
  auto& args = args_of<gpu::swap_args>(made);
  args.src = args.dst = memory.data();
  args.triangle = map::fast_divisor(2);  // the only tile, twice
  args.fold = map::fast_divisor(1);
  made.row->launch(&args, 2, made.shared_bytes, &running);
  EXPECT_NE(running.fault.find("reads what was written before"), std::string::npos) << running.fault;
}

}  // namespace
}  // namespace cornerturn::testing
