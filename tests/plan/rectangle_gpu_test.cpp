#include "plan/rectangle_gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "../kernels/in_place_cases.hpp"
#include "gpu_choice.hpp"
#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/strips/args.hpp"
#include "run/launch.hpp"

namespace cornerturn::planning::rectangle_gpu_test {
namespace {

using testing::dice;
using testing::placed;
using testing::to_text;

using testing::gpu_wish;
const gpu_wish usual;

gpu_rectangle choose_for(const problem& what, const gpu_wish& wanted = usual) {
  const map::canonical form = map::canonicalize(placed(what), wanted.alignment);
  return choose_rectangle(form, map::in_place(form), testing::target_of(wanted), wanted.alignment, wanted.kernel);
}

const gpu::strips_args* strips_of(const gpu_move& move) {
  return move.chosen.row->family == std::string_view("strips") ? &move.chosen.as<gpu::strips_args>() : nullptr;
}

const gpu::cycles_args* cycles_of(const gpu_rectangle& made) {
  for (const gpu_move& one : made.moves) {
    if (one.chosen.row->family == std::string_view("cycles")) return &one.chosen.as<gpu::cycles_args>();
  }
  return nullptr;
}

TEST(gpu_rectangle_list, has_a_way_for_each) {
  const auto way = [](std::int64_t rows, std::int64_t cols, std::int64_t element_bytes) {
    return choose_for(transpose_problem(rows, cols, element_bytes)).way;
  };
  EXPECT_EQ(way(2000, 1000, 4), rectangle_way::buffered);
  EXPECT_EQ(way(2048, 2047, 4), rectangle_way::buffered);
  EXPECT_EQ(way(2000, 1000, 4096), rectangle_way::cycles);
  EXPECT_EQ(way(100000, 700, 4), rectangle_way::row_strips);
  EXPECT_EQ(way(700, 100000, 4), rectangle_way::col_strips);
  EXPECT_EQ(way(50000000, 3, 4), rectangle_way::row_strips);
  EXPECT_EQ(way(3, 50000000, 4), rectangle_way::col_strips);
}

TEST(gpu_rectangle_list, the_workspace_is_bounded_and_passes_are_two) {
  dice roll(3);
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 100, 511, 512, 1000};
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {10007, 8009}, {8192, 16384}, {20000, 7000},   {9999, 7001},    {5003, 2003}, {4096, 12288},
      {1000003, 97}, {97, 1000003}, {21, 100000007}, {100000007, 19}, {65537, 257}};
  for (std::int64_t narrow = 2; narrow < 130; ++narrow) shapes.emplace_back(20000003 / narrow, narrow);
  for (int k = 0; k < 400; ++k) shapes.emplace_back(2 + roll.below(20000), 2 + roll.below(20000));
  for (const auto& shape : shapes) {
    for (const std::int64_t element_bytes : sizes) {
      const problem what = transpose_problem(shape.first, shape.second, element_bytes);
      if (map::in_place(map::canonicalize(placed(what))).kind != map::in_place_kind::rectangle) continue;
      const gpu_rectangle made = choose_for(what);
      ASSERT_NE(made.kernel, nullptr) << to_text(what);
      const std::int64_t bytes = shape.first * shape.second * element_bytes;
      EXPECT_LE(made.workspace_bytes, std::max<std::int64_t>(bytes / 20, 64 << 20) + 255) << to_text(what);
      EXPECT_LE(made.passes, 2);
      gpu_wish other = usual;
      other.alignment = static_cast<int>(std::min<std::int64_t>(element_bytes & -element_bytes, 16));
      other.multiprocessors = 20;
      EXPECT_EQ(choose_for(what, other).workspace_bytes, made.workspace_bytes) << "of every device and alignment alike";
      EXPECT_EQ(made.way == rectangle_way::buffered, bytes <= 64 << 20) << to_text(what);
      if (const auto* args = cycles_of(made); args != nullptr && bytes > 64 << 20 && element_bytes >= 4) {
        EXPECT_GE(args->item_bytes, 128) << to_text(what);
      }
    }
  }
}

