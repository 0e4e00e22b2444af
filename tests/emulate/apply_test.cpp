// The arithmetic rows of the GPU, emulated, against the reference. Each row gets problems of math_cases.hpp, of about a
// tile, at any alignment. Then every pair of types gets every kind of math, by the row that the planner chooses.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../kernels/math_cases.hpp"
#include "api/check.hpp"
#include "cornerturn/error.hpp"
#include "gpu_problems.hpp"
#include "kernels/gpu/apply/args.hpp"
#include "move.hpp"
#include "run/launch.hpp"

namespace cornerturn::testing {
namespace {

moved compute(const problem& what, const gpu_setting& setting, const math_bench::placing& where, dice& roll) {
  math_bench bench(what, roll, where);
  const map::canonical form = map::canonicalize(what);
  const kernels::op how = kernels::op_of(what.math, what.element_bytes);
  const kernels::arrays those = bench.arrays(form);
  const float scale = those.scale;
  const auto number = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const void* const other = those.second_dst != nullptr ? those.second_dst : those.second;
  map::canonical from_index_0 = form;
  from_index_0.src_offset = from_index_0.dst_offset = from_index_0.second_offset = 0;
  const int alignment =
      running::alignment_of(from_index_0, {.src = those.src, .dst = those.dst, .second = const_cast<void*>(other)});
  kernels::offer made = choose_apply(form, how,
                                     {.multiprocessors = setting.multiprocessors,
                                      .shared_bytes = setting.shared_bytes,
                                      .alignment = std::min(alignment, static_cast<int>(setting.alignment)),
                                      .kernel = setting.row});
  moved result = chosen(made, setting);
  if (!result.can_run()) return result;
  const auto span = [](const void* of_index_0, map::byte_span bytes, std::int64_t offset) {
    const auto* const at = static_cast<const std::byte*>(of_index_0) - offset;
    return of_index_0 == nullptr ? emulated::bytes{} : emulated::bytes{at + bytes.lo, at + bytes.hi};
  };
  emulated::session running;
  running.threads = setting.threads;
  running.seed = setting.seed;
  running.src = span(those.src, map::src_span(form), form.src_offset * form.word_bytes);
  running.dst = span(those.dst, map::dst_span(form), form.dst_offset * form.dst_word_bytes);
  running.second_written = those.second_dst != nullptr;
  running.dst_is_read = those.second == those.dst;
  if (!running.dst_is_read) {
    running.second = span(other, map::second_span(form), form.second_offset * form.dst_word_bytes);
  }
  if (!how.reads_src()) running.src = {};
  if (made.blocks > 0) {
    auto& args = args_of<gpu::computed_args>(made);
    args.src_begin = reinterpret_cast<std::uint64_t>(running.src.begin);
    args.src_end = reinterpret_cast<std::uint64_t>(running.src.end);
    args.src = those.src;
    args.dst = those.dst;
    args.second = running.second_written ? those.second_dst : const_cast<std::byte*>(those.second);
    if (how.scaled) args.scale = &scale, running.scale = {&scale, &scale + 1};
    const bool whole = number(those.src) % static_cast<std::uintptr_t>(form.word_bytes) == 0 &&
                       (number(those.dst) | number(other)) % static_cast<std::uintptr_t>(form.dst_word_bytes) == 0;
    args.bytewise = whole ? 0 : 1;
    made.row->launch(&args, made.blocks, made.shared_bytes, &running);
  }
  result.fault = running.fault.empty() ? bench.difference() : running.fault;
  return result;
}

// Addresses are multiples of 16 bytes, multiples of one element, or any.
enum class place { aligned, elements, anywhere };

math_bench::placing any_place(dice& roll, const problem& what, place where) {
  if (where == place::aligned) return {0, 0, 0};
  if (where == place::anywhere) return {roll.below(33), roll.below(33), roll.below(33)};
  const std::int64_t src = what.element_bytes;
  const std::int64_t dst = what.math.dst == element_type::bits ? src : bytes_of(what.math.dst);
  return {roll.below(33) * src, roll.below(33) * dst, roll.one_in(2) ? 0 : roll.below(33) * dst};
}

// A matrix with at least three tiles in a column of tiles: whole unaligned tiles need a tile above and a tile below.
problem any_middle(dice& roll, const kernels::kernel& row, std::int64_t element_bytes) {
  const std::int64_t rows = 2 * row.tile_rows + 1 + roll.below(row.tile_rows);
  const std::int64_t cols = row.tile_cols + 16 + roll.below(row.tile_cols);
  const problem one = transpose_problem(rows, cols, element_bytes, cols + roll.below(5), rows + roll.below(5));
  return roll.one_in(3) ? batched(one, 2, roll.one_in(2) ? 0 : rows * (cols + 5), cols * (rows + 5)) : one;
}

// Gives a second array any strides, or the strides of src if they are valid, or the strides of dst.
void place_second(problem& what, dice& roll) {
  const std::int64_t way = roll.below(4);
  if (what.math.second == second_array::none || way == 0) return;
  problem moved_there = what;
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    moved_there.axes[k].second_stride = way == 1 ? one.src_stride : one.dst_stride;
  }
  try {
    api::check(moved_there);
    what = moved_there;
  } catch (const error&) {  // src repeats elements
  }
}

constexpr place places[] = {place::aligned, place::elements, place::anywhere};

class emulated_apply : public ::testing::TestWithParam<std::string> {
 protected:
  void try_problem(const problem& shape, const arithmetic& math, std::int64_t bits_bytes) {
    problem what = with_math(shape, math, bits_bytes, roll_);
    place_second(what, roll_);
    ASSERT_NO_THROW(api::check(what)) << to_text(what, what.math);
    gpu_setting setting = any_setting(roll_, what);
    setting.row = GetParam();
    const bool any = row_.tile_rows == 0, unaligned = kernels::is_variant(row_, "_unaligned");
    const bool by_elements = unaligned || (any && !kernels::is_variant(row_, "_any"));
    const place where = !any && !unaligned                 ? place::aligned
                        : by_elements && !roll_.one_in(16) ? place::elements
                                                           : roll_.of(places);
    if (where != place::anywhere) setting.alignment = 16;
    const moved result = compute(what, setting, any_place(roll_, what, where), roll_);
    if (result.row.empty()) return;
    ++moves_;
    EXPECT_EQ(result.row, GetParam());
    EXPECT_EQ(result.fault, "") << to_text(what, what.math) << "\n" << to_text(setting);
    failures_ += !result.fault.empty();
  }

