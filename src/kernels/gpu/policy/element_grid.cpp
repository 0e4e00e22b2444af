#include "kernels/gpu/policy/element_grid.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr std::int64_t most_offset = INT32_MAX;
// Elements of a row, also of its first word's part before the row, have 31 bits, as fast_divisor wants.
constexpr std::int64_t most_elements = most_offset - 16;

bool fits(std::int64_t bytes) noexcept { return magnitude(bytes) <= most_offset; }

// The axes of a row of dst: at most so many that are contiguous in dst.
int axes_of_row(const map::canonical& form, int most) noexcept {
  int count = 1;
  std::int64_t total = form.axes[form.rank - 1].extent;
  while (count < std::min(form.rank, most)) {
    const axis& next = form.axes[form.rank - 1 - count];
    if (next.dst_stride != total || next.extent > most_offset / total) break;
    total *= next.extent;
    ++count;
  }
  return count;
}

// Sets the words of a row, and what depends on them.
bool set_words(std::int64_t words, std::int64_t rows, element_grid& made) noexcept {
  if (words > most_offset / rows) return false;
  made.words = map::fast_divisor(static_cast<std::uint32_t>(words));
  made.all_words = static_cast<std::uint32_t>(words * rows);
  auto below = static_cast<std::uint32_t>(words);
  for (int k = 0; k < made.rank; ++k) {
    below *= made.outer[k].extent;
    made.outer[k].words = map::fast_quotient(below);
  }
  return true;
}

// Repeats along a row: its slowest axis is broadcast. The words of a row are cut into equal sequences, and the threads of a sequence
// store the next ones too. Sequences of 8 KiB that begin at lines: a fill of 134 MB takes 33 us, 42 with 32 sequences of 4 MB; pixels of
// 3 bytes, 80 MB, 21 us, 26 where sequences begin within lines (H200, 2026-11-30).
bool repeat_along_row(std::int64_t repeats, std::int64_t each, std::int64_t period, std::int64_t dst_bytes,
                      repeated_grid& made) noexcept {
  constexpr std::int64_t line_words = 16;  // or two lines
  constexpr std::int64_t enough_words = 256, most_equal = 8;
  if (period == 1) repeats = std::min(repeats, most_equal);  // a word is put together from one element
  const std::int64_t words = made.words.divisor, rows = made.all_words / words;
  // The elements of a word are equal in each sequence.
  std::int64_t step = period / std::gcd(period, each);
  const std::int64_t in_lines = std::lcm(step, line_words);
  if (in_lines <= words / repeats) step = in_lines;
  const std::int64_t most = std::max(ceil_div(words, repeats), line_words);
  const std::int64_t sequence = ceil_div(std::min(most, enough_words), step) * step;
  const std::int64_t found = std::min(ceil_div(words, sequence), repeats), groups = ceil_div(words, found * sequence);
  if (found < 2 || groups * found * sequence > most_elements / each) return false;
  made.repeats = static_cast<std::int32_t>(found);
  made.repeat_elements = static_cast<std::int32_t>(sequence * each);
  made.repeat_dst_bytes = sequence * each * dst_bytes;
  made.together = map::fast_divisor(static_cast<std::uint32_t>(sequence));
  return set_words(groups * sequence, rows, made);
}

}  // namespace

