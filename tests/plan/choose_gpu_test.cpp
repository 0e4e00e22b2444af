// The GPU row that the planner chooses. tests/emulate has the kernels of a build with CUDA.
#include "plan/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../emulate/gpu_problems.hpp"
#include "../emulate/move.hpp"
#include "api/check.hpp"
#include "base/checked.hpp"
#include "gpu_choice.hpp"

namespace cornerturn::planning::choose_gpu_test {
namespace {

using testing::permuted;
using testing::strided;
using testing::to_text;

// A large device, and pointers that are multiples of 16 bytes.
using testing::gpu_wish;
constexpr gpu_wish usual;

kernels::offer choose_for(const problem& what, gpu_wish wanted = usual) {
  api::check(what);
  std::int64_t word = wanted.alignment;
  if (const kernels::kernel* forced = kernels::find(wanted.kernel); forced != nullptr && forced->element_bytes > 0) {
    word = std::min<std::int64_t>(word, forced->element_bytes);
  }
  return testing::choose_move(map::canonicalize(what, word), wanted);
}

gpu_wish aligned_to(int bytes) {
  gpu_wish wanted = usual;
  wanted.alignment = bytes;
  return wanted;
}
gpu_wish with_shared(std::int64_t bytes) {
  gpu_wish wanted = usual;
  wanted.shared_bytes = bytes;
  return wanted;
}
gpu_wish forced(std::string_view row) {
  gpu_wish wanted = usual;
  wanted.kernel = row;
  return wanted;
}

void expect_row(const problem& what, const std::string& kernel, const gpu_wish& wanted = usual) {
  const kernels::offer made = choose_for(what, wanted);
  ASSERT_NE(made.row, nullptr) << to_text(what);
  EXPECT_EQ(made.row->name, kernel) << to_text(what);
  EXPECT_STRNE(made.reason, "");
  EXPECT_EQ(made.blocks == 0, map::words(map::canonicalize(what)) == 0);
  EXPECT_LE(made.shared_bytes, wanted.shared_bytes);
}

// The planner chooses one of `rows`: predictions for them are not certain enough to tell which.
void expect_one_of(const problem& what, const std::set<std::string>& rows, const gpu_wish& wanted = usual) {
  const kernels::offer made = choose_for(what, wanted);
  ASSERT_NE(made.row, nullptr) << to_text(what);
  EXPECT_TRUE(rows.contains(made.row->name)) << made.row->name << " for " << to_text(what);
}

// The planner chooses `kernel`, or a row that it predicts to be at most a tenth faster.
void expect_close(const problem& what, std::string_view kernel, const gpu_wish& wanted = usual) {
  const kernels::offer made = choose_for(what, wanted);
  ASSERT_NE(made.row, nullptr) << to_text(what);
  const map::canonical form = map::canonicalize(what, wanted.alignment);
  const kernels::offer expected =
      planning::choose(testing::facts_of(form, wanted), testing::target_of(wanted), {.kernel = kernel});
  ASSERT_NE(expected.row, nullptr) << kernel << " makes no offer for " << to_text(what);
  EXPECT_LE(expected.time, 1.1 * made.time) << kernel << " and " << made.row->name << " for " << to_text(what);
}

TEST(ask_gpu, nothing_to_move) {
  expect_row(transpose_problem(0, 5, 4), "gpu_copy_b4");
  expect_row(transpose_problem(5, 0, 3), "gpu_copy_b1");
}

TEST(ask_gpu, one_contiguous_run) {
  expect_row(problem{.element_bytes = 4}, "gpu_copy_b4");
  expect_row(problem{.element_bytes = 2}, "gpu_copy_b1");
  expect_row(permuted({3, 5, 8}, {0, 1, 2}, 12), "gpu_copy_b16");
  expect_row(transpose_problem(1, 1000, 8), "gpu_copy_b16");
  expect_row(transpose_problem(1, 1001, 8), "gpu_copy_b8");
  expect_row(transpose_problem(1, 1000, 8), "gpu_copy_b4", aligned_to(4));
}

TEST(ask_gpu, structures_of_a_few_elements) {
  expect_row(transpose_problem(1 << 24, 3, 4), "gpu_deinterleave_b4_3");
  expect_row(transpose_problem(3, 1 << 24, 4), "gpu_interleave_b4_3");
  expect_row(transpose_problem(1 << 24, 5, 1), "gpu_deinterleave_b1_5");
  expect_row(transpose_problem(5, 1 << 24, 8), "gpu_interleave_b8_5");
}

TEST(ask_gpu, structures_of_a_few_elements_at_any_address) {
  expect_row(transpose_problem((1 << 24) + 1, 3, 1), "gpu_deinterleave_b1_3_unaligned");
  expect_row(transpose_problem(3, (1 << 24) + 1, 4), "gpu_interleave_b4_3_unaligned", aligned_to(4));
  expect_row(transpose_problem(1 << 24, 2, 2), "gpu_deinterleave_b2_2_unaligned", aligned_to(4));
  expect_row(transpose_problem(1 << 24, 2, 2), "gpu_assemble_b2", aligned_to(2));  // half a structure
  expect_row(transpose_problem((1 << 24) + 1, 4, 4), "gpu_tall_skinny_b4_unaligned");
  expect_row(permuted({16, 1081 * 1921, 3}, {0, 2, 1}, 1), "gpu_deinterleave_b1_3_unaligned");
  expect_row(transpose_problem(1 << 24, 3, 4), "gpu_deinterleave_b4_3_unaligned",
             forced("gpu_deinterleave_b4_3_unaligned"));
}

TEST(ask_gpu, many_small_matrices) {
  expect_row(permuted({100000, 16, 16}, {0, 2, 1}, 1), "gpu_small_b1_many");
  // 0.946 and 0.955 of a copy (H200, 2026-11-25).
  expect_one_of(permuted({100000, 32, 8}, {0, 2, 1}, 4), {"gpu_assemble_b4_fused", "gpu_small_b4_many"});
  expect_close(permuted({100000, 32, 8}, {0, 2, 1}, 4), "gpu_small_b4_many");
  expect_row(batched(transpose_problem(8, 64, 2), 50000, 520, 528), "gpu_small_b2_many");
}

TEST(ask_gpu, panels_for_many_matrices) {
  const auto many = [](std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t gap = 0) {
    const problem one = transpose_problem(rows, cols, element_bytes, cols, rows + gap);
    return batched(one, 50000, rows * cols, (rows + gap) * cols);
  };
  expect_one_of(many(155, 153, 4), {"gpu_panel_b4", "gpu_assemble_b4"});
  for (const int alignment : {8, 16}) {
    expect_one_of(many(301, 299, 8), {"gpu_panel_b8", "gpu_unaligned_tile_b8_64x64", "gpu_assemble_b8"},
                  aligned_to(alignment));
    expect_close(many(301, 299, 8), "gpu_panel_b8", aligned_to(alignment));
  }
  expect_one_of(many(155, 153, 4, 1), {"gpu_panel_b4", "gpu_assemble_b4"});      // not end to end in dst
  expect_one_of(many(9, 11, 4), {"gpu_gather_b4", "gpu_assemble_b4_fused"});     // several fit a box
  expect_one_of(many(155, 153, 1), {"gpu_gather_b1", "gpu_assemble_b1_fused"});  // a box holds all of one
  // The predicted times are 16 % apart, and the tile's is too short: 6713 of 194 x 192 took 3.26 times a copy's time by
  // gpu_unaligned_tile_b1_128x256, predicted 1.80, and 2.00 times by gpu_panel_b1, predicted 2.69 (H200, 2026-11-23).
  expect_one_of(many(301, 299, 1), {"gpu_panel_b1", "gpu_unaligned_tile_b1_128x256", "gpu_assemble_b1"});
  expect_one_of(many(155, 153, 2), {"gpu_panel_b2", "gpu_assemble_b2"}, aligned_to(2));
  expect_row(transpose_problem(155, 153, 4), "gpu_small_b4_32x32");  // only one
}

TEST(ask_gpu, rows_that_want_more_shared_memory_than_there_is_are_not_chosen) {
  for (const std::int64_t room : {16 << 10, 48 << 10, 64 << 10, 99 << 10}) {
    for (const int element_bytes : {1, 2, 4, 8, 16}) {
      for (const std::int64_t size : {100, 512, 4099, 16384}) {
        for (const problem& what :
             {transpose_problem(size, size, element_bytes), transpose_problem(size * 100, 32, element_bytes),
              transpose_problem(6, size * 100, element_bytes)}) {
          const kernels::offer made = choose_for(what, with_shared(room));
          ASSERT_NE(made.row, nullptr) << to_text(what);
          EXPECT_LE(made.shared_bytes, room) << to_text(what);
        }
      }
    }
  }
  const std::int64_t enough = kernels::find("gpu_unaligned_tile_b1_128x256")->shared_bytes;
  EXPECT_EQ(choose_for(transpose_problem(9999, 7001, 1), with_shared(enough)).row->family,
            std::string_view("unaligned_tile"));
  EXPECT_NE(choose_for(transpose_problem(9999, 7001, 1), with_shared(enough - 1)).row->family,
            std::string_view("unaligned_tile"));
}

problem any_permutation(testing::dice& roll, const std::vector<std::int64_t>& extents, std::int64_t element_bytes) {
  std::vector<int> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t k = axes.size(); k > 1; --k) {
    std::swap(axes[k - 1], axes[static_cast<std::size_t>(roll.below(static_cast<std::int64_t>(k)))]);
  }
  return permute_problem(extents, axes, element_bytes);
}
// Three to five axes of up to 400 in any order, or few columns or rows of millions: most are larger than L2.
problem large_permutation(testing::dice& roll, std::int64_t element_bytes) {
  if (roll.one_in(8)) {
    const std::int64_t few = 2 + roll.below(15), many = (1 << 20) + roll.below(1 << 24);
    return roll.one_in(2) ? transpose_problem(many, few, element_bytes) : transpose_problem(few, many, element_bytes);
  }
  std::vector<std::int64_t> extents(static_cast<std::size_t>(3 + roll.below(3)));
  for (std::int64_t& one : extents) one = 2 + roll.below(399);
  return any_permutation(roll, extents, element_bytes);
}
// Two axes of up to 3000 or three of up to 200, of words or of three words: most stay in L2.
problem cached_permutation(testing::dice& roll, std::int64_t word_bytes) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(2 + roll.below(2)));
  for (std::int64_t& one : extents) one = 2 + roll.below(extents.size() == 2 ? 2999 : 199);
  return any_permutation(roll, extents, word_bytes * (roll.one_in(2) ? 1 : 3));
}