TEST(gpu_rectangle_list, takes_short_parts_for_short_items_and_few_strips_for_small_arrays) {
  for (const std::int64_t rows : {8192, 10000, 20000, 30004, 80000}) {
    const gpu_rectangle made = choose_for(transpose_problem(rows, 7000, 4));
    ASSERT_NE(cycles_of(made), nullptr);
    const bool is_short = cycles_of(made)->item_bytes <= 1984;
    EXPECT_EQ(made.kernel->name, std::string(is_short ? "gpu_cycles_b1_short" : "gpu_cycles_b1")) << rows;
  }
  EXPECT_LT(choose_for(transpose_problem(4000, 3000, 4)).moves.size(), 12U);
}

TEST(gpu_rectangle_list, a_row_that_is_asked_for_is_taken_or_refused) {
  for (const kernels::kernel& row : kernels::all()) {
    gpu_wish wanted = usual;
    wanted.kernel = row.name;
    const gpu_rectangle made = choose_for(transpose_problem(640, 1280, 16), wanted);
    if (row.family == std::string_view("cycles") && kernels::is_of_gpu(row)) {
      ASSERT_NE(made.kernel, nullptr) << row.name;
      EXPECT_EQ(made.kernel, &row);
    } else {
      EXPECT_EQ(made.kernel, nullptr) << row.name;
    }
  }
}

TEST(gpu_rectangle_list, what_no_grid_numbers_is_refused) {
  EXPECT_EQ(choose_for(transpose_problem(std::int64_t{1} << 28, (1 << 20) + 1, 512)).kernel, nullptr);
}

// The byte offset of a slot in the array.
std::int64_t address_of(const gpu::cycles_args& args, std::int64_t slot) {
  const std::int64_t row = slot / args.row_slots.divisor;
  return row * args.row_bytes + slot % args.row_slots.divisor * args.item_bytes;
}

// Copies items by the definition of cycles_args, from and to slots in the array or in the workspace.
void carry_out(const gpu::cycles_args& args, std::byte* workspace_slots, std::byte* array, std::int64_t bytes) {
  const std::vector<std::byte> before(array, array + bytes);
  const std::int64_t inner = args.inner.divisor, outer = args.outer, slots = inner * outer;
  const auto item_bytes = static_cast<std::size_t>(args.item_bytes);
  std::vector<std::byte> taken(static_cast<std::size_t>(slots));
  EXPECT_EQ(args.count, slots * args.parts.divisor);
  EXPECT_LE(args.part_bytes, gpu::cycles_part_bytes);
  EXPECT_GE(args.part_bytes * std::int64_t{args.parts.divisor}, args.item_bytes);
  EXPECT_LE(std::int64_t{args.first_in_workspace} + args.count_in_workspace, slots);
  const auto in_workspace = [&](std::int64_t slot) -> std::byte* {
    const std::int64_t k = slot - args.first_in_workspace;
    return k < 0 || k >= args.count_in_workspace ? nullptr : workspace_slots + k * args.item_bytes;
  };
  std::int64_t twice = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t x = (slot / inner + args.rotate_outer) % outer;
    const std::int64_t y = (slot % inner + args.rotate_inner) % inner;
    const std::int64_t target = y * outer + x, address = address_of(args, target);
    std::byte& mark = taken.data()[target];
    twice += mark != std::byte{0};
    mark = std::byte{1};
    if (address + args.item_bytes > bytes) FAIL() << "item " << target << " ends behind the array";
    const std::byte* from = args.writes_workspace == 0 ? in_workspace(slot) : nullptr;
    std::byte* to = args.writes_workspace != 0 ? in_workspace(target) : nullptr;
    if (from == nullptr) from = before.data() + address_of(args, slot);
    if (to == nullptr) to = array + address;
    std::memcpy(to, from, item_bytes);
  }
  EXPECT_EQ(twice, 0);
}