bool number_elements(const map::canonical& form, std::int64_t each, std::int64_t alignment, element_grid& made,
                     int most_row_axes) noexcept {
  const std::int64_t word = form.word_bytes, dst_word = form.dst_word_bytes;
  const bool is_joined = each > 1;
  const axis& first = form.axes[form.rank - 1];  // the fastest axis of dst
  if (is_joined && first.dst_stride != 1) return false;
  if (most_row_axes == 0) most_row_axes = is_joined ? max_element_row_axes : 1;
  const int row_rank = first.dst_stride == 1 ? axes_of_row(form, most_row_axes) : 1;
  if (form.rank - row_rank > max_element_outer_axes) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent > most_offset || !fits(one.src_stride * word) || !fits(one.dst_stride * dst_word)) return false;
  }
  made = {};
  std::int64_t elements = 1, rows = 1, dst_bits = alignment;
  made.row_rank = row_rank;
  made.src_bytes = static_cast<std::int32_t>(first.src_stride * word);
  made.dst_bytes = static_cast<std::int32_t>(first.dst_stride * dst_word);
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    const int place = form.rank - 1 - k;
    const map::fast_divisor count(static_cast<std::uint32_t>(one.extent));
    if (place < row_rank) {
      elements *= one.extent;
      if (place + 1 < row_rank) {
        made.row[place] = {count, static_cast<std::int32_t>(form.axes[k - 1].src_stride * word)};
      }
    } else {
      if (one.extent > most_offset / rows) return false;
      rows *= one.extent;
      dst_bits |= one.dst_stride * dst_word;
      made.outer[made.rank++] = {static_cast<std::int32_t>(one.src_stride * word),
                                 static_cast<std::int32_t>(one.dst_stride * dst_word),
                                 count.divisor,
                                 {}};
    }
  }
  const bool is_aligned = dst_bits % (each * dst_word) == 0;  // every row begins with a whole word
  const std::int64_t words = ceil_div(elements + (is_joined && !is_aligned ? each - 1 : 0), each);
  if (elements > most_elements) return false;
  made.row_elements = static_cast<std::uint32_t>(elements);
  return set_words(words, rows, made);
}

bool number_several(const map::canonical& form, several_grid& made) noexcept {
  constexpr int lanes_log2 = 5;
  made = {};
  if (!number_elements(form, 1, 1, made)) return false;
  const std::int64_t row = made.row_elements, rows = made.all_words / row, of_warp = elements_of_thread << lanes_log2;
  const bool is_long = row >= of_warp / 2;
  made.apart_log2 = is_long ? lanes_log2 : 0;
  return set_words(is_long ? ceil_div(row, of_warp) << lanes_log2 : ceil_div(row, elements_of_thread), rows, made);
}

bool number_repeated(const map::canonical& form, std::int64_t each, std::int64_t alignment, std::int64_t repeats,
                     repeated_grid& made) noexcept {
  made = {};
  if (!number_elements(form, each, alignment, made, max_element_row_axes)) return false;
  // A broadcast axis makes a row with the axes below it, also where dst joins more axes to it.
  for (int k = made.row_rank; k > 0; --k) {
    const axis& slowest = form.axes[form.rank - k];
    if (slowest.src_stride != 0) continue;
    if (!number_elements(form, each, alignment, made, k)) break;
    const std::int64_t dst_bytes = each > 1 ? form.dst_word_bytes : made.dst_bytes;
    if (repeat_along_row(repeats, each, made.row_elements / slowest.extent, dst_bytes, made)) return true;
  }
  if (!number_elements(form, each, alignment, made)) return false;
  const int row_rank = made.row_rank;
  int longest = -1;
  for (int k = 0; k < form.rank - row_rank; ++k) {
    if (form.axes[k].src_stride == 0 && (longest < 0 || form.axes[k].extent > form.axes[longest].extent)) longest = k;
  }
  if (longest < 0) return false;
  const axis all = form.axes[longest];
  std::int64_t phases = 1;  // after so many places, dst has the same alignment
  while (all.dst_stride * phases % each != 0) phases *= 2;
  const std::int64_t apart = ceil_div(ceil_div(all.extent, repeats), phases) * phases;
  const std::int64_t places = ceil_div(all.extent, apart);
  if (places < 2) return false;
  map::canonical first = form;
  first.axes[longest].extent = apart;
  if (!number_elements(first, each, alignment, made) || made.row_rank != row_rank) return false;
  made.repeats = static_cast<std::int32_t>(places);
  made.repeat_dst_bytes = all.dst_stride * apart * form.dst_word_bytes;
  made.places = static_cast<std::uint32_t>(all.extent);
  std::uint32_t below = made.words.divisor;
  for (int k = 0; k < form.rank - row_rank - 1 - longest; ++k) below *= made.outer[k].extent;
  made.below = map::fast_quotient(below);
  made.apart = map::fast_divisor(static_cast<std::uint32_t>(apart));
  return true;
}

}  // namespace cornerturn::gpu
