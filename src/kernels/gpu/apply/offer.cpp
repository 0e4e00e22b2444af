// Arithmetic, and copies to two destinations. Register blocks, if every address is a multiple of 16 bytes; realigned
// granules, if addresses are multiples of one element; else element by element.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "kernels/gpu/apply/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

// The axis of each slot of a tile; -1: none.
struct roles {
  int slot[3] = {-1, -1, -1};  // columns, rows, and an axis that fills up a tile
  bool second_by_cols = false;
};

roles unit_axes(const map::canonical& form, const kernels::op& math) noexcept {
  roles found;
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].src_stride == 1 && form.axes[k].dst_stride != 1) found.slot[0] = k;
    if (form.axes[k].dst_stride == 1 && form.axes[k].src_stride != 1) found.slot[1] = k;
  }
  if (found.slot[0] >= 0 && math.second == second_array::destination) {
    found.second_by_cols = form.axes[found.slot[0]].second_stride == 1;
  }
  return found;
}

// True when every chunk of 16 bytes of src, and every unit of dst and of a second array, begins at a multiple of its
// size.
bool whole_units(const map::canonical& form, const kernels::op& math, const roles& found) noexcept {
  if (found.slot[0] < 0 || found.slot[1] < 0) return false;
  const std::int64_t unit = 16 / std::max(form.word_bytes, form.dst_word_bytes);
  const int second_run = found.slot[found.second_by_cols ? 0 : 1];
  const bool second = math.second != second_array::none;
  if (second && form.axes[second_run].second_stride != 1) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (k != found.slot[0] && one.src_stride * form.word_bytes % 16 != 0) return false;
    if (k != found.slot[1] && one.dst_stride % unit != 0) return false;
    if (second && k != second_run && one.second_stride % unit != 0) return false;
  }
  return true;
}

// True when rows are contiguous in dst, columns in src, and a second destination along one of them.
bool has_runs(const map::canonical& form, const kernels::op& math, const roles& found) noexcept {
  if (found.slot[0] < 0 || found.slot[1] < 0) return false;
  const int second_run = found.slot[found.second_by_cols ? 0 : 1];
  return math.second != second_array::destination || form.axes[second_run].second_stride == 1;
}

// Numbers the blocks down a column of tiles first, so that consecutive blocks complete the same runs of dst. Returns
// false when the grid would be too large.
bool fill_grid(kernels::offer& made, apply_args& args, const map::canonical& form, const roles& found) noexcept {
  apply_grid& blocks = args.blocks;
  std::int64_t all = 1;
  const auto add = [&](std::int64_t count, int slot, const axis& one, std::int64_t step) {
    if (count == 1) return;
    apply_axis& into = blocks.axes[blocks.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(count, most_blocks)));
    if (slot >= 0) into.tiles[slot] = 1;
    into.src_step_bytes = one.src_stride * step * form.word_bytes;
    into.dst_step_bytes = one.dst_stride * step * form.dst_word_bytes;
    into.second_step_bytes = one.second_stride * step * form.dst_word_bytes;
    if (!base::checked_mul(all, count, all) || all > most_blocks) all = most_blocks + 1;
  };
  for (const int slot : {1, 0, 2}) {
    if (found.slot[slot] < 0) continue;
    const axis& one = form.axes[found.slot[slot]];
    args.slots[slot] = {one.src_stride * form.word_bytes, one.dst_stride * form.dst_word_bytes,
                        one.second_stride * form.dst_word_bytes};
    blocks.extent[slot] = one.extent;
    add(ceil_div(one.extent, blocks.tile[slot]), slot, one, blocks.tile[slot]);
  }
  for (int k = form.rank - 1; k >= 0; --k) {
    if (std::find(found.slot, found.slot + 3, k) == found.slot + 3) add(form.axes[k].extent, -1, form.axes[k], 1);
  }
  made.blocks = static_cast<std::uint32_t>(all);
  return all <= most_blocks;
}

int log2_above(std::int64_t n) noexcept {
  int log2 = 0;
  while (std::int64_t{1} << log2 < n) ++log2;
  return log2;
}