std::int64_t offset_of(const gpu::fused_axes& all, std::int64_t index) {
  std::int64_t offset = 0;
  for (int k = 0; k < all.rank; ++k) {
    offset += index % all.axes[k].count.divisor * all.axes[k].stride_bytes;
    index /= all.axes[k].count.divisor;
  }
  EXPECT_EQ(index, 0);
  return offset;
}

// Expects that the flags of each written word include the flags of all blocks that read this word.
void expect_waits(const gpu_move& move, const gpu::strips_args& args, const std::byte* from, const std::byte* to) {
  const std::int64_t word = move.form.word_bytes, count = move.form.axes[0].extent;
  const std::int64_t cols = args.blocks.extent[0], rows = args.blocks.extent[1], wide = args.blocks.tile[0];
  const std::int64_t halo = kernels::is_variant(*move.chosen.row, "_unaligned") ? 32 / word : 0;
  // The flags of the first and of the last row of tiles that read each word of src.
  const map::byte_span span = map::src_span(move.form);
  const auto words = static_cast<std::size_t>((span.hi - span.lo) / word);
  std::vector<std::int64_t> first(words, -1), last(words, -1);
  for (std::int64_t strip = 0; strip < count; ++strip) {
    const std::int64_t begin = strip * move.form.axes[0].src_stride * word - span.lo;
    const auto flag_of = [&](std::int64_t row) {
      return strip * args.bands.divisor + row / static_cast<std::int64_t>(args.band_rows);
    };
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const auto at = static_cast<std::size_t>((begin + offset_of(args.rows, r)) / word + c);
        first[at] = flag_of(r);
        last[at] = flag_of(std::min(r + halo, rows - 1));
      }
    }
  }
  std::int64_t missed = 0, waits = 0;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    const std::int64_t begin = (to - from) + strip * move.form.axes[0].dst_stride * word - span.lo;
    for (std::int64_t c = 0; c < cols; ++c) {
      const gpu::flag_range all = gpu::flags_before(args, static_cast<std::uint32_t>(strip), c / wide * wide,
                                                    std::min(cols, (c / wide + 1) * wide));
      waits += all.last - all.first + 1;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (begin + offset_of(args.cols, c)) / word + r;
        if (at < 0 || at >= static_cast<std::int64_t>(words) || first[static_cast<std::size_t>(at)] < 0) continue;
        missed += first[static_cast<std::size_t>(at)] < all.first || last[static_cast<std::size_t>(at)] > all.last;
      }
    }
  }
  EXPECT_EQ(missed, 0);
  EXPECT_TRUE(args.bands.divisor == 1 || cols <= 2 * wide || waits < 2 * count * cols)
      << "blocks wait for more strips than needed";
}

// Runs one launch that does not follow cycles.
void carry_out(const gpu_move& move, const std::byte* from, std::byte* to) {
  const auto word = static_cast<std::size_t>(move.form.word_bytes);
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const map::offsets at = map::at(move.form, k);
      std::memcpy(to + at.dst * move.form.word_bytes, from + at.src * move.form.word_bytes, word);
    }
  };
  const std::int64_t words = map::words(move.form);
  const auto* const strips = strips_of(move);
  if (strips == nullptr) return copy(0, words);
  // Launches run one after another. No launch may overwrite words that it, or a later launch, still has to read.
  const std::int64_t count = move.form.axes[0].extent;
  EXPECT_EQ(move.flags(), count * strips->bands.divisor);
  EXPECT_LE(strips->bands.divisor, kernels::most_bands);
  EXPECT_EQ(move.chosen.blocks, move.flags() * strips->band_blocks.divisor);
  expect_waits(move, *strips, from, to);
  map::canonical one = move.form;
  one.axes[0].extent = 1;
  const map::byte_span src = map::src_span(one), dst = map::dst_span(one);
  const std::int64_t src_step = move.form.axes[0].src_stride * one.word_bytes,
                     dst_step = move.form.axes[0].dst_stride * one.word_bytes;
  for (std::int64_t turn = 0; turn < count; ++turn) {
    const std::int64_t k = strips->backwards != 0 ? count - 1 - turn : turn;
    for (std::int64_t later = turn; later < count; ++later) {
      const std::int64_t other = strips->backwards != 0 ? count - 1 - later : later;
      const std::byte* const read = from + other * src_step;
      const std::byte* const written = to + k * dst_step;
      EXPECT_TRUE(written + dst.hi <= read + src.lo || read + src.hi <= written + dst.lo) << k << " and " << other;
    }
    copy(k * (words / count), (k + 1) * (words / count));
  }
}