TEST(ask_gpu, every_row_is_reached) {
  std::set<std::string> missed;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.launch == nullptr || row.kind != kernels::row_kind::move) continue;
    missed.insert(row.name);
    testing::dice of_any(1), of_cached(1);
    for (int k = 0; k < 240000 && missed.contains(row.name); ++k) {
      const bool is_cached = row.element_bytes > 0 && k % 2 == 1;
      testing::dice& roll = is_cached ? of_cached : of_any;
      const bool is_large = !is_cached && row.element_bytes > 0 && roll.one_in(3);
      problem what = is_cached  ? cached_permutation(roll, row.element_bytes)
                     : is_large ? large_permutation(roll, row.element_bytes)
                                : testing::any_gpu_problem(roll, &row, row.element_bytes);
      if (!is_cached && !is_large && roll.one_in(2)) {  // the axes of a larger problem
        for (int i = 0; i < what.rank; ++i) {
          axis& one = what.axes[i];
          const auto shorter = [&](const axis& other) {
            return &other == &one || (base::magnitude(other.src_stride) < base::magnitude(one.src_stride) &&
                                      base::magnitude(other.dst_stride) < base::magnitude(one.dst_stride));
          };
          if (std::all_of(what.axes.begin(), what.axes.begin() + what.rank, shorter))
            one.extent *= roll.one_in(2) ? 64 : 1024;
        }
      }
      gpu_wish wanted = usual;
      wanted.multiprocessors = roll.one_in(2) ? 1 : 132;
      wanted.alignment = roll.one_in(2) ? 16 : row.element_bytes;
      const kernels::offer made = choose_for(what, wanted);
      if (made.row == nullptr) {  // more blocks than a grid has
        std::int64_t bytes = what.element_bytes;
        for (int i = 0; i < what.rank; ++i) bytes *= what.axes[i].extent;
        ASSERT_GT(bytes, std::int64_t{1} << 40) << to_text(what);
        continue;
      }
      missed.erase(made.row->name);
    }
  }
  for (const std::string& name : missed) ADD_FAILURE() << name << " is chosen for no problem";
}

