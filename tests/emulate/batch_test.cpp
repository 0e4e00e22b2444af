// Batches, emulated: planning::lay_out and its launches, with the table in host memory. Each item is compared with the
// walk of its problem. Every src is an allocation of its own, with no byte more than may be read. All dst are in one
// array, with guard bytes between them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "api/check.hpp"
#include "gpu_problems.hpp"
#include "kernels/gpu/small/args.hpp"
#include "move.hpp"
#include "plan/batch_gpu.hpp"

namespace cornerturn::testing::batch_test {
namespace {

constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};

class emulated_items {
 public:
  void add(const problem& what, std::size_t src_misalignment, std::size_t dst_misalignment) {
    const byte_range src = range_of(what, &axis::src_stride), dst = range_of(what, &axis::dst_stride);
    if (elements_of(what) == 0) return;
    std::size_t number = 0;
    while (number < problems_.size() && !(problems_[number] == what)) ++number;
    if (number == problems_.size()) problems_.push_back(what);
    item made;
    made.memory = lines(src_misalignment + src.size());
    made.src = {made.memory.get() + src_misalignment, made.memory.get() + src_misalignment + src.size()};
    seed_ += 8;
    std::memcpy(made.memory.get() + src_misalignment, pattern(seed_ + src.size()) + seed_, src.size());
    made.dst_at = (dst_bytes_ + 63) / 64 * 64 + 64 + dst_misalignment;
    dst_bytes_ = made.dst_at + dst.size();
    made.dst_at -= static_cast<std::size_t>(dst.lo);  // the offset of the caller's pointer
    moves_.push_back(
        {static_cast<std::uint32_t>(number), static_cast<const std::byte*>(made.src.begin) - src.lo, nullptr});
    items_.push_back(std::move(made));
  }
  [[nodiscard]] std::size_t size() const { return moves_.size(); }

  // Returns "" when launches of many items have transposed every item. `laid_out` gets the plan.
  std::string move(const gpu_setting& setting, planning::gpu_batch* laid_out = nullptr) {
    const std::size_t bytes = dst_bytes_ + 64;
    const heap_memory dst = lines(bytes), wanted = lines(bytes);
    std::memset(dst.get(), static_cast<int>(poison), bytes);
    std::memset(wanted.get(), static_cast<int>(poison), bytes);
    emulated::session running;
    running.threads = setting.threads;
    running.seed = setting.seed;
    running.dst = {dst.get(), dst.get() + bytes};
    for (std::size_t k = 0; k < moves_.size(); ++k) {
      const problem& what = problems_[moves_[k].which];
      const auto* const from = static_cast<const std::byte*>(moves_[k].src);
      std::byte* const to = wanted.get() + items_[k].dst_at;
      moves_[k].dst = dst.get() + items_[k].dst_at;
      walk(what, [&](std::int64_t s, std::int64_t d) {
        std::memcpy(to + d * what.element_bytes, from + s * what.element_bytes,
                    static_cast<std::size_t>(what.element_bytes));
      });
      running.also_read.push_back(items_[k].src);
    }
    planning::gpu_batch made = planning::lay_out(problems_, moves_,
                                                 target_of({.multiprocessors = setting.multiprocessors,
                                                            .shared_bytes = setting.shared_bytes,
                                                            .costs = &setting.tuned}));
    running.also_read.push_back({made.bytes.data(), made.bytes.data() + made.bytes.size()});
    if (!made.alone.empty()) return "item " + std::to_string(made.alone[0]) + " goes alone";
    for (const kernels::batch_launch& one : made.launches) {
      if (one.shared_bytes > setting.shared_bytes) return "wants " + std::to_string(one.shared_bytes) + " bytes shared";
      const char* const said = kernels::with_tables(one, made.bytes.data(), [&](const void* args) {
        return one.row->launch(args, one.blocks, one.shared_bytes, &running);
      });
      if (said != nullptr) return std::string(one.row->name) + ": " + said;
    }
    std::string fault;
    for (std::size_t k = 0; k < bytes && fault.empty(); ++k) {
      if (dst.get()[k] == wanted.get()[k]) continue;
      std::size_t near = 0;
      while (near + 1 < items_.size() && items_[near + 1].dst_at <= k) ++near;
      fault = "byte " + std::to_string(k - items_[near].dst_at) + " of dst of item " + std::to_string(near) + ", " +
              to_text(problems_[moves_[near].which]) + ", is " + std::to_string(static_cast<int>(dst.get()[k])) +
              ", wanted " + std::to_string(static_cast<int>(wanted.get()[k]));
    }
    if (laid_out != nullptr) *laid_out = std::move(made);
    return fault;
  }

