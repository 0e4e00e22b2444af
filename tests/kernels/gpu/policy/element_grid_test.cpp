// The numbering of elements: the walk of policy/element_grid.cuh, in plain integers, reaches every element once.
#include "kernels/gpu/policy/element_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "../../cases.hpp"
#include "../../oracle.hpp"
#include "base/checked.hpp"

namespace cornerturn::gpu::element_grid_test {
namespace {

using base::ceil_div;
using offsets = std::vector<std::pair<std::int64_t, std::int64_t>>;  // bytes of src and of dst

// The places of the word of a number: repeated_element_kernel's count.
std::int64_t places_of(const repeated_grid& numbers, std::int64_t number) {
  if (numbers.repeat_elements > 0 || numbers.repeats == 1) return numbers.repeats;
  const std::int64_t place = numbers.below.quotient(static_cast<std::uint32_t>(number)) % numbers.apart.divisor;
  return ceil_div(numbers.places - place, std::int64_t{numbers.apart.divisor});
}

// begin: of dst, in elements behind a multiple of a word
offsets walk(const repeated_grid& numbers, std::int64_t each, std::int64_t dst_word, std::int64_t begin) {
  offsets found;
  for (std::int64_t number = 0; number < numbers.all_words; ++number) {
    const std::int64_t words = numbers.words.divisor;
    std::int64_t row = numbers.rank == 0 ? 0 : number / words;
    std::int64_t word = number - row * words;
    if (numbers.repeat_elements > 0) {
      word += word / numbers.together.divisor * numbers.together.divisor * (numbers.repeats - 1);
    }
    std::int64_t src = 0, dst = 0;
    for (int k = 0; k < numbers.rank; ++k) {
      const auto& axis = numbers.outer[k];
      const std::int64_t above = k + 1 < numbers.rank ? axis.words.quotient(static_cast<std::uint32_t>(number)) : 0;
      src += (row - above * axis.extent) * axis.src_bytes;
      dst += (row - above * axis.extent) * axis.dst_bytes;
      row = above;
    }
    const std::int64_t first = word * each - ((begin + dst / dst_word) % each + each) % each;
    const auto src_of = [&](std::int64_t index) {
      std::int64_t from = src, stride = numbers.src_bytes;
      for (int k = 0; k + 1 < numbers.row_rank; ++k) {
        const std::int64_t above = index / numbers.row[k].count.divisor;
        from += (index - above * numbers.row[k].count.divisor) * stride;
        index = above;
        stride = numbers.row[k].above_src_bytes;
      }
      return from + index * stride;
    };
    for (std::int64_t place = 0; place < places_of(numbers, number); ++place) {
      const std::int64_t at = first + place * numbers.repeat_elements;
      const std::int64_t along_axis = numbers.repeat_elements > 0 ? 0 : place * numbers.repeat_dst_bytes;
      for (std::int64_t i = std::max<std::int64_t>(at, 0); i < std::min<std::int64_t>(at + each, numbers.row_elements);
           ++i) {
        // The element that the thread loads once.
        const std::int64_t loaded = i - place * numbers.repeat_elements;
        found.emplace_back(src_of(loaded < 0 ? loaded + numbers.repeat_elements : loaded),
                           dst + along_axis + i * numbers.dst_bytes);
      }
    }
  }
  return found;
}

offsets all_of(const map::canonical& form) {
  offsets wanted;
  for (std::int64_t i = 0; i < map::words(form); ++i) {
    const map::offsets here = map::at(form, i);
    wanted.emplace_back((here.src - form.src_offset) * form.word_bytes,
                        (here.dst - form.dst_offset) * form.dst_word_bytes);
  }
  return wanted;
}

TEST(element_grid, reaches_every_element_once) {
  testing::dice roll(45);
  int numbered = 0, joined = 0;
  for (int k = 0; k < 200; ++k) {
    constexpr std::int64_t sizes[] = {1, 2, 4, 8};
    const problem what =
        roll.one_in(2) ? testing::any_strides(roll, roll.of(sizes), 700) : testing::any_view(roll, roll.of(sizes), 700);
    map::canonical form = map::canonicalize(what);
    if (form.empty || form.rank == 0) continue;
    form.dst_word_bytes = roll.of(sizes);
    const std::int64_t each =
        roll.one_in(3) ? 1 : std::max<std::int64_t>(8 / std::max(form.word_bytes, form.dst_word_bytes), 1);
    const bool aligned = roll.one_in(2);
    repeated_grid numbers;
    if (!number_elements(form, each, aligned ? 16 : form.dst_word_bytes, numbers)) continue;
    offsets found = walk(numbers, each, form.dst_word_bytes, aligned ? 0 : roll.below(8)), wanted = all_of(form);
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    ASSERT_EQ(found, wanted) << testing::to_text(what);
    ++numbered;
    joined += each > 1;
  }
  EXPECT_GT(numbered, 80);
  EXPECT_GT(joined, 20);
}

TEST(element_grid, stores_every_element_of_a_broadcast_once) {
  testing::dice roll(46);
  int along_row = 0, along_axis = 0, in_groups = 0;
  for (int k = 0; k < 2000; ++k) {
    constexpr std::int64_t sizes[] = {1, 2, 4, 8};
    problem what = testing::any_view(roll, roll.of(sizes), 3000);
    if (roll.one_in(40)) {  // long rows, of one element or of a short run again and again
      const std::int64_t run = roll.one_in(2) ? 1 : 1 + roll.below(9), runs = (8000 + roll.below(30000)) / run;
      what = {.element_bytes = what.element_bytes,
              .rank = 3,
              .axes = {{{1 + roll.below(3), run, run * runs}, {runs, 0, run}, {run, 1, 1}}}};
    }
    if (what.rank > 0 && roll.one_in(2)) what.axes[static_cast<std::size_t>(roll.below(what.rank))].src_stride = 0;
    const map::canonical form = map::canonicalize(what);
    if (form.empty || form.rank == 0) continue;
    const std::int64_t each = roll.one_in(4) ? 1 : std::max<std::int64_t>(8 / form.word_bytes, 1);
    const bool aligned = roll.one_in(2);
    repeated_grid numbers;
    if (!number_repeated(form, each, aligned ? 16 : form.word_bytes, 2 + roll.below(6), numbers)) continue;
    ASSERT_GT(numbers.repeats, 1);
    offsets found = walk(numbers, each, form.dst_word_bytes, aligned ? 0 : roll.below(8)), wanted = all_of(form);
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    ASSERT_EQ(found, wanted) << testing::to_text(what);
    ++(numbers.repeat_elements > 0 ? along_row : along_axis);
    in_groups += numbers.repeat_elements > 0 && numbers.words.divisor > numbers.together.divisor ? 1 : 0;
    if (each > 1) {
      ASSERT_EQ(numbers.repeat_dst_bytes % 8, 0) << "whole words have one alignment";
    }
  }
  EXPECT_GT(along_row, 20);
  EXPECT_GT(along_axis, 20);
  EXPECT_GT(in_groups, 10);
}

TEST(element_grid, refuses_what_31_bits_do_not_number) {
  element_grid numbers;
  map::canonical form{.rank = 2,
                      .axes = {{{.extent = 4, .src_stride = 3, .dst_stride = 100},
                                {.extent = 100, .src_stride = 1 << 20, .dst_stride = 1}}}};
  EXPECT_TRUE(number_elements(form, 8, 16, numbers));
  form.axes[0].src_stride = std::int64_t{1} << 31;
  EXPECT_FALSE(number_elements(form, 8, 16, numbers));
  form.axes[0].src_stride = 3;
  form.axes[0].extent = std::int64_t{1} << 29;
  EXPECT_FALSE(number_elements(form, 1, 16, numbers));
  form.axes[0].extent = 4;
  form.axes[1].dst_stride = 2;
  EXPECT_FALSE(number_elements(form, 8, 16, numbers));  // dst has no contiguous axis
  EXPECT_TRUE(number_elements(form, 1, 16, numbers));
}

}  // namespace
}  // namespace cornerturn::gpu::element_grid_test