TEST(ask_gpu_forced, a_row_is_taken_at_its_word) {
  const problem what = transpose_problem(512, 512, 4);
  for (const char* row : {"gpu_tile_b4_64x64_r4_xor", "gpu_small_b4_32x32", "gpu_unaligned_tile_b4_128x64",
                          "gpu_gather_b4", "gpu_gather_b2", "gpu_gather_b1"}) {
    const kernels::offer made = choose_for(what, forced(row));
    ASSERT_NE(made.row, nullptr) << row;
    EXPECT_STREQ(made.row->name, row);
    EXPECT_GT(made.blocks, 0u);
  }
}

TEST(ask_gpu_forced, a_row_that_cannot_move_the_problem_is_refused) {
  const problem what = transpose_problem(512, 512, 4);
  for (const char* row :
       {"gpu_tile_b8_64x64_r2_xor", "gpu_tile_b4_64x64_r4_xor_fused", "gpu_copy_b4", "gpu_copy_b4_runs",
        "gpu_tall_skinny_b4_256x16_r4", "gpu_deinterleave_b4_3", "gpu_gather_b8", "cpu_gather", "none"}) {
    EXPECT_EQ(choose_for(what, forced(row)).row, nullptr) << row;
  }
  gpu_wish loose = forced("gpu_tile_b4_64x64_r4_xor");
  loose.alignment = 4;
  EXPECT_EQ(choose_for(what, loose).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(512, 510, 4), forced("gpu_tile_b4_64x64_r4_xor")).row, nullptr);
  gpu_wish small = forced("gpu_unaligned_tile_b1_128x256");
  small.shared_bytes = kernels::find("gpu_unaligned_tile_b1_128x256")->shared_bytes - 1;
  EXPECT_EQ(choose_for(transpose_problem(512, 512, 1), small).row, nullptr);
  EXPECT_EQ(choose_for(strided(4, {{100, 1, 3}}), forced("gpu_unaligned_tile_b4_128x64")).row, nullptr);
}