// Selects the axes of the smallest strides as columns and rows, and a third axis if those two do not fill a tile.
void fill_any(apply_args& args, roles& found, const map::canonical& form) noexcept {
  const auto nearest = [&](std::int64_t axis::*stride) {
    int best = -1;
    for (int k = 0; k < form.rank; ++k) {
      if (std::find(found.slot, found.slot + 3, k) != found.slot + 3) continue;
      if (best < 0 || magnitude(form.axes[k].*stride) < magnitude(form.axes[best].*stride)) best = k;
    }
    return best;
  };
  found = {};
  found.slot[0] = nearest(&axis::src_stride);
  // If the columns are contiguous in dst, too, the rows are the axis of the next smaller stride.
  found.slot[1] = nearest(&axis::dst_stride);
  const auto extent = [&](int slot) { return found.slot[slot] < 0 ? 1 : form.axes[found.slot[slot]].extent; };
  const int all = log2_above(apply_any_elements(static_cast<int>(form.word_bytes)));
  const int cols = log2_above(extent(0)), rows = log2_above(extent(1));
  const int half = (all + 1) / 2;
  args.cut_log2[0] = std::min(cols, std::max(half, all - rows));
  args.cut_log2[1] = std::min(rows, all - args.cut_log2[0]);
  if (args.cut_log2[0] + args.cut_log2[1] < all) found.slot[2] = nearest(&axis::dst_stride);
  args.cut_log2[2] = std::min(log2_above(extent(2)), all - args.cut_log2[0] - args.cut_log2[1]);
  const auto src_bytes = static_cast<std::int32_t>(form.word_bytes);
  args.pitch = (src_bytes << args.cut_log2[0]) + (args.cut_log2[0] > 0 ? std::max(src_bytes, 4) : 0);
  for (int slot = 0; slot < 3; ++slot) args.blocks.tile[slot] = 1 << args.cut_log2[slot];
  const auto by_cols = [&](std::int64_t axis::*stride) {
    if (found.slot[0] < 0 || found.slot[1] < 0) return 1;
    const std::int64_t along = magnitude(form.axes[found.slot[0]].*stride);
    return along < magnitude(form.axes[found.slot[1]].*stride) ? 1 : 0;
  };
  args.dst_by_cols = by_cols(&axis::dst_stride);
  args.second_by_cols = by_cols(&axis::second_stride);
}

// The limits and the bias of a conversion of integers.
void fill_integers(arithmetic_args& made, const kernels::op& math) noexcept {
  const auto bits_of = [](element_type type) { return static_cast<int>(8 * bytes_of(type)); };
  const auto is_signed = [](element_type type) { return type < element_type::uint8; };
  const auto largest = [&](element_type type) { return ~std::uint64_t{0} >> (64 - bits_of(type) + is_signed(type)); };
  made.kind = arithmetic_kind::integer;
  made.is_signed = is_signed(math.src) ? 1 : 0;
  const int wide = std::max(bits_of(math.src), 32);
  const std::int64_t lowest = wide == 64 ? INT64_MIN : INT32_MIN;
  const bool biased = made.is_signed == 0 && bits_of(math.src) == wide;
  made.lowest = lowest;
  made.highest = wide == 64 ? INT64_MAX : INT32_MAX;
  if (!math.saturate) return;
  const auto highest = static_cast<std::int64_t>(std::min(largest(math.src), largest(math.dst)));
  std::int64_t least = 0;
  if (is_signed(math.src) && is_signed(math.dst)) {
    least = std::max(-static_cast<std::int64_t>(largest(math.src)), -static_cast<std::int64_t>(largest(math.dst))) - 1;
  }
  made.bias = biased ? lowest : 0;
  made.lowest = least ^ made.bias;
  made.highest = highest ^ made.bias;
}

bool is_small_float(element_type type) noexcept {
  using enum element_type;
  return type == float16 || type == bfloat16 || type == float8_e4m3 || type == float8_e5m2;
}

}  // namespace

