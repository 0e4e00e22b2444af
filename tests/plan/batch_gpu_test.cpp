// The tables of a batch, without a launch: tests/emulate/batch_test.cpp runs kernels with them.
#include "plan/batch_gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "kernels/gpu/gather/args.hpp"
#include "kernels/gpu/panel/args.hpp"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::planning::batch_gpu_test {
namespace {

const kernels::target h200 = target_of({.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10});

const void* from(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }
void* to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

gpu_batch lay_out_for(const std::vector<problem>& problems, const std::vector<batch_move>& moves) {
  return lay_out(problems, moves, h200);
}

// Entry `number` of a table. Its pointer is the offset of the table.
template <class T, class Pointer>
T read(const gpu_batch& made, Pointer table, std::size_t number = 0) {
  T value{};
  std::memcpy(&value, made.bytes.data() + reinterpret_cast<std::uintptr_t>(table) + number * sizeof value,
              sizeof value);
  return value;
}

std::vector<gpu::gather_block> blocks_of(const gpu_batch& made, const kernels::batch_launch& one) {
  std::vector<gpu::gather_block> all;
  for (std::uint32_t k = 0; k < one.blocks; ++k) {
    all.push_back(read<gpu::gather_block>(made, one.as<gpu::gather_batch_args>().blocks, k));
  }
  return all;
}

TEST(gpu_batch, one_launch_for_each_word_size) {
  const std::vector<problem> problems = {transpose_problem(33, 35, 4), transpose_problem(33, 35, 2),
                                         transpose_problem(40, 50, 4), transpose_problem(33, 35, 12)};
  std::vector<batch_move> moves;
  for (std::uintptr_t k = 0; k < 40; ++k) {
    moves.push_back({static_cast<std::uint32_t>(k % 4), from(0x10000 * (k + 1)), to(0x1000000 + 0x10000 * k)});
  }
  const gpu_batch made = lay_out_for(problems, moves);
  EXPECT_TRUE(made.alone.empty());
  const auto expect = [&](std::size_t k, const char* kernel, std::int64_t items, std::int64_t shapes) {
    EXPECT_STREQ(made.launches[k].row->name, kernel);
    EXPECT_EQ(made.launches[k].items, items) << k;
    EXPECT_EQ(made.launches[k].shapes, shapes) << k;
  };
  ASSERT_EQ(made.launches.size(), 3U);
  expect(0, "gpu_panel_b2_batch", 10, 1);
  expect(1, "gpu_panel_b4_batch", 20, 2);
  expect(2, "gpu_gather_b4_batch", 10, 1);  // 12 bytes are three words
}

TEST(gpu_batch, panels_are_all_of_each_matrix) {
  const problem what = transpose_problem(700, 333, 4, 340, 720);
  const gpu_batch made =
      lay_out_for({what, what}, {{0, from(0x100004), to(0x90000c)}, {1, from(0x2000000), to(0xa000000)}});
  const std::uint64_t src[] = {0x100004, 0x2000000}, dst[] = {0x90000c, 0xa000000};
  std::map<std::pair<std::int64_t, std::int64_t>, int> covered[2];
  for (const kernels::batch_launch& one : made.launches) {
    const auto& args = one.as<gpu::panel_batch_args>();
    for (std::uint32_t k = 0; k < args.count; ++k) {
      const auto panel = read<gpu::panel_item>(made, args.items, k);
      EXPECT_LE(panel.shape.shared_bytes + static_cast<int>(sizeof(gpu::panel_item)), args.shared_bytes);
      EXPECT_EQ(panel.shape.team_log2, args.team_log2);
      const int which = panel.src >= src[1] ? 1 : 0;
      EXPECT_EQ(panel.src_begin, src[which]);
      EXPECT_EQ(panel.src_end, src[which] + (699 * 340 + 333) * 4);
      const auto first = static_cast<std::int64_t>(panel.src - src[which]) / 4;
      const std::int64_t row = first / 340, col = first % 340;
      EXPECT_EQ(panel.dst, dst[which] + static_cast<std::uint64_t>(col * 720 + row) * 4);
      for (std::int64_t r = 0; r < panel.shape.rows.divisor; ++r) {
        for (std::int64_t c = 0; c < panel.cols; ++c) ++covered[which][{row + r, col + c}];
      }
    }
  }
  for (const auto& all : covered) {
    EXPECT_EQ(all.size(), 700U * 333U);
    for (const auto& [place, times] : all) ASSERT_EQ(times, 1) << place.first << ", " << place.second;
  }
}

TEST(gpu_batch, alignments_are_planned_apart) {
  const std::vector<problem> problems = {transpose_problem(64, 64, 16)};
  std::vector<batch_move> moves;
  for (std::uintptr_t k = 0; k < 16; ++k)
    moves.push_back({0, from(0x100000 * (k + 1) + 4 * k), to(0x10000000 + 0x100000 * k)});
  const gpu_batch made = lay_out_for(problems, moves);
  ASSERT_EQ(made.launches.size(), 3U) << "words of 4, 8 and 16 bytes";
  EXPECT_EQ(made.launches[0].items, 8);
  EXPECT_EQ(made.launches[1].items, 4);
  EXPECT_EQ(made.launches[2].items, 4);
  for (const kernels::batch_launch& one : made.launches) EXPECT_EQ(one.shapes, 1);
}

TEST(gpu_batch, a_block_takes_several_small_items) {
  const std::vector<problem> problems = {transpose_problem(8, 8, 4)};
  constexpr std::uint32_t count = 100001;
  std::vector<batch_move> moves;
  for (std::uintptr_t k = 0; k < count; ++k) moves.push_back({0, from(0x100004 + 256 * k), to(0x10000000 + 512 * k)});
  const gpu_batch made = lay_out_for(problems, moves);
  ASSERT_EQ(made.launches.size(), 1U);
  const kernels::batch_launch& one = made.launches[0];
  EXPECT_LE(one.blocks, count / 32) << "8 KiB at least";
  const auto shape = read<gpu::gather_shape>(made, one.as<gpu::gather_batch_args>().shapes);
  EXPECT_GE(shape.item_slot, 0);
  EXPECT_EQ(shape.box.arrays.src_end, 256U);
  std::uint32_t next = 0;
  for (const gpu::gather_block& block : blocks_of(made, one)) {
    EXPECT_EQ(block.first, next);
    next += block.count;
  }
  EXPECT_EQ(next, count);
  for (const std::uint32_t k : {0U, 77U, count - 1}) {
    const auto item = read<gpu::item_addresses>(made, one.as<gpu::gather_batch_args>().items, k);
    EXPECT_EQ(item.src, 0x100004 + 256 * std::uint64_t{k});
    EXPECT_EQ(item.dst, 0x10000000 + 512 * std::uint64_t{k});
  }
  // A few items are spread over the multiprocessors.
  moves.resize(300);
  EXPECT_EQ(lay_out_for(problems, moves).launches[0].blocks, 300U);
}

TEST(gpu_batch, many_matrices_of_whole_chunks_have_a_launch) {
  const std::vector<problem> problems = {transpose_problem(16, 16, 2), transpose_problem(32, 8, 4, 12, 40),
                                         transpose_problem(24, 16, 2)};
  constexpr std::uint32_t count = 3001;
  std::vector<batch_move> moves;
  for (std::uintptr_t k = 0; k < 3 * count; ++k) {
    moves.push_back({static_cast<std::uint32_t>(k % 3), from(0x100000 + 2048 * k), to(0x10000000 + 4096 * k)});
  }
  const gpu_batch made = lay_out_for(problems, moves);
  ASSERT_EQ(made.launches.size(), 3U);
  EXPECT_STREQ(made.launches[0].row->name, "gpu_small_b2_batch");
  EXPECT_EQ(made.launches[0].blocks, 47U) << "64 in each";
  EXPECT_STREQ(made.launches[1].row->name, "gpu_small_b4_batch");
  EXPECT_STREQ(made.launches[2].row->name, "gpu_gather_b2_batch") << "three chunks a side";
  const auto& args = made.launches[1].as<gpu::small_batch_args>();
  EXPECT_EQ(args.count, count);
  EXPECT_EQ(args.down_log2, 3);
  EXPECT_EQ(args.across_log2, 1);
  EXPECT_EQ(args.src_row_bytes, 48);
  EXPECT_EQ(args.dst_col_bytes, 160);
  for (const std::uint32_t k : {0U, 77U, count - 1}) {
    const auto item = read<gpu::item_addresses>(made, args.items, k);
    EXPECT_EQ(item.src, 0x100000 + 2048 * (3 * std::uint64_t{k} + 1));
    EXPECT_EQ(item.dst, 0x10000000 + 4096 * (3 * std::uint64_t{k} + 1));
  }
  moves.resize(300);  // too few for a launch of their own
  for (const auto& one : lay_out_for(problems, moves).launches) EXPECT_NE(one.row->family, std::string("small"));
  moves.resize(1);
  moves.resize(3 * count, {0, from(0x100008), to(0x10000000)});
  for (const auto& one : lay_out_for(problems, moves).launches) EXPECT_NE(one.row->family, std::string("small"));
}

TEST(gpu_batch, blocks_of_an_item_are_counted) {
  const std::vector<problem> problems = {transpose_problem(300, 200, 16)};
  const gpu_batch made =
      lay_out_for(problems, {{0, from(0x10000000), to(0x900000)}, {0, from(0x20000000), to(0xa00000)}});
  ASSERT_EQ(made.launches.size(), 1U);
  EXPECT_GT(made.launches[0].blocks, 2U);
  std::map<std::uint32_t, std::uint32_t> parts;
  for (const gpu::gather_block& block : blocks_of(made, made.launches[0])) {
    EXPECT_EQ(block.number, parts[block.first]++);
    EXPECT_EQ(block.count, 1U);
  }
  EXPECT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], parts[1]);
}