// lang.cuh of a vendor may lack a word. Each of these rows accepts its problem with the word.
TEST(ask_gpu_forced, a_row_that_needs_an_absent_word_makes_no_offer) {
  const auto offered = [](const problem& what, const char* row, const kernels::lang_words& words) {
    const map::canonical form = map::canonicalize(what, kernels::find(row)->element_bytes);
    kernels::target on = testing::target_of(usual);
    on.words = words;
    const bool computes = !map::only_moves(what);
    kernels::facts known =
        kernels::facts_of(form, computes ? kernels::op_of(what.math, what.element_bytes) : kernels::op{});
    const map::in_place_form places = what.in_place ? map::in_place(form) : map::in_place_form{};
    if (what.in_place) known.in_place = &places;
    return planning::choose(known, on, {.kind = kernels::find(row)->kind, .kernel = row}).row != nullptr;
  };
  problem in_place = transpose_problem(511, 511, 4);
  in_place.in_place = true;
  problem converts = transpose_problem(512, 512, 4);
  converts.math = {.src = element_type::float32, .dst = element_type::float16};
  const problem matrix = transpose_problem(512, 512, 4);
  const struct {
    problem what;
    const char* row;
    bool kernels::lang_words::*word;  // null: it needs none
  } cases[] = {
      {matrix, "gpu_tile_b4_64x64_r4_xor", nullptr},
      {matrix, "gpu_gather_b4", &kernels::lang_words::async_copies},
      {matrix, "gpu_assemble_b4", &kernels::lang_words::async_copies},
      {batched(transpose_problem(155, 153, 4), 5000, 155 * 153, 155 * 153), "gpu_panel_b4",
       &kernels::lang_words::async_copies},
      {matrix, "gpu_unaligned_tile_b4_128x64", &kernels::lang_words::async_copies},
      {transpose_problem(2, 1 << 16, 4), "gpu_interleave_b4_2", &kernels::lang_words::async_copies},
      {transpose_problem(1 << 16, 16, 4), "gpu_tall_skinny_b4_256x16_r4", &kernels::lang_words::async_copies},
      {transpose_problem(16, 1 << 16, 4), "gpu_short_wide_b4_16x256_r4", &kernels::lang_words::async_copies},
      {batched(transpose_problem(16, 16, 4), 999, 256, 256), "gpu_small_b4_many", &kernels::lang_words::async_copies},
      {in_place, "gpu_swap_b4_unaligned", &kernels::lang_words::async_copies},
      {converts, "gpu_apply_b4_b2_64x64_r4_xor", &kernels::lang_words::small_floats},
  };
  for (const auto& one : cases) {
    EXPECT_TRUE(offered(one.what, one.row, {})) << one.row;
    for (bool kernels::lang_words::*word :
         {&kernels::lang_words::async_copies, &kernels::lang_words::block_flags, &kernels::lang_words::small_floats}) {
      kernels::lang_words words;
      words.*word = false;
      EXPECT_EQ(offered(one.what, one.row, words), word != one.word) << one.row;
    }
  }
}

