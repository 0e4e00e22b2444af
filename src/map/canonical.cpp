#include "map/canonical.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace cornerturn::map {
namespace {

using base::magnitude;

std::int64_t largest_power_of_two_divisor(std::int64_t n) noexcept { return n & -n; }

void flip(axis& one, canonical& form) noexcept {
  form.src_offset += (one.extent - 1) * one.src_stride;
  form.dst_offset += (one.extent - 1) * one.dst_stride;
  form.second_offset += (one.extent - 1) * one.second_stride;
  one.src_stride = -one.src_stride;
  one.dst_stride = -one.dst_stride;
  one.second_stride = -one.second_stride;
}

// Requires  the axes are ordered by their dst strides
void flip_axes(canonical& form, bool in_place, std::int64_t line_bytes) noexcept {
  std::int64_t run = 1;  // elements that are contiguous in dst
  for (int k = form.rank - 1; k >= 0; --k) {
    axis& one = form.axes[k];
    const bool continues = magnitude(one.dst_stride) == run;
    const std::int64_t bytes = run * form.dst_word_bytes;
    const bool keeps_run = continues && bytes < line_bytes && bytes % 16 != 0 && !in_place;
    const bool by_src = magnitude(one.src_stride) < magnitude(one.dst_stride) && one.src_stride != 0 && !keeps_run;
    if ((by_src ? one.src_stride : one.dst_stride) < 0) flip(one, form);
    if (continues) run *= one.extent;
  }
}

void fold(canonical& form) noexcept {
  int kept = 0;
  for (int k = 1; k < form.rank; ++k) {
    axis& outer = form.axes[kept];
    const axis& inner = form.axes[k];
    const auto continues = [&](std::int64_t axis::*stride) {
      std::int64_t next = 0;
      return base::checked_mul(inner.extent, inner.*stride, next) && outer.*stride == next;
    };
    if (continues(&axis::src_stride) && continues(&axis::dst_stride) && continues(&axis::second_stride)) {
      outer = {outer.extent * inner.extent, inner.src_stride, inner.dst_stride, inner.second_stride};
    } else {
      form.axes[++kept] = inner;
    }
  }
  form.rank = form.rank == 0 ? 0 : kept + 1;
}

void widen(canonical& form, std::int64_t max_word_bytes) noexcept {
  if (form.rank == 0) return;
  axis& inner = form.axes[form.rank - 1];
  if (inner.src_stride != 1 || inner.dst_stride != 1) return;
  std::int64_t factor = std::min(largest_power_of_two_divisor(inner.extent), max_word_bytes / form.word_bytes);
  for (int k = 0; k < form.rank - 1; ++k) {
    for (const std::int64_t stride : {form.axes[k].src_stride, form.axes[k].dst_stride}) {
      if (stride != 0) factor = std::min(factor, largest_power_of_two_divisor(magnitude(stride)));
    }
  }
  // Offsets are nonzero if a flipped axis was folded into the inner one.
  for (const std::int64_t offset : {form.src_offset, form.dst_offset}) {
    if (offset != 0) factor = std::min(factor, largest_power_of_two_divisor(magnitude(offset)));
  }
  if (factor <= 1) return;
  inner.extent /= factor;
  for (int k = 0; k < form.rank - 1; ++k) {
    form.axes[k].src_stride /= factor;
    form.axes[k].dst_stride /= factor;
  }
  form.src_offset /= factor;
  form.dst_offset /= factor;
  form.word_bytes *= factor;
  form.dst_word_bytes = form.word_bytes;
  if (inner.extent == 1) --form.rank;
}

byte_span span_of(const canonical& form, std::int64_t word_bytes, std::int64_t offset,
                  std::int64_t axis::*stride) noexcept {
  if (form.empty) return {};
  std::int64_t lo = offset;
  std::int64_t hi = offset;
  for (int k = 0; k < form.rank; ++k) {
    const std::int64_t reach = (form.axes[k].extent - 1) * (form.axes[k].*stride);
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo * word_bytes, (hi + 1) * word_bytes};
}

}  // namespace

canonical canonicalize(const problem& what, std::int64_t max_word_bytes, std::int64_t line_bytes) noexcept {
  canonical form;
  const bool words_are_elements = !only_moves(what);
  const bool reads_second = what.math.beta != scalar{};
  const bool second_is_dst = reads_second && what.math.second == second_array::none;
  const bool has_second = reads_second || what.math.second == second_array::destination;
  form.word_bytes =
      words_are_elements
          ? what.element_bytes
          : std::min({largest_power_of_two_divisor(what.element_bytes), max_word_bytes, std::int64_t{16}});
  const std::int64_t split = what.element_bytes / form.word_bytes;
  form.dst_word_bytes =
      words_are_elements && what.math.dst != element_type::bits ? bytes_of(what.math.dst) : form.word_bytes;
  // This loop comes first: check.cpp skips the other checks for an empty problem.
  for (int k = 0; k < what.rank; ++k) {
    if (what.axes[k].extent == 0)
      return {.word_bytes = form.word_bytes, .dst_word_bytes = form.dst_word_bytes, .empty = true};
  }
  for (int k = 0; k < what.rank; ++k) {
    axis one = what.axes[k];
    if (one.extent == 1) continue;
    one.src_stride *= split;
    one.dst_stride *= split;
    one.second_stride = second_is_dst ? one.dst_stride : has_second ? one.second_stride : 0;
    form.axes[form.rank++] = one;
  }
  if (split > 1) form.axes[form.rank++] = {split, 1, 1};
  std::sort(form.axes.begin(), form.axes.begin() + form.rank,
            [](const axis& a, const axis& b) { return magnitude(a.dst_stride) > magnitude(b.dst_stride); });
  flip_axes(form, what.in_place, line_bytes);
  fold(form);
  if (!words_are_elements) widen(form, max_word_bytes);
  std::fill(form.axes.begin() + form.rank, form.axes.end(), axis{});
  return form;
}

std::int64_t words(const canonical& form) noexcept {
  if (form.empty) return 0;
  std::int64_t total = 1;
  for (int k = 0; k < form.rank; ++k) total *= form.axes[k].extent;
  return total;
}

byte_span src_span(const canonical& form) noexcept {
  return span_of(form, form.word_bytes, form.src_offset, &axis::src_stride);
}
byte_span dst_span(const canonical& form) noexcept {
  return span_of(form, form.dst_word_bytes, form.dst_offset, &axis::dst_stride);
}
byte_span second_span(const canonical& form) noexcept {
  return span_of(form, form.dst_word_bytes, form.second_offset, &axis::second_stride);
}

bool only_moves(const problem& what) noexcept {
  const arithmetic& math = what.math;
  if (math.second == second_array::destination) return false;
  if (math.alpha != scalar{1, 0} || math.beta != scalar{0, 0} || math.conj || math.scaled) return false;
  const bool integers = math.src >= element_type::int8 && math.dst >= element_type::int8;
  return math.src == math.dst || (integers && !math.saturate && bytes_of(math.src) == bytes_of(math.dst));
}

offsets at(const canonical& form, std::int64_t i) noexcept {
  offsets here{form.src_offset, form.dst_offset, form.second_offset};
  for (int k = form.rank - 1; k >= 0; --k) {
    const std::int64_t digit = i % form.axes[k].extent;
    i /= form.axes[k].extent;
    here.src += digit * form.axes[k].src_stride;
    here.dst += digit * form.axes[k].dst_stride;
    here.second += digit * form.axes[k].second_stride;
  }
  return here;
}

}  // namespace cornerturn::map