  const kernels::kernel& row_ = *kernels::find(GetParam());
  dice roll_{std::hash<std::string>{}(GetParam())};
  int moves_ = 0;
  int failures_ = 0;
};

// The element sizes of a row; the second one is 0 if the row takes any size.
std::pair<std::int64_t, std::int64_t> sizes_of(const kernels::kernel& row) {
  if (row.tile_rows == 0) return {row.element_bytes, 0};
  const std::string name = row.name;
  const std::size_t second = name.find("_b", name.find("_b") + 1);
  return {row.element_bytes, std::stoll(name.substr(second + 2))};
}

TEST_P(emulated_apply, computes_every_problem_that_it_accepts) {
  const auto sizes = sizes_of(row_);
  const auto src_bytes = sizes.first, dst_bytes = sizes.second;  // not bindings: a lambda takes them
  std::vector<type_pair> pairs;
  for (const type_pair& one : all_pairs()) {
    const std::int64_t src = bytes_of(one.src), dst = bytes_of(one.dst);
    if (one.src == element_type::bits) {
      if (dst_bytes == 0 || src_bytes == dst_bytes) pairs.push_back(one);
    } else if (src == src_bytes && (dst_bytes == 0 || dst == dst_bytes)) {
      pairs.push_back(one);
    }
  }
  ASSERT_FALSE(pairs.empty());
  const std::int64_t unit = 16 / std::min(src_bytes, dst_bytes == 0 ? src_bytes : dst_bytes);
  for_each_edge_of(row_, src_bytes, roll_, [&](const problem& shape) {
    if (failures_ < 4) try_problem(shape, any_math(roll_, roll_.of(pairs)), src_bytes);
  });
  const int wanted = (row_.tile_rows > 0 ? 60 : 160) / slower;
  for (int k = 0; k < 2000 && moves_ < wanted && failures_ < 4; ++k) {
    const problem shape = row_.tile_rows > 0 ? any_tiles(roll_, row_, src_bytes, unit)
                          : roll_.one_in(2)  ? any_permutation(roll_, src_bytes, 6000)
                          : roll_.one_in(3)  ? any_strides(roll_, src_bytes, 5000)
                          : roll_.one_in(2)  ? any_view(roll_, src_bytes, 5000)
                                             : any_matrix(roll_, src_bytes, 8000);
    try_problem(shape, any_math(roll_, roll_.of(pairs)), src_bytes);
  }
  for (int k = 0; k < 24 / slower && failures_ < 4 && kernels::is_variant(row_, "_unaligned"); ++k) {
    try_problem(any_middle(roll_, row_, src_bytes), any_math(roll_, roll_.of(pairs)), src_bytes);
  }
  EXPECT_TRUE(moves_ >= wanted || failures_ > 0) << "only " << moves_ << " problems reach this row";
}

INSTANTIATE_TEST_SUITE_P(list, emulated_apply, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const kernels::kernel& one : kernels::all()) {
                             if (one.launch != nullptr && one.kind == kernels::row_kind::arithmetic)
                               names.emplace_back(one.name);
                           }
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

TEST(emulated_apply_list, computes_every_pair_of_types) {
  dice roll(31);
  constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
  std::map<std::string, int> met;
  int failures = 0;
  for (const type_pair& types : all_pairs()) {
    for (int k = 0; k < 12 / std::min(slower, 2) && failures < 4; ++k) {
      const arithmetic math = any_math(roll, types);
      const std::int64_t rows = 1 + roll.below(70), cols = 1 + roll.below(70);
      problem shape = roll.one_in(2) ? padded(rows, cols, 4, 16) : matrix(rows, cols, 4, roll.below(100));
      if (roll.one_in(6)) std::swap(shape.axes[0].src_stride, shape.axes[1].src_stride);
      problem what = with_math(shape, math, roll.of(sizes), roll);
      place_second(what, roll);
      const gpu_setting setting = any_setting(roll, what);
      const moved result = compute(what, setting, any_place(roll, what, roll.of(places)), roll);
      ASSERT_NE(result.row, "") << to_text(what, what.math);
      EXPECT_EQ(result.fault, "") << result.row << ": " << to_text(what, what.math) << "\n" << to_text(setting);
      failures += !result.fault.empty();
      ++met[result.row];
    }
  }
  EXPECT_GE(met.size(), 12U);
}

}  // namespace
}  // namespace cornerturn::testing
