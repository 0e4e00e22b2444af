// Elements one by one through L1: any strides on either side, 0 and negative ones too.
#include <algorithm>
#include <array>
#include <string>

#include "kernels/gpu/element/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"

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

// Sectors of 32 bytes that a warp touches on one side, for each 128 bytes that it copies. Lanes have `each` neighbouring
// elements of the canonical form, whose last axis is the fastest.
double sectors_of(const map::canonical& form, std::int64_t axis::*stride, std::int64_t each, int lanes) noexcept {
  const std::int64_t word = form.word_bytes;
  std::array<std::int64_t, 256> sector{};
  const std::int64_t count = std::min({lanes * each, map::words(form), std::int64_t{256}});
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int k = form.rank - 1; k >= 0 && rest > 0; --k) {
      offset += rest % form.axes[k].extent * (form.axes[k].*stride);
      rest /= form.axes[k].extent;
    }
    sector[static_cast<std::size_t>(i)] = (offset * word) >> 5;
  }
  std::sort(sector.begin(), sector.begin() + count);
  const auto different = std::unique(sector.begin(), sector.begin() + count) - sector.begin();
  return static_cast<double>(different) * 128 / static_cast<double>(count * word);
}

}  // namespace

bool offers::element(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t word = form.word_bytes;
  if (form.empty || form.rank == 0 || row.kind != kernels::row_kind::move || row.element_bytes != word) return false;
  const bool is_joined = !kernels::is_variant(row, "_single");
  const axis& first = form.axes[form.rank - 1];  // the fastest axis of dst
  if (is_joined && first.dst_stride != 1) return false;
  const int row_rank = axes_of_row(form, is_joined);
  if (form.rank - row_rank > max_element_outer_axes) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent > most_offset || !fits(one.src_stride * word) || !fits(one.dst_stride * word)) return false;
  }

  auto& args = made.emplace<element_args>();
  std::int64_t elements = 1, rows = 1, dst_bits = known.alignment;
  args.row_rank = row_rank;
  args.src_bytes = static_cast<std::int32_t>(first.src_stride * word);
  args.dst_bytes = static_cast<std::int32_t>(first.dst_stride * word);
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    const int place = form.rank - 1 - k;
    const map::fast_divisor count(static_cast<std::uint32_t>(one.extent));
    if (place < row_rank) {
      elements *= one.extent;
      if (place + 1 < row_rank) {
        args.row[place] = {count, static_cast<std::int32_t>(form.axes[k - 1].src_stride * word)};
      }
    } else {
      if (one.extent > most_offset / rows) return false;
      rows *= one.extent;
      dst_bits |= one.dst_stride * word;
      args.outer[args.rank++] = {static_cast<std::int32_t>(one.src_stride * word),
                                 static_cast<std::int32_t>(one.dst_stride * word), count};
    }
  }
  const std::int64_t each = is_joined ? 8 / word : 1;
  const bool is_aligned = dst_bits % 8 == 0;  // every row begins with a whole word
  const std::int64_t words = ceil_div(elements + (is_joined && !is_aligned ? each - 1 : 0), each);
  // Elements of a row, also of its first word's part before the row, have 31 bits, as fast_divisor wants.
  if (elements > most_offset - 16 || words > most_offset / rows) return false;
  args.row_elements = static_cast<std::uint32_t>(elements);
  args.words = map::fast_divisor(static_cast<std::uint32_t>(words));
  args.all_words = static_cast<std::uint32_t>(words * rows);
  made.blocks = static_cast<std::uint32_t>(ceil_div(words * rows, element_threads));
  made.shared_bytes = 0;
  made.reason = is_joined ? "any strides of src, without shared memory: a thread stores 8 bytes of dst"
                          : "any strides, without shared memory: an element a thread";
  // Requests: sectors that the loads and stores of a warp touch beyond the fewest. Shared: divisions of elements. Issue:
  // threads for each 8 bytes, and their divisions.
  const double sectors =
      sectors_of(form, &axis::src_stride, each, on.lanes) + sectors_of(form, &axis::dst_stride, each, on.lanes);
  const double threads = static_cast<double>(words * rows) * 8 / static_cast<double>(known.bytes);
  predict(known, on, row,
          {.requests = std::max(0.0, sectors / 4 - 2 * touched_sectors(form)),
           .shared = is_joined ? threads * static_cast<double>(each * (row_rank - 1)) : 0,
           .issue = threads * static_cast<double>(1 + args.rank)},
          made);
  return true;
}

std::string descriptions::element(const kernels::offer& made) {
  const auto& args = made.as<element_args>();
  const std::uint32_t words = args.words.divisor;
  return "elements   " + std::to_string(args.all_words / words) + " rows of " + std::to_string(args.row_elements) +
         " in dst, " + std::to_string(words) + " words each\n";
}

}  // namespace cornerturn::gpu