// Any extents up to 2^40 bytes, far too large for a test to copy.
TEST(ask_gpu_huge, problems_are_cut_into_blocks_that_a_grid_has) {
  testing::dice roll(40);
  for (int k = 0; k < 3000; ++k) {
    problem what{.element_bytes = roll.of(testing::element_sizes)};
    what.rank = static_cast<int>(1 + roll.below(max_rank));
    std::int64_t room = (std::int64_t{1} << 40) / what.element_bytes;
    std::vector<int> order(static_cast<std::size_t>(what.rank));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(roll.below(i))]);
    std::int64_t src = 1, dst = 1;
    for (int i = 0; i < what.rank; ++i) {
      axis& one = what.axes[i];
      one.extent = std::min(room, 1 + roll.below(std::int64_t{2} << roll.below(what.rank < 4 ? 34 : 8)));
      room /= one.extent;
      one.dst_stride = dst;
      dst *= one.extent;
    }
    for (const int i : order) {
      what.axes[i].src_stride = src;
      src *= what.axes[i].extent;
    }
    const kernels::offer made = choose_for(what, aligned_to(1 << roll.below(5)));
    ASSERT_NE(made.row, nullptr) << to_text(what);
    ASSERT_GT(made.blocks, 0u) << to_text(what);
    ASSERT_LE(made.blocks, 0x7fffffffu) << to_text(what);
  }
}

}  // namespace
}  // namespace cornerturn::planning::choose_gpu_test
