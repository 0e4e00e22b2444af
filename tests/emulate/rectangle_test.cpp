// Rectangles in place by the programs of the GPU's plan, with emulated launches in any order of blocks. No launch may
// access bytes outside its step, or read a byte of a slot after it was written. Guard bytes around array and workspace
// must stay.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../kernels/in_place_cases.hpp"
#include "api/check.hpp"
#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/strips/args.hpp"
#include "kernels/in_place_steps.hpp"
#include "move.hpp"
#include "plan/rectangle_gpu.hpp"
#include "run/launch.hpp"

namespace cornerturn::testing {
namespace {

struct transposed {
  std::string fault;
  std::string row;
  planning::rectangle_way way{};
  std::string strips;  // the row that transposes all strips in one launch
};

// The workspace, at any address, with exactly the bytes that the plan needs.
struct exact_workspace {
  exact_workspace(std::int64_t size, std::size_t misalignment)
      : bytes(static_cast<std::size_t>(size)),
        memory(new std::byte[bytes + misalignment]),
        begin(memory.get() + misalignment) {
    std::memset(memory.get(), 0x5a, bytes + misalignment);
  }
  std::size_t bytes;
  std::unique_ptr<std::byte[]> memory;
  std::byte* begin;
};

transposed transpose_in_place(const problem& what, const gpu_setting& setting) {
  const std::int64_t first = static_cast<std::int64_t>(setting.dst_misalignment) - range_of(what, &axis::dst_stride).lo;
  const std::int64_t word = std::min(setting.alignment, alignment_of(first, first));
  const map::canonical form = map::canonicalize(what, word);
  const std::int64_t start = first + form.dst_offset * form.word_bytes;
  const gpu_wish wanted = {.multiprocessors = setting.multiprocessors,
                           .shared_bytes = setting.shared_bytes,
                           .alignment = static_cast<int>(std::min(setting.alignment, alignment_of(start, start))),
                           .kernel = setting.row,
                           .costs = &setting.tuned};
  const planning::gpu_rectangle made =
      planning::choose_rectangle(form, map::in_place(form), target_of(wanted), wanted.alignment, wanted.kernel);
  transposed result;
  result.way = made.way;
  if (made.kernel == nullptr) return result;
  result.row = made.kernel->name;
  one_memory memory(what, setting.dst_misalignment);
  const map::byte_span span = map::dst_span(form);
  const emulated::bytes array = {memory.data() + span.lo, memory.data() + span.hi};
  const exact_workspace work(made.workspace_bytes, setting.src_misalignment);
  const emulated::bytes workspace = {work.begin, work.begin + work.bytes};
  const auto within = [](const emulated::bytes& a, const emulated::bytes& b) {
    return a.begin >= b.begin && a.end <= b.end;
  };
  std::string fault;
  std::uint64_t seed = setting.seed;
  const auto launch = [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) {
    const map::byte_span src = map::src_span(move.form), dst = map::dst_span(move.form);
    emulated::session running;
    running.threads = setting.threads;
    running.seed = ++seed;
    running.resident = setting.resident;
    running.src = {from + src.lo, from + src.hi};
    running.dst = {to + dst.lo, to + dst.hi};
    const bool follows = move.chosen.row->family == std::string_view("cycles");
    const auto* const cycles = follows ? &move.chosen.as<gpu::cycles_args>() : nullptr;
    if (move.flags() > 0) running.flags = {flags, flags + move.flags()};
    if (cycles != nullptr) {
      running.src = running.dst = array;
      const emulated::bytes in_workspace = {from, from + cycles->count_in_workspace * cycles->item_bytes};
      if (cycles->count_in_workspace > 0 && !within(in_workspace, workspace)) fault = "items leave the workspace";
      if (cycles->writes_workspace != 0) {
        running.second = in_workspace;
        running.second_written = true;
      } else {
        running.also_read = {in_workspace};
      }
    } else if (move.flags() > 0) {  // strips wait for earlier strips, so all blocks run
      running.blocks.resize(move.chosen.blocks);
      std::iota(running.blocks.begin(), running.blocks.end(), 0U);
      result.strips = move.chosen.row->name;
    } else if (running.src.begin < running.dst.end && running.dst.begin < running.src.end) {
      fault = "a step writes to bytes that it reads";
    }
    const auto known = [&](const emulated::bytes& one) { return within(one, array) || within(one, workspace); };
    if (!known(running.src) || !known(running.dst)) fault = "a step leaves array and workspace";
    if (move.flags() > 0 && !within(running.flags, workspace)) fault = "flags leave the workspace";
    if (move.chosen.shared_bytes > setting.shared_bytes) fault = "wants too much shared memory";
    kernels::offer chosen = move.chosen;
    auto& args = args_of<gpu::array_args>(chosen);
    args.src = from + move.form.src_offset * move.form.word_bytes;
    args.dst = to + move.form.dst_offset * move.form.word_bytes;
    args.flags = flags;
    args.src_begin = reinterpret_cast<std::uint64_t>(running.src.begin);
    args.src_end = reinterpret_cast<std::uint64_t>(running.src.end);
    chosen.row->launch(chosen.args, chosen.blocks, chosen.shared_bytes, &running);
    if (fault.empty() && !running.fault.empty()) fault = std::string(move.chosen.row->name) + ": " + running.fault;
    return fault.empty() ? nullptr : fault.c_str();
  };
  const auto clear = [](std::uint32_t* flags, std::int64_t bytes) -> const char* {
    std::memset(flags, 0, static_cast<std::size_t>(bytes));
    return nullptr;
  };
  static_cast<void>(
      running::run_rectangle(made, memory.data() + form.dst_offset * form.word_bytes, work.begin, launch, clear));
  result.fault = fault.empty() ? memory.difference() : fault;
  return result;
}

gpu_setting any_rectangle_setting(dice& roll, const problem& what) {
  gpu_setting made = any_setting(roll, what);
  made.tuned = gpu::costs_for({.arch = 90});
  // A walker for each slot, or a few that test many slots.
  made.multiprocessors = roll.one_in(3) ? 132 : 1;
  constexpr int resident[] = {1, 2, 3, 8};
  made.resident = roll.of(resident);
  return made;
}

problem any_rectangle(dice& roll, std::int64_t element_bytes, std::int64_t most) {
  constexpr std::int64_t sides[] = {1,  2,  3,  5,  7,  16, 19, 21, 22,  23,  24,  25,  31,  32,  37, 40,
                                    47, 48, 61, 64, 67, 83, 97, 96, 100, 127, 128, 168, 211, 256, 509};
  std::int64_t rows = roll.of(sides), cols = roll.of(sides);
  if (rows == cols) ++cols;
  while (rows * cols * element_bytes > most) (rows > cols ? rows : cols) = (std::max(rows, cols) + 1) / 2;
  if (rows == cols) ++cols;
  return rectangle_of(rows, cols, element_bytes, roll.below(16));
}

class emulated_rectangle : public ::testing::TestWithParam<std::string> {};

TEST_P(emulated_rectangle, follows_cycles) {
  const kernels::kernel& row = *kernels::find(GetParam());
  dice roll(static_cast<std::uint64_t>(row.element_bytes) + 5);
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 520, 784, 2052, 4112};
  std::map<planning::rectangle_way, int> ways;
  int failures = 0, moves = 0;
  using enum planning::rectangle_way;
  const auto met = [&] { return ways[cycles] > 0 && ways[row_strips] > 0 && ways[col_strips] > 0; };
  for (int k = 0; k < 4000 && (moves < 60 / slower || !met()) && failures < 3; ++k) {
    const std::int64_t element_bytes = roll.of(sizes);
    const problem what = any_rectangle(roll, element_bytes, 25000);
    api::check(what);
    if (map::in_place(map::canonicalize(what)).kind != map::in_place_kind::rectangle) continue;
    gpu_setting setting = any_rectangle_setting(roll, what);
    setting.row = GetParam();
    if (row.element_bytes > 1 && !roll.one_in(6)) setting.alignment = 16, setting.dst_misalignment = 0;
    const transposed result = transpose_in_place(what, setting);
    if (result.row.empty()) continue;
    ++moves;
    ++ways[result.way];
    EXPECT_EQ(result.row, GetParam());
    EXPECT_EQ(result.fault, "") << static_cast<int>(result.way) << " " << to_text(what) << "\n" << to_text(setting);
    failures += !result.fault.empty();
  }
  EXPECT_TRUE(moves >= 60 / slower || failures > 0) << "only " << moves << " problems reach this row";
  for (const auto way : {cycles, row_strips, col_strips}) {
    EXPECT_GT(ways[way], 0) << static_cast<int>(way);
  }
  EXPECT_EQ(ways[buffered], 0);
}

INSTANTIATE_TEST_SUITE_P(list, emulated_rectangle, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const kernels::kernel& one : kernels::all()) {
                             if (one.launch != nullptr && one.family == std::string_view("cycles")) {
                               names.emplace_back(one.name);
                             }
                           }
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

TEST(emulated_rectangles, small_ones_go_there_and_back) {
  dice roll(7);
  int failures = 0;
  for (int k = 0; k < 100 / slower && failures < 3; ++k) {
    const problem what = any_rectangle(roll, roll.of(element_sizes), 60000);
    if (map::in_place(map::canonicalize(what)).kind != map::in_place_kind::rectangle) continue;
    const gpu_setting setting = any_rectangle_setting(roll, what);
    const transposed result = transpose_in_place(what, setting);
    EXPECT_EQ(result.way, planning::rectangle_way::buffered);
    EXPECT_EQ(result.fault, "") << result.row << " " << to_text(what) << "\n" << to_text(setting);
    failures += !result.fault.empty();
  }
}

// Sides that no cutting divides. The slots of a strip are whole rows or parts of a row, with and without columns over.
TEST(emulated_rectangles, sides_without_divisors) {
  dice roll(8);
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{101, 97},  {97, 101},  {251, 23}, {23, 251}, {997, 3},
                                                          {3, 997},   {499, 11},  {11, 499}, {131, 66}, {66, 131},
                                                          {1009, 67}, {67, 1009}, {211, 41}, {41, 211}, {84, 128}};
  int number = 0;
  for (const auto& shape : shapes) {
    for (const std::int64_t element_bytes : {1, 2, 4, 12}) {
      if (!keeps(number++)) continue;
      const problem what = placed(transpose_problem(shape.first, shape.second, element_bytes));
      gpu_setting setting = any_rectangle_setting(roll, what);
      setting.row = "gpu_cycles_b1";
      const transposed result = transpose_in_place(what, setting);
      EXPECT_GE(result.way,
                element_bytes == 1 ? planning::rectangle_way::cycles : planning::rectangle_way::row_strips)
          << to_text(what);  // items of few bytes would need too many flags
      ASSERT_EQ(result.fault, "") << static_cast<int>(result.way) << " " << to_text(what) << "\n" << to_text(setting);
    }
  }
}