// Runs programs of strips in host memory. Most arrays are smaller than a workspace may be, so their row is forced.
TEST(gpu_rectangle_list, a_vendor_without_flags_between_blocks_has_no_strips_and_no_cycles) {
  const map::canonical form = map::canonicalize(placed(transpose_problem(10007, 8009, 4)), 4);
  kernels::target on = testing::target_of(usual);
  ASSERT_NE(choose_rectangle(form, map::in_place(form), on, 4, "").kernel, nullptr);
  on.words.block_flags = false;
  EXPECT_EQ(choose_rectangle(form, map::in_place(form), on, 4, "").kernel, nullptr);
}

TEST(gpu_rectangle_list, programs_end_with_the_transposed_matrix) {
  const struct {
    std::int64_t rows, cols, element_bytes;
  } shapes[] = {{5003, 1013, 4},  {8003, 2013, 4}, {2013, 8003, 4}, {8192, 1640, 4},  {2100000, 3, 4},
                {3, 2100000, 4},  {90001, 67, 3},  {67, 90001, 3},  {1511, 1021, 12}, {700000, 25, 1},
                {1048583, 17, 1}, {300, 131, 512}, {4003, 4211, 4}};
  int together = 0;
  for (const auto& shape : shapes) {
    if (!testing::keeps(&shape - shapes)) continue;
    problem what = transpose_problem(shape.rows, shape.cols, shape.element_bytes);
    const std::int64_t size = shape.rows * shape.cols, bytes = size * shape.element_bytes;
    gpu_wish wanted = usual;
    if (bytes <= 64 << 20) wanted.kernel = "gpu_cycles_b1";
    const gpu_rectangle made = choose_for(what, wanted);
    ASSERT_NE(made.kernel, nullptr);
    EXPECT_FALSE(made.way == rectangle_way::buffered) << to_text(what);
    std::vector<std::byte> array(testing::pattern(static_cast<std::size_t>(bytes)),
                                 testing::pattern(static_cast<std::size_t>(bytes)) + bytes);
    std::vector<std::byte> workspace(static_cast<std::size_t>(made.workspace_bytes));
    const auto within = [&](const std::byte* begin, const std::byte* end) {
      return (begin >= array.data() && end <= array.data() + bytes) ||
             (begin >= workspace.data() && end <= workspace.data() + workspace.size());
    };
    const auto launch = [&](const gpu_move& move, std::byte* from, std::byte* to,
                            const std::uint32_t* /*flags*/) -> const char* {
      if (move.chosen.row->family == std::string_view("cycles")) {
        const auto* const args = &move.chosen.as<gpu::cycles_args>();
        EXPECT_TRUE(within(from, from + args->count_in_workspace * args->item_bytes)) << to_text(what);
        if (::testing::Test::HasFailure()) return "failed";
        carry_out(*args, from, to, bytes);
        return nullptr;
      }
      const map::byte_span src = map::src_span(move.form), dst = map::dst_span(move.form);
      together += strips_of(move) != nullptr ? 1 : 0;
      EXPECT_TRUE(within(from + src.lo, from + src.hi) && within(to + dst.lo, to + dst.hi)) << to_text(what);
      EXPECT_TRUE(move.flags() > 0 || from + src.hi <= to + dst.lo || to + dst.hi <= from + src.lo) << to_text(what);
      const std::uintptr_t both = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
      EXPECT_EQ(both % static_cast<std::uintptr_t>(move.form.word_bytes), 0U);
      if (::testing::Test::HasFailure()) return "failed";
      carry_out(move, from, to);
      return nullptr;
    };
    const auto clear = [&](const std::uint32_t* flags, std::int64_t many) -> const char* {
      const auto* const begin = reinterpret_cast<const std::byte*>(flags);
      EXPECT_TRUE(within(begin, begin + many));
      return nullptr;
    };
    ASSERT_EQ(running::run_rectangle(made, array.data(), workspace.data(), launch, clear), nullptr);
    std::int64_t wrong = 0;
    const std::byte* const from = testing::pattern(static_cast<std::size_t>(bytes));
    testing::walk(what, [&](std::int64_t s, std::int64_t d) {
      wrong += std::memcmp(array.data() + d * shape.element_bytes, from + s * shape.element_bytes,
                           static_cast<std::size_t>(shape.element_bytes)) != 0;
    });
    EXPECT_EQ(wrong, 0) << to_text(what);
  }
  EXPECT_GE(together * testing::thinner(), 3) << "strips in one launch";
}

