#include "kernels/gpu/policy/element_grid.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr std::int64_t most_offset = INT32_MAX;

bool fits(std::int64_t bytes) noexcept { return magnitude(bytes) <= most_offset; }

// The axes of a row of dst, fastest first: one, or all that are contiguous in dst if a thread stores several elements.
int axes_of_row(const map::canonical& form, bool is_joined) noexcept {
  int count = 1;
  if (!is_joined) return count;
  std::int64_t total = form.axes[form.rank - 1].extent;
  while (count < std::min(form.rank, max_element_row_axes)) {
    const axis& next = form.axes[form.rank - 1 - count];
    if (next.dst_stride != total || next.extent > most_offset / total) break;
    total *= next.extent;
    ++count;
  }
  return count;
}

}  // namespace

bool number_elements(const map::canonical& form, std::int64_t each, std::int64_t alignment,
                     element_grid& made) noexcept {
  const std::int64_t word = form.word_bytes, dst_word = form.dst_word_bytes;
  const bool is_joined = each > 1;
  const axis& first = form.axes[form.rank - 1];  // the fastest axis of dst
  if (is_joined && first.dst_stride != 1) return false;
  const int row_rank = axes_of_row(form, is_joined);
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
  // Elements of a row, also of its first word's part before the row, have 31 bits, as fast_divisor wants.
  if (elements > most_offset - 16 || words > most_offset / rows) return false;
  made.row_elements = static_cast<std::uint32_t>(elements);
  made.words = map::fast_divisor(static_cast<std::uint32_t>(words));
  made.all_words = static_cast<std::uint32_t>(words * rows);
  auto below = static_cast<std::uint32_t>(words);
  for (int k = 0; k < made.rank; ++k) {
    below *= made.outer[k].extent;
    made.outer[k].words = map::fast_quotient(below);
  }
  return true;
}

}  // namespace cornerturn::gpu