// Every row of strips, forwards and backwards, with contiguous slots and with gaps.
TEST(emulated_rectangles, strips_are_transposed_in_one_launch) {
  const struct {
    const char* row;
    std::int64_t rows, cols, element_bytes;
    int multiprocessors;
  } cases[] = {
      {"gpu_strips_b1_128x128_r16_xor", 240, 1760, 1, 132}, {"gpu_strips_b1_128x128_r16_xor", 2096, 208, 1, 132},
      {"gpu_strips_b1_256x256_r16_xor", 160, 4576, 1, 1},   {"gpu_strips_b1_256x256_r16_xor", 5152, 160, 1, 1},
      {"gpu_strips_b2_128x128_r8_xor", 80, 2184, 2, 1},     {"gpu_strips_b2_128x128_r8_xor", 2184, 80, 2, 1},
      {"gpu_strips_b2_64x64_r8_xor", 64, 1208, 2, 1},       {"gpu_strips_b2_64x64_r8_xor", 856, 64, 2, 1},
      {"gpu_strips_b4_32x32_r4_xor", 28, 548, 4, 1},        {"gpu_strips_b4_32x32_r4_xor", 548, 28, 4, 1},
      {"gpu_strips_b4_32x32_r4_xor", 56, 480, 4, 132},      {"gpu_strips_b4_64x64_r4_xor", 56, 1016, 4, 1},
      {"gpu_strips_b4_64x64_r4_xor", 1016, 56, 4, 1},       {"gpu_strips_b4_64x64_r4_xor", 36, 1664, 4, 1},
      {"gpu_strips_b8_16x16_r2_xor", 28, 386, 8, 1},        {"gpu_strips_b8_16x16_r2_xor", 386, 28, 8, 1},
      {"gpu_strips_b8_64x64_r2_xor", 36, 1092, 8, 1},       {"gpu_strips_b8_64x64_r2_xor", 756, 52, 8, 1},
      {"gpu_strips_b1_unaligned", 2037, 239, 1, 1},         {"gpu_strips_b1_unaligned", 97, 5952, 1, 1},
      {"gpu_strips_b2_unaligned", 1974, 123, 2, 132},       {"gpu_strips_b2_unaligned", 113, 2163, 2, 1},
      {"gpu_strips_b4_unaligned", 2087, 65, 4, 1},          {"gpu_strips_b4_unaligned", 95, 1493, 4, 1},
      {"gpu_strips_b8_unaligned", 1155, 60, 8, 1},          {"gpu_strips_b8_unaligned", 53, 1302, 8, 1}};
  dice roll(12);
  std::set<std::string> met;
  for (const auto& one : cases) {
    const problem what = placed(transpose_problem(one.rows, one.cols, one.element_bytes));
    gpu_setting setting = any_rectangle_setting(roll, what);
    setting.alignment = 16;
    setting.dst_misalignment = 0;
    setting.shared_bytes = 227 << 10;
    setting.multiprocessors = one.multiprocessors;
    setting.row = "gpu_cycles_b1";
    const transposed result = transpose_in_place(what, setting);
    EXPECT_EQ(result.strips, one.row) << to_text(what);
    EXPECT_EQ(result.fault, "") << result.strips << " " << to_text(what) << "\n" << to_text(setting);
    met.insert(result.strips);
  }
  for (const kernels::kernel& row : kernels::all()) {
    if (row.family == std::string_view("strips")) {
      EXPECT_EQ(met.count(row.name), 1U) << row.name;
    }
  }
}