TEST(gpu_rectangle_list, blocks_wait_for_all_readers_of_the_bytes_they_write) {
  dice roll(5);
  int together = 0, unaligned = 0, banded = 0, backwards = 0;
  const auto check = [&](const problem& what, const gpu_wish& wanted) {
    const gpu_rectangle made = choose_for(what, wanted);
    if (made.kernel == nullptr) return;
    for (const gpu_step& step : made.programs[0].steps) {
      const gpu_move& move = made.moves[static_cast<std::size_t>(step.move)];
      const auto* const strips = strips_of(move);
      if (strips == nullptr) continue;
      together += 1;
      unaligned += kernels::is_variant(*move.chosen.row, "_unaligned");
      banded += strips->bands.divisor > 1;
      backwards += strips->backwards;
      expect_waits(move, *strips, nullptr, reinterpret_cast<const std::byte*>(step.to - step.from));
      EXPECT_FALSE(HasFailure()) << to_text(what);
    }
  };
  check(transpose_problem(4001, 3001, 4), usual);
  check(transpose_problem(3001, 4001, 4), usual);
  check(transpose_problem(6007, 1999, 2), usual);
  gpu_wish wanted = usual;
  wanted.kernel = "gpu_cycles_b1";
  check(transpose_problem(126, 4274, 8), wanted);
  wanted.multiprocessors = 1;
  check(transpose_problem(126, 4274, 8), wanted);
  for (int k = 0; k < 1500 && !HasFailure(); ++k) {
    const std::int64_t across = 64 + roll.below(300), along = 64 + roll.below(6000);
    const std::int64_t element_bytes = std::int64_t{1} << roll.below(4);
    if (across * along > 500000) continue;
    wanted.multiprocessors = roll.one_in(2) ? 1 : 132;
    check(roll.one_in(2) ? transpose_problem(across, along, element_bytes)
                         : transpose_problem(along, across, element_bytes),
          wanted);
  }
  EXPECT_GE(together, 40);
  EXPECT_GE(unaligned, 10);
  EXPECT_GE(banded, 20);
  EXPECT_GE(backwards, 20);
}

TEST(gpu_rectangle_list, batches_are_programs_that_repeat) {
  const std::int64_t size = 5003 * 2003;
  const gpu_rectangle large = choose_for(batched(transpose_problem(5003, 2003, 4), 3, size, size));
  ASSERT_EQ(large.programs.size(), 1U);
  EXPECT_EQ(large.programs[0].repeat.total, 3);
  EXPECT_EQ(large.workspace_bytes, choose_for(transpose_problem(5003, 2003, 4)).workspace_bytes);
  const gpu_rectangle small = choose_for(batched(transpose_problem(70, 50, 4), 10000, 3500, 3500));
  ASSERT_EQ(small.programs.size(), 2U);
  EXPECT_EQ(small.programs[0].repeat.total, 10000 / ((64 << 20) / 14000));
  EXPECT_EQ(small.programs[1].repeat.total, 1);
  EXPECT_LE(small.workspace_bytes, (64 << 20) + 255);
}

}  // namespace
}  // namespace cornerturn::planning::rectangle_gpu_test
