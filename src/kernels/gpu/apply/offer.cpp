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

// The free axis with the smallest stride that is not 0, else any free axis; -1: none is left.
int nearest(const map::canonical& form, const roles& found, std::int64_t axis::*stride) noexcept {
  const auto distance = [&](int k) { return magnitude(form.axes[k].*stride) - 1ULL; };  // 0 becomes the largest
  int best = -1;
  for (int k = form.rank - 1; k >= 0; --k) {
    if (std::find(found.slot, found.slot + 3, k) != found.slot + 3) continue;
    if (best < 0 || distance(k) < distance(best)) best = k;
  }
  return best;
}

int log2_extent(const map::canonical& form, int axis) noexcept {
  return axis < 0 ? 0 : log2_above(form.axes[axis].extent);
}

// Selects the axes of the smallest strides as columns and rows, and a third axis if those two do not fill a tile.
void cut(apply_args& args, roles& found, const map::canonical& form, int all) noexcept {
  found = {};
  found.slot[0] = nearest(form, found, &axis::src_stride);
  // If the columns are contiguous in dst, too, the rows are the axis of the next smaller stride.
  found.slot[1] = nearest(form, found, &axis::dst_stride);
  const int cols = log2_extent(form, found.slot[0]), rows = log2_extent(form, found.slot[1]);
  args.cut_log2[0] = std::min(cols, std::max((all + 1) / 2, all - rows));
  args.cut_log2[1] = std::min(rows, all - args.cut_log2[0]);
  if (args.cut_log2[0] + args.cut_log2[1] < all) found.slot[2] = nearest(form, found, &axis::dst_stride);
  args.cut_log2[2] = std::min(log2_extent(form, found.slot[2]), all - args.cut_log2[0] - args.cut_log2[1]);
  const auto by_cols = [&](std::int64_t axis::*stride) {
    if (found.slot[0] < 0 || found.slot[1] < 0) return 1;
    const std::int64_t along = magnitude(form.axes[found.slot[0]].*stride);
    return along < magnitude(form.axes[found.slot[1]].*stride) ? 1 : 0;
  };
  args.dst_by_cols = by_cols(&axis::dst_stride);
  args.second_by_cols = by_cols(&axis::second_stride);
}

// The offsets of the steps: any.cuh has the order of the elements.
void fill_steps(apply_args& args, std::int32_t src_bytes) noexcept {
  const auto elements = 1 << (args.cut_log2[0] + args.cut_log2[1] + args.cut_log2[2]);
  for (int order = 0; order < 2; ++order) {
    const int first = order == 1 ? 0 : 1;
    apply_steps& into = args.steps[order];
    for (int step = 0; step < elements / apply_any_threads; ++step) {
      const int i = step * apply_any_threads;
      int index[3] = {};
      index[first] = i % (1 << args.cut_log2[first]);
      index[1 - first] = (i >> args.cut_log2[first]) % (1 << args.cut_log2[1 - first]);
      index[2] = i >> (args.cut_log2[0] + args.cut_log2[1]);
      for (int s = 0; s < 3; ++s) {
        into.src_bytes[step] += index[s] * args.slots[s].src_bytes;
        into.dst_bytes[step] += index[s] * args.slots[s].dst_bytes;
        into.second_bytes[step] += index[s] * args.slots[s].second_bytes;
      }
      into.smem_bytes[step] = ((index[2] << args.cut_log2[1]) + index[1]) * args.pitch + index[0] * src_bytes;
    }
  }
}

// Elements of whole tiles for each 8 bytes.
double elements_of_tiles(const kernels::facts& known, const apply_args& args, const roles& found) noexcept {
  double used = 1;
  for (int s = 0; s < 3; ++s) {
    if (found.slot[s] >= 0) used *= fill(known.form.axes[found.slot[s]].extent, args.blocks.tile[s]);
  }
  return static_cast<double>(map::words(known.form)) * 8 / static_cast<double>(known.bytes) / used;
}

// Sectors beyond the fewest of the first 256 elements of a tile in the order of one side, relative to the elements' bytes.
double wasted_sectors(const map::canonical& form, const apply_args& args, const roles& found, bool by_cols,
                      std::int64_t axis::*stride, std::int64_t word) noexcept {
  const int order[3] = {by_cols ? 0 : 1, by_cols ? 1 : 0, 2};
  std::int64_t extent[3], all = 1;
  for (int s = 0; s < 3; ++s) {
    const int of = found.slot[order[s]];
    extent[s] = of < 0 ? 1 : std::min<std::int64_t>(args.blocks.tile[order[s]], form.axes[of].extent);
    all *= extent[s];
  }
  std::array<std::int64_t, 256> sector{};
  const std::int64_t count = std::min<std::int64_t>(all, 256);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int s = 0; s < 3; ++s) {
      if (found.slot[order[s]] >= 0) offset += rest % extent[s] * (form.axes[found.slot[order[s]]].*stride);
      rest /= extent[s];
    }
    sector[static_cast<std::size_t>(i)] = (offset * word) >> 5;
  }
  std::sort(sector.begin(), sector.begin() + count);
  const auto different = std::unique(sector.begin(), sector.begin() + count) - sector.begin();
  const double share = static_cast<double>(different) * 32 / static_cast<double>(count * word);
  return std::max(0.0, share - touched_sectors(form, stride, word));
}

bool second_is_as_dst(const map::canonical& form, const kernels::op& math) noexcept {
  if (math.second == second_array::none) return true;
  return std::all_of(form.axes.begin(), form.axes.begin() + form.rank,
                     [](const axis& one) { return one.second_stride == one.dst_stride; });
}