 private:
  struct item {
    heap_memory memory;
    emulated::bytes src;
    std::size_t dst_at = 0;
  };
  std::vector<problem> problems_;
  std::vector<planning::batch_move> moves_;
  std::vector<item> items_;
  std::size_t dst_bytes_ = 0;
  std::size_t seed_ = 0;
};

std::size_t any_misalignment(dice& roll, std::int64_t element_bytes) {
  const std::int64_t unit = element_bytes & -element_bytes;
  if (roll.one_in(3)) return 0;
  return static_cast<std::size_t>(roll.one_in(4) ? roll.below(64) : roll.below(64) / unit * unit);
}

gpu_setting setting_of(dice& roll) {
  gpu_setting made = any_setting(roll, transpose_problem(64, 64, 4));
  made.alignment = 16;
  return made;
}

class emulated_batch : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(emulated_batch, moves_ragged_matrices) {
  dice roll(static_cast<std::uint64_t>(GetParam()));
  for (int turn = 0; turn < 4 / slower + 1; ++turn) {
    emulated_items some;
    const gpu_setting setting = setting_of(roll);
    for (int k = 0; k < 12; ++k) {
      some.add(matrix(roll.below(1 + 260 / GetParam()), roll.below(60), GetParam(), roll.below(77)),
               any_misalignment(roll, GetParam()), any_misalignment(roll, GetParam()));
    }
    ASSERT_EQ(some.move(setting), "") << to_text(setting);
  }
}

// Matrices of many rows are cut along them; columns that are contiguous in dst are one line.
TEST_P(emulated_batch, moves_matrices_of_several_panels) {
  dice roll(static_cast<std::uint64_t>(GetParam()) + 50);
  for (int turn = 0; turn < 4 / slower + 1; ++turn) {
    emulated_items some;
    const gpu_setting setting = setting_of(roll);
    for (int k = 0; k < 4; ++k) {
      const std::int64_t rows = 1 + roll.below(roll.one_in(2) ? 40 : 3000 / GetParam());
      const std::int64_t cols = 1 + roll.below(40000 / GetParam() / rows + 60);
      const problem what =
          roll.one_in(2) ? transpose_problem(rows, cols, GetParam()) : matrix(rows, cols, GetParam(), roll.below(77));
      some.add(what, any_misalignment(roll, GetParam()), any_misalignment(roll, GetParam()));
    }
    ASSERT_EQ(some.move(setting), "") << to_text(setting);
  }
}

// One shape at many addresses, equally aligned or not: boxes hold several of them.
TEST_P(emulated_batch, moves_small_ones_of_a_kind) {
  dice roll(static_cast<std::uint64_t>(GetParam()) + 100);
  int together = 0;
  for (int turn = 0; turn < 12 / slower + 1; ++turn) {
    emulated_items some;
    gpu_setting setting = setting_of(roll);
    setting.multiprocessors = 1;
    const std::size_t src = any_misalignment(roll, GetParam()), dst = any_misalignment(roll, GetParam());
    const bool equally_aligned = roll.one_in(2);
    const std::int64_t most = GetParam() <= 4 ? 40 : 16;
    const std::int64_t rows = 1 + roll.below(most), cols = 1 + roll.below(most);
    const problem what = roll.one_in(3)   ? matrix(rows, cols, GetParam(), roll.below(77))
                         : roll.one_in(3) ? any_strides(roll, GetParam(), 300)
                                          : transpose_problem(rows, cols, GetParam());
    for (int k = 0; k < 26; ++k) {
      some.add(what, equally_aligned ? src : any_misalignment(roll, GetParam()),
               equally_aligned ? dst : any_misalignment(roll, GetParam()));
    }
    planning::gpu_batch made;
    ASSERT_EQ(some.move(setting, &made), "") << to_text(what) << "\n" << to_text(setting);
    std::uint32_t blocks = 0;
    for (const kernels::batch_launch& one : made.launches) blocks += one.blocks;
    together += blocks < some.size();
  }
  EXPECT_GT(together, 0) << "no box held two items";
}

TEST(emulated_blocks, move_matrices_of_whole_chunks) {
  dice roll(7);
  for (const std::int64_t word : {1, 2, 4, 8}) {
    for (int turn = 0; turn < 4; ++turn) {
      const std::int64_t rows = (16 << roll.below(turn == 0 ? 1 : 4)) / word, cols = (16 << roll.below(4)) / word;
      const std::int64_t chunk = 16 / word;
      const problem what =
          transpose_problem(rows, cols, word, cols + chunk * roll.below(3), rows + chunk * roll.below(3));
      const std::int64_t enough = gpu::small_batch_bytes / (rows * cols * word);
      if (enough > 9000 / slower) continue;
      emulated_items some;
      for (std::int64_t k = roll.below(60); k < enough + 61; ++k) some.add(what, 0, 0);
      planning::gpu_batch made;
      ASSERT_EQ(some.move(setting_of(roll), &made), "") << to_text(what);
      ASSERT_EQ(made.launches.size(), 1U);
      EXPECT_EQ(made.launches[0].row->family, std::string("small"));
    }
  }
}

TEST_P(emulated_batch, moves_runs_and_single_elements) {
  dice roll(static_cast<std::uint64_t>(GetParam()) + 200);
  const auto place = [&] { return any_misalignment(roll, GetParam()); };
  emulated_items some;
  for (const std::int64_t length : {1, 2, 3, 7, 64, 1000}) {
    some.add(transpose_problem(1, length, GetParam()), place(), place());
    some.add(transpose_problem(length, 1, GetParam(), 3), place(), place());
    some.add(problem{.element_bytes = GetParam(), .rank = 1, .axes = {{{length, -1, 1}}}}, place(), place());
    some.add(problem{.element_bytes = GetParam(), .rank = 1, .axes = {{{length, 0, 1}}}}, place(), place());
    some.add(transpose_problem(1, length, GetParam()), place(), place());
  }
  for (int k = 0; k < 5; ++k) some.add(problem{.element_bytes = GetParam(), .rank = 0, .axes = {}}, place(), place());
  for (int turn = 0; turn < 3; ++turn) ASSERT_EQ(some.move(setting_of(roll)), "");
}

INSTANTIATE_TEST_SUITE_P(bytes, emulated_batch, ::testing::ValuesIn(sizes),
                         [](const auto& one) { return std::to_string(one.param); });

RC_GTEST_PROP(emulated_batches, move_every_item_as_it_is_defined, ()) {
  dice roll(*rc::gen::arbitrary<std::uint32_t>());
  emulated_items some;
  const gpu_setting setting = setting_of(roll);
  if (!roll.one_in(slower)) return;
  for (std::int64_t kinds = 1 + roll.below(3); kinds > 0; --kinds) {
    const std::int64_t element_bytes = roll.of(sizes);
    const problem what = roll.one_in(2) ? any_matrix(roll, element_bytes, 900) : any_strides(roll, element_bytes, 300);
    api::check(what);
    for (std::int64_t again = roll.one_in(2) ? 1 : 1 + roll.below(6); again > 0; --again) {
      some.add(what, any_misalignment(roll, element_bytes), any_misalignment(roll, element_bytes));
    }
  }
  RC_ASSERT(some.move(setting) == "");
}

}  // namespace
}  // namespace cornerturn::testing::batch_test
