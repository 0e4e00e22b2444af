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
  args.src_begin = reinterpret_cast<std::uint64_t>(running.src.begin);
  args.src_end = reinterpret_cast<std::uint64_t>(running.src.end);
  if (made.blocks > 0) made.row->launch(made.args, made.blocks, made.shared_bytes, &running);
  result.fault = running.fault.empty() ? memory.difference() : running.fault;
  return result;
}

// A square matrix of about a tile, batched or not; every address is a multiple of 16 bytes, or not.
problem any_square(dice& roll, std::int64_t element_bytes) {
  constexpr std::int64_t sides[] = {1,  3,  16, 17, 31, 32,  33,  46,  47,  48,  49,  50,  63,  64,  65,  66,
                                    67, 68, 70, 71, 72, 100, 127, 128, 129, 142, 143, 144, 150, 192, 200, 257};
  const std::int64_t n = std::min(roll.of(sides), 260 / std::max<std::int64_t>(element_bytes / 8, 1));
  const std::int64_t unit = roll.one_in(3) ? 1 : 16 / std::min<std::int64_t>(element_bytes & -element_bytes, 16);
  const std::int64_t ld = (n + unit - 1) / unit * unit + unit * roll.below(3);
  problem what = transpose_problem(n, n, element_bytes, ld, ld);
  if (roll.one_in(4)) what = batched(what, 2, n * ld + unit, n * ld + unit);
  return placed(what);
}

// Small square matrices that are packed one after another, in one run or in two.
problem any_items(dice& roll, std::int64_t element_bytes) {
  const std::int64_t most = 30000 / element_bytes + 30;
  std::int64_t n = 2 + roll.below(roll.one_in(2) ? 12 : 60);
  while (n > 2 && n * n > most) n /= 2;
  const std::int64_t count = 1 + roll.below(std::max<std::int64_t>(most / (n * n), 2));
  problem what = batched(transpose_problem(n, n, element_bytes), count, n * n, n * n);
  const std::int64_t run = count * n * n + roll.below(20);
  if (roll.one_in(4)) what = batched(what, 2, run, run);
  return placed(what);
}

problem any_in_place(dice& roll, std::int64_t element_bytes) {
  switch (roll.below(4)) {
    case 0:
      return any_items(roll, element_bytes);
    case 1:
      return any_square(roll, element_bytes);
    default:
      return any_involution(roll, element_bytes, 30000 / element_bytes + 300);
  }
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
    const problem what =
        row.tile_rows > 0 && roll.one_in(2) ? any_square(roll, element_bytes) : any_in_place(roll, element_bytes);
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
    const problem what = any_in_place(roll, element_bytes);
    const gpu_setting setting = any_setting(roll, what);
    const moved result = move_in_place(what, setting);
    ASSERT_NE(result.row, "") << to_text(what) << "\n" << to_text(setting);
    ASSERT_EQ(result.fault, "") << result.row << " " << to_text(what) << "\n" << to_text(setting);
    ++met[result.row];
  }
  EXPECT_GE(met.size(), 8U);
}

// Sides around the tile of each row, with packed and padded rows, at addresses of every misalignment.
TEST(emulated_in_place_list, unaligned_squares_of_every_side) {
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
    const std::int64_t word = element_bytes & -element_bytes;
    gpu_setting setting;
    setting.row = "gpu_swap_b" + std::to_string(word) + "_unaligned";
    setting.alignment = word;
    const gpu_way usual = plan_of(placed(transpose_problem(10007, 10007, element_bytes)), setting);
    ASSERT_EQ(usual.chosen.row->name, setting.row);
    const std::int64_t tile = usual.chosen.as<gpu::swap_args>().tile;
    int turn = 0;
    for (const std::int64_t n : {std::int64_t{2}, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 1}) {
      for (const std::int64_t pad : {0, 1, 2}) {
        const problem what = placed(transpose_problem(n, n, element_bytes, n + pad, n + pad));
        setting.dst_misalignment = static_cast<std::size_t>((5 * turn + 1) * word % 48);
        setting.threads = static_cast<emulated::order>(turn++ % 3);
        const moved result = move_in_place(what, setting);
        EXPECT_EQ(result.row, setting.row) << to_text(what);
        EXPECT_EQ(result.fault, "") << to_text(what) << "\n" << to_text(setting);
      }
    }
  }
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
  made.row->launch(&args, 2, made.shared_bytes, &running);  // the only tile, twice
  EXPECT_NE(running.fault.find("reads what was written before"), std::string::npos) << running.fault;
}

}  // namespace
}  // namespace cornerturn::testing