// True where a tile of at least 16 x 16 fits: it reads src once, in whole lines.
bool has_tile(const kernels::facts& known, const kernels::target& on) noexcept {
  constexpr std::int64_t least = 16;
  const map::canonical& form = known.form;
  const roles found = unit_axes(form, known.math);
  if (!has_runs(form, known.math, found)) return false;
  if (form.axes[found.slot[0]].extent < least || form.axes[found.slot[1]].extent < least) return false;
  const bool is_aligned = known.alignment >= 16 && whole_units(form, known.math, found);
  const auto all = kernels::all();
  return std::any_of(all.begin(), all.end(), [&](const kernels::kernel& row) {
    return row.kind == kernels::row_kind::arithmetic && row.tile_rows > 0 && row.element_bytes == form.word_bytes &&
           row.dst_element_bytes == form.dst_word_bytes &&
           (kernels::is_variant(row, "_unaligned") ? on.words.async_copies : is_aligned);
  });
}

bool offer_elements(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (form.empty || form.rank == 0 || known.alignment < std::max(form.word_bytes, form.dst_word_bytes)) return false;
  if (!second_is_as_dst(form, known.math) || has_tile(known, on)) return false;
  const bool is_joined = kernels::is_variant(row, "_element");
  const int each =
      is_joined ? joined_elements(static_cast<int>(form.word_bytes), static_cast<int>(form.dst_word_bytes)) : 1;
  if (is_joined && each == 1) return false;
  // An alignment of the wider element says no more than that every address is a multiple of its own element.
  const std::int64_t dst_alignment =
      known.alignment > std::max(form.word_bytes, form.dst_word_bytes) ? known.alignment : form.dst_word_bytes;
  auto& args = made.emplace<apply_element_args>();
  if (!number_elements(form, each, dst_alignment, args)) return false;
  args.math = arithmetic_of(known.math);
  args.element_bytes = static_cast<std::int32_t>(form.dst_word_bytes);
  args.second_written = known.math.second == second_array::destination ? 1 : 0;
  made.blocks = static_cast<std::uint32_t>(ceil_div(args.all_words, element_threads));
  made.shared_bytes = 0;
  made.reason = is_joined ? "any strides of src, without shared memory: a thread computes a word of dst"
                          : "any strides, without shared memory: an element a thread";
  counts parts = element_counts(known, on, args, each);
  // The constants of these rows were fitted with lines that are fetched again among the partial sectors.
  parts.dram += parts.again.from_dram + 0.3 * parts.again.from_l2;
  parts.again = {};
  predict(known, on, row, parts, made);
  return true;
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
  const bool by_elements = !any && row.tile_rows == 0;
  if (!any && !by_elements && row.dst_element_bytes != form.dst_word_bytes) return false;
  if (unaligned && !on.words.async_copies) return false;
  if ((is_small_float(math.src) || is_small_float(math.dst)) && !on.words.small_floats) return false;
  if (by_elements) return offer_elements(known, on, row, made);
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
  counts parts;
  if (any) {
    const auto src_bytes = static_cast<std::int32_t>(form.word_bytes);
    const int all = log2_above(apply_any_elements(src_bytes));
    cut(args, found, form, all);
    args.pitch = (src_bytes << args.cut_log2[0]) + (args.cut_log2[0] > 0 ? std::max(src_bytes, 4) : 0);
    made.shared_bytes = args.pitch << (args.cut_log2[1] + args.cut_log2[2]);
    made.reason = "runs of src are regrouped to runs of dst in shared memory, element by element";
    for (int slot = 0; slot < 3; ++slot) args.blocks.tile[slot] = 1 << args.cut_log2[slot];
    args.is_full = args.cut_log2[0] + args.cut_log2[1] + args.cut_log2[2] == all ? 1 : 0;
    parts.issue = elements_of_tiles(known, args, found);
    parts.requests = wasted_sectors(form, args, found, true, &axis::src_stride, form.word_bytes) +
                     wasted_sectors(form, args, found, args.dst_by_cols != 0, &axis::dst_stride, form.dst_word_bytes);
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
    parts.issue = (1 / filled - 1) / 2;  // threads beyond an edge skip their loads and stores
    made.reason =
        unaligned ? "addresses are multiples of one element: granules of 16 bytes are realigned, elements are computed "
                    "before the stores"
                  : "every address is a multiple of 16 bytes: register blocks, elements are computed before the stores";
  }
  if (!fill_grid(made, args, form, found)) return false;
  if (any) fill_steps(args, static_cast<std::int32_t>(form.word_bytes));
  predict(known, on, row, parts, made);
  return true;
}

std::string descriptions::apply(const kernels::offer& made) {
  if (made.args_bytes == sizeof(apply_element_args)) {
    const auto& args = made.as<apply_element_args>();
    const std::uint32_t words = args.words.divisor;
    return "elements   " + std::to_string(args.all_words / words) + " rows of " + std::to_string(args.row_elements) +
           " in dst, " + std::to_string(words) + " words each, " + std::to_string(made.row->element_bytes) +
           "-byte elements to " + std::to_string(args.element_bytes) + "-byte ones\n";
  }
  const auto& args = made.as<apply_args>();
  std::string text = "tile       " + std::to_string(args.blocks.tile[1]) + " rows x " +
                     std::to_string(args.blocks.tile[0]) + " columns";
  if (args.blocks.tile[2] > 1) text += " x " + std::to_string(args.blocks.tile[2]) + " of another axis";
  return text + ", " + std::to_string(made.row->element_bytes) + "-byte elements to " + std::to_string(args.dst_bytes) +
         "-byte ones\n";
}

}  // namespace cornerturn::gpu