// The emulator must find a walker that writes to a slot that no walker has read.
TEST(emulated_rectangles, a_flag_that_no_walker_raises_is_seen) {
  const problem what = placed(transpose_problem(8, 4, 1024));
  const map::canonical form = map::canonicalize(what, 16);
  const planning::gpu_rectangle made = planning::choose_rectangle(
      form, map::in_place(form), planning::target_of({.arch = 90, .multiprocessors = 1, .shared_bytes = 64 << 10}), 16,
      "gpu_cycles_b1");
  ASSERT_EQ(made.moves.size(), 1U);
  auto args = made.moves[0].chosen.as<gpu::cycles_args>();
  std::vector<std::uint32_t> flags(static_cast<std::size_t>(kernels::flag_words(args.count)));
  flags[0] = 2;  // the second slot is claimed, and never read
  one_memory memory(what, 0);
  emulated::session running;
  running.src = running.dst = {memory.data(), memory.data() + 8 * 4 * 1024};
  running.flags = {flags.data(), flags.data() + flags.size()};
  args.src = args.dst = memory.data();
  args.flags = flags.data();
  made.moves[0].chosen.row->launch(&args, args.walkers, made.moves[0].chosen.shared_bytes, &running);
  EXPECT_NE(running.fault.find("waits for a flag"), std::string::npos) << running.fault;
}

}  // namespace
}  // namespace cornerturn::testing