TEST(gpu_batch, a_large_item_goes_alone) {
  const std::vector<problem> problems = {transpose_problem(3000, 3000, 4), transpose_problem(30, 30, 4)};
  const gpu_batch made = lay_out_for(
      problems,
      {{1, from(0x100000), to(0x900000)}, {0, from(0x10000000), to(0x90000000)}, {1, from(0x200000), to(0xa00000)}});
  EXPECT_EQ(made.alone, (std::vector<std::size_t>{1}));
  ASSERT_EQ(made.launches.size(), 1U);
  EXPECT_EQ(made.launches[0].items, 2);
}

TEST(gpu_batch, index_0_is_what_counts) {
  problem backward{.element_bytes = 16, .rank = 2, .axes = {}};
  backward.axes[0] = {10, -1, 16};
  backward.axes[1] = {16, 12, 1};
  const gpu_batch made = lay_out_for({backward}, {{0, from(0x100000), to(0x900000)}});
  ASSERT_EQ(made.launches.size(), 1U);
  const auto& laid_out = made.launches[0].as<gpu::gather_batch_args>();
  const auto item = read<gpu::item_addresses>(made, laid_out.items);
  const map::canonical form = map::canonicalize(backward, 16);
  EXPECT_EQ(item.src, 0x100000U + static_cast<std::uint64_t>(form.src_offset * form.word_bytes));
  const auto shape = read<gpu::gather_shape>(made, laid_out.shapes);
  EXPECT_EQ(item.src + shape.box.arrays.src_begin, 0x100000U - 9 * 16);
  EXPECT_EQ(item.src + shape.box.arrays.src_end, 0x100000U + (15 * 12 + 1) * 16);
  kernels::with_tables(made.launches[0], made.bytes.data(), [&](const void* started) {
    const auto& args = *static_cast<const gpu::gather_batch_args*>(started);
    EXPECT_EQ(reinterpret_cast<const std::byte*>(args.items),
              made.bytes.data() + reinterpret_cast<std::uintptr_t>(laid_out.items));
    EXPECT_EQ(made.launches[0].shared_bytes, args.shape_at + args.shape_bytes);
  });
}