arithmetic_args arithmetic_of(const kernels::op& math) noexcept {
  using enum element_type;
  arithmetic_args made;
  made.src = math.src;
  made.dst = math.dst;
  made.saturate = math.saturate ? 1 : 0;
  made.reads_src = math.reads_src() ? 1 : 0;
  made.reads_second = math.reads_second() ? 1 : 0;
  made.flip = math.conj && math.reads_src() ? 0x80000000u : 0;
  made.alpha_re = math.terms == kernels::terms::zero ? 0.0 : math.reads_src() ? math.alpha_re : -0.0;
  made.alpha_im = math.reads_src() ? math.alpha_im : 0.0;
  made.beta_re = math.reads_second() ? math.beta_re : -0.0;
  made.beta_im = math.reads_second() ? math.beta_im : 0.0;
  const bool is_complex = math.src == complex64 || math.src == complex128;
  if (math.src == math.dst && (math.terms == kernels::terms::value || math.src == bits || math.src >= float8_e4m3)) {
    made.kind = arithmetic_kind::move;
  } else if (math.src >= int8) {
    fill_integers(made, math);
  } else if (is_complex) {
    made.kind =
        math.complex_scalars && math.terms != kernels::terms::zero ? arithmetic_kind::complex : arithmetic_kind::parts;
  } else {
    made.kind = arithmetic_kind::real;
  }
  return made;
}

bool offers::apply(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const kernels::op& math = known.math;
  if (row.element_bytes != form.word_bytes || row.shared_bytes > on.shared_bytes) return false;
  const bool any = kernels::is_variant(row, "_any"), unaligned = kernels::is_variant(row, "_unaligned");
  if (!any && row.dst_element_bytes != form.dst_word_bytes) return false;
  if (unaligned && !on.words.async_copies) return false;
  if ((is_small_float(math.src) || is_small_float(math.dst)) && !on.words.small_floats) return false;
  auto& args = made.emplace<apply_args>();
  made.blocks = 0;
  made.shared_bytes = 0;
  if (form.empty) {
    made.reason = "the problem has no elements";
    made.time = 1;
    made.binds = kernels::bound::nothing;
    return any;
  }
  roles found = unit_axes(form, math);
  args.math = arithmetic_of(math);
  args.dst_bytes = static_cast<std::int32_t>(form.dst_word_bytes);
  args.second_written = math.second == second_array::destination ? 1 : 0;
  double empty = 0;
  if (any) {
    fill_any(args, found, form);
    made.shared_bytes = args.pitch << (args.cut_log2[1] + args.cut_log2[2]);
    made.reason = "runs of src are regrouped to runs of dst in shared memory, element by element";
  } else {
    const bool fits =
        unaligned ? known.alignment >= std::max(form.word_bytes, form.dst_word_bytes) && has_runs(form, math, found)
                  : known.alignment >= 16 && whole_units(form, math, found);
    if (!fits) return false;
    args.second_by_cols = found.second_by_cols ? 1 : 0;
    args.blocks.tile[0] = row.tile_cols;
    args.blocks.tile[1] = row.tile_rows;
    made.shared_bytes = row.shared_bytes;
    const double filled =
        fill(form.axes[found.slot[0]].extent, row.tile_cols) * fill(form.axes[found.slot[1]].extent, row.tile_rows);
    empty = 1 / filled - 1;
    made.reason =
        unaligned ? "addresses are multiples of one element: granules of 16 bytes are realigned, elements are computed "
                    "before the stores"
                  : "every address is a multiple of 16 bytes: register blocks, elements are computed before the stores";
  }
  if (!fill_grid(made, args, form, found)) return false;
  predict(known, on, row, {.issue = empty}, made);
  return true;
}

std::string descriptions::apply(const kernels::offer& made) {
  const auto& args = made.as<apply_args>();
  std::string text = "tile       " + std::to_string(args.blocks.tile[1]) + " rows x " +
                     std::to_string(args.blocks.tile[0]) + " columns";
  if (args.blocks.tile[2] > 1) text += " x " + std::to_string(args.blocks.tile[2]) + " of another axis";
  return text + ", " + std::to_string(made.row->element_bytes) + "-byte elements to " + std::to_string(args.dst_bytes) +
         "-byte ones\n";
}

}  // namespace cornerturn::gpu