// lay_out lets rows skip offers that cannot win; the offers that explain() prints are all of them.
TEST(gpu_batch, each_shape_goes_to_the_cheapest_of_all_offers) {
  const std::vector<problem> problems = {
      transpose_problem(8, 8, 4),
      transpose_problem(16, 16, 4),
      transpose_problem(33, 35, 2),
      transpose_problem(3, 7, 12),
      transpose_problem(5, 4, 1),
      transpose_problem(300, 200, 8),
      transpose_problem(700, 90, 16),
      transpose_problem(2, 2, 1),
      permute_problem(std::vector<std::int64_t>{5, 6, 7}, std::vector<int>{2, 1, 0}, 4)};
  for (std::uint32_t which = 0; which < problems.size(); ++which) {
    for (const std::uintptr_t count : {1, 3, 700, 30000}) {
      for (const std::uintptr_t off : {0, 1}) {
        std::vector<batch_move> moves;
        for (std::uintptr_t k = 0; k < count; ++k) {
          const std::uintptr_t unit =
              static_cast<std::uintptr_t>(problems[which].element_bytes & -problems[which].element_bytes);
          moves.push_back({which, from(0x10000000 + 0x1000000 * k + off * unit), to(0x1000000000000 + 0x1000000 * k)});
        }
        const gpu_batch made = lay_out_for(problems, moves);
        ASSERT_EQ(made.shapes.size(), 1U);
        EXPECT_EQ(made.shapes[0].items, static_cast<std::int64_t>(count));
        const std::vector<kernels::offer> all =
            offers(problems[which], made.shapes[0], static_cast<std::int64_t>(count), h200);
        ASSERT_FALSE(all.empty());
        ASSERT_FALSE(made.launches.empty());
        for (const kernels::batch_launch& one : made.launches) EXPECT_EQ(one.row, all[0].row) << which << ' ' << count;
        for (std::size_t k = 0; k < all.size(); ++k) {
          EXPECT_STRNE(all[k].reason, "");
          EXPECT_GT(all[k].time, 1);
          if (k > 0) {
            EXPECT_LE(all[k - 1].time, all[k].time);
          }
        }
      }
    }
  }
}

TEST(gpu_batch, a_vendor_without_asynchronous_copies_launches_each_item) {
  kernels::target on = h200;
  on.words.async_copies = false;
  const std::vector<problem> problems = {transpose_problem(16, 16, 4), transpose_problem(33, 35, 2)};
  std::vector<batch_move> moves;
  for (std::uintptr_t k = 0; k < 4000; ++k) {
    moves.push_back({static_cast<std::uint32_t>(k % 2), from(0x100000 + 4096 * k), to(0x100000000 + 4096 * k)});
  }
  const gpu_batch made = lay_out(problems, moves, on);
  EXPECT_TRUE(made.launches.empty());
  EXPECT_EQ(made.alone.size(), moves.size());
}

TEST(gpu_batch, of_nothing_is_nothing) {
  const gpu_batch made = lay_out_for({}, {});
  EXPECT_TRUE(made.bytes.empty());
  EXPECT_TRUE(made.launches.empty());
}

}  // namespace
}  // namespace cornerturn::planning::batch_gpu_test
