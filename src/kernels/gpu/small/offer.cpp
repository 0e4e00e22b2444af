// Many small matrices with sides of 1, 2, 4 or 8 chunks of 16 bytes, at multiples of 16 bytes, or rows and columns that stay in
// L2, at any address, of elements of one word or three. batch.cpp has the offers of the rows for batches.
#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

// The axis of the smallest dst stride that counts small matrices; -1: there is none, or it is too short.
int find_matrices(const map::canonical& form, const transpose_axes& axes) noexcept {
  if (form.rank < 3 || !axes.aligned() || axes.fused()) return -1;
  const int down = whole_side_log2(axes.rows.total, form.word_bytes),
            across = whole_side_log2(axes.cols.total, form.word_bytes);
  if (down < 0 || across < 0) return -1;
  int best = -1;
  for (int k = 0; k < form.rank; ++k) {
    if (axes.taken[k]) continue;
    if (best < 0 || magnitude(form.axes[k].dst_stride) < magnitude(form.axes[best].dst_stride)) best = k;
  }
  const std::int64_t at_a_time = units_of_tile(form.word_bytes) >> (down + across);
  return form.axes[best].extent >= 2 * at_a_time ? best : -1;
}

bool offer_many(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const int along = find_matrices(form, axes);
  if (along < 0) return false;
  auto& args = made.emplace<many_small_args>();
  const std::int64_t word = form.word_bytes;
  const axis& matrices = form.axes[along];
  args.src_row_bytes = form.axes[axes.rows.axes[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols.axes[0]].dst_stride * word;
  args.src_matrix_bytes = matrices.src_stride * word;
  args.dst_matrix_bytes = matrices.dst_stride * word;
  args.down_log2 = whole_side_log2(axes.rows.total, word);
  args.across_log2 = whole_side_log2(axes.cols.total, word);
  const std::int64_t at_a_time = units_of_tile(word) >> (args.down_log2 + args.across_log2);
  args.blocks.extent[1] = matrices.extent;
  args.blocks.tile[1] = static_cast<std::int32_t>(at_a_time);
  grid_builder number(args.blocks, word);
  number.add(ceil_div(matrices.extent, at_a_time), 1, 1, at_a_time * matrices.src_stride,
             at_a_time * matrices.dst_stride);
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!axes.taken[k] && k != along) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  if (!finish(made, number, row)) return false;
  made.reason = "many matrices of at most 128 bytes a side, every address a multiple of 16 bytes: several in a block";
  predict(known, on, row, {.issue = 1 / fill(matrices.extent, at_a_time) - 1}, made);
  return true;
}

constexpr std::int64_t most_offset = INT32_MAX;

// The axes of a side that a tile walks as one: one, or two if tiles of one would be emptier.
int axes_of_tile(const map::canonical& form, const tile_side& side, std::int64_t extent) noexcept {
  if (side.rank == 1) return 1;
  const std::int64_t one = form.axes[side.axes[0]].extent, two = one * form.axes[side.axes[1]].extent;
  return fill(two, extent) > 1.1 * fill(one, extent) ? 2 : 1;
}

struct small_axes {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t matrices = 1;
  std::array<const axis*, 2> row{}, col{};
  std::array<const axis*, max_small_outer_axes> outer{};
  int outer_rank = 0;
};

// False if there are too many outer axes.
bool sort_axes(const kernels::facts& known, const kernels::kernel& row, small_axes& found) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  bool taken[map::max_axes] = {};
  const auto take = [&](const tile_side& side, std::int64_t extent, std::array<const axis*, 2>& into,
                        std::int64_t& total) {
    const int count = axes_of_tile(form, side, extent);
    for (int i = 0; i < count; ++i) {
      into[i] = &form.axes[side.axes[i]];
      total *= into[i]->extent;
      taken[side.axes[i]] = true;
    }
  };
  take(axes.rows, row.tile_rows, found.row, found.rows);
  take(axes.cols, row.tile_cols, found.col, found.cols);
  for (int k = form.rank - 1; k >= 0; --k) {
    if (taken[k]) continue;
    if (found.outer_rank == max_small_outer_axes) return false;
    found.outer[found.outer_rank++] = &form.axes[k];
    found.matrices *= form.axes[k].extent;
  }
  return true;
}

small_side side_of(const std::array<const axis*, 2>& axes, std::int64_t axis::*stride) noexcept {
  small_side made;
  if (axes[1] == nullptr) return made;
  made.count = map::fast_divisor(static_cast<std::uint32_t>(axes[0]->extent));
  made.ld = static_cast<std::int32_t>(axes[1]->*stride);
  made.is_split = 1;
  return made;
}

// Removes the axis of the words of an element, so that strides count elements of three words. False if they do not.
bool count_elements(kernels::facts& known) noexcept {
  map::canonical& form = known.form;
  const int triples = find_triples(form);
  if (triples < 0) return false;
  std::move(form.axes.begin() + triples + 1, form.axes.begin() + form.rank, form.axes.begin() + triples);
  --form.rank;
  form.word_bytes *= 3;
  for (int k = 0; k < form.rank; ++k) {
    axis& one = form.axes[k];
    if (one.src_stride % 3 != 0 || one.dst_stride % 3 != 0) return false;
    one.src_stride /= 3;
    one.dst_stride /= 3;
  }
  known.transposed = {};
  known.transposes = find_transpose_axes(form, known.transposed);
  return known.transposes;
}

// True if all rows but the first and the last are a word or more away from the ends of src.
bool ends_at_ends(const std::array<const axis*, 2>& rows, std::int64_t word) noexcept {
  const auto is_far = [&](const axis* one) { return one == nullptr || magnitude(one->src_stride) * word >= 4; };
  const bool same_sign = rows[1] == nullptr || (rows[0]->src_stride < 0) == (rows[1]->src_stride < 0);
  return is_far(rows[0]) && is_far(rows[1]) && same_sign;
}

bool offer_tiles(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                 kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t word = form.word_bytes;  // bytes of an element
  if (known.bytes > on.gpu->cached_bytes) return false;
  const map::byte_span src = map::src_span(form), dst = map::dst_span(form);
  if (src.hi - src.lo > most_offset || dst.hi - dst.lo > most_offset) return false;
  small_axes axes;
  if (!sort_axes(known, row, axes)) return false;
  const bool fused = kernels::is_variant(row, "_fused");
  if (fused != (axes.outer_rank > 0 || axes.row[1] != nullptr || axes.col[1] != nullptr)) return false;
  auto& args = fused ? made.emplace<fused_small_args>() : made.emplace<small_args>();
  args.rows = static_cast<std::uint32_t>(axes.rows);
  args.cols = static_cast<std::uint32_t>(axes.cols);
  args.src_ld = static_cast<std::int32_t>(axes.row[0]->src_stride);
  args.dst_ld = static_cast<std::int32_t>(axes.col[0]->dst_stride);
  std::int64_t dst_bits = 0, src_bits = known.alignment;
  for (const axis* const one : axes.col) dst_bits |= one == nullptr ? 0 : one->dst_stride * word;
  for (const axis* const one : axes.row) src_bits |= one == nullptr ? 0 : one->src_stride * word;
  for (int k = 0; k < axes.outer_rank; ++k) {
    dst_bits |= axes.outer[k]->dst_stride * word;
    src_bits |= axes.outer[k]->src_stride * word;
  }
  const std::int64_t across = ceil_div(axes.cols, row.tile_cols);
  std::int64_t down = ceil_div(axes.rows, row.tile_rows);
  const bool in_words = word % 4 != 0 && std::string_view(row.name).find("_single") == std::string_view::npos;
  const bool packed = std::string_view(row.name).find("_packed") != std::string_view::npos;
  if (packed) {
    const bool ascends = std::all_of(form.axes.begin(), form.axes.begin() + form.rank,
                                     [](const axis& one) { return one.src_stride > 0; });
    const bool has_words = known.alignment % 4 == 0 && ascends;
    const std::int64_t halo = halo_rows_of(static_cast<std::int32_t>(word));
    if (!has_words || axes.col[1] != nullptr || axes.col[0]->dst_stride != axes.rows ||
        axes.rows < row.tile_rows + halo || axes.cols < row.tile_cols)
      return false;
    down += 1;
  } else if (in_words) {
    args.cut = (src_bits | axes.cols * word) % 4 != 0 ? 1 : 0;
    const std::int64_t halo = halo_rows_of(static_cast<std::int32_t>(word)), rows = axes.rows - 2 * args.cut - halo;
    if (rows < row.tile_rows || axes.cols < row.tile_cols || (args.cut != 0 && !ends_at_ends(axes.row, word)))
      return false;
    down = ceil_div(rows, row.tile_rows) + 2 * edge_blocks;
  }
  // Whole sectors: the halo makes a tile's latency longer, which binds if there are few. The columns may also be aligned already.
  const bool sectors = kernels::is_variant(row, "_sectors");
  if (sectors &&
      (down == 1 || across * down < 2 * on.multiprocessors || (known.alignment == 16 && dst_bits % sector_bytes == 0)))
    return false;
  constexpr std::int64_t most_of_grid = 65535;  // in its second and third dimension
  if (down > most_of_grid || axes.matrices > most_of_grid || across * down * axes.matrices > most_blocks) return false;
  args.tiles_across = static_cast<std::uint32_t>(across);
  args.tiles_down = static_cast<std::uint32_t>(down);
  if (fused) {
    auto& all = static_cast<fused_small_args&>(args);
    all.row_axes = side_of(axes.row, &axis::src_stride);
    all.col_axes = side_of(axes.col, &axis::dst_stride);
    if (axes.outer_rank > 0) {
      all.src_stride = static_cast<std::int32_t>(axes.outer[0]->src_stride);
      all.dst_stride = static_cast<std::int32_t>(axes.outer[0]->dst_stride);
    }
    std::uint32_t faster = 1;
    for (int k = 1; k < axes.outer_rank; ++k) {
      const axis &one = *axes.outer[k], &before = *axes.outer[k - 1];
      faster *= static_cast<std::uint32_t>(before.extent);
      // Steps are modulo 2^32, as the offsets that they add up to.
      all.outer[k - 1] = {static_cast<std::int32_t>(one.src_stride - before.extent * before.src_stride),
                          static_cast<std::int32_t>(one.dst_stride - before.extent * before.dst_stride),
                          map::fast_quotient(faster)};
    }
  }
  made.blocks = static_cast<std::uint32_t>(across * down * axes.matrices);
  made.shared_bytes = row.shared_bytes;
  made.reason = "rows and columns that stay in L2: small tiles of few instructions";
  // DRAM: parts of sectors that tiles load and store. Requests: rows of the halo. Shared: words of src that are two loads. Issue: empty
  // parts of tiles, and edges.
  const bool whole = sectors || in_words;
  const double used =
      static_cast<double>(axes.cols * axes.rows) / static_cast<double>(across * row.tile_cols * down * row.tile_rows);
  const std::int64_t row_bytes = std::min<std::int64_t>(axes.cols, row.tile_cols) * word;
  const std::int64_t col_bytes = (whole ? axes.rows : std::min<std::int64_t>(axes.rows, row.tile_rows)) * word;
  predict(known, on, row,
          {.dram = tile_waste(known, row_bytes, col_bytes),
           .requests = whole ? static_cast<double>(ceil_div(sector_bytes - 1, word)) / row.tile_rows : 0.0,
           .shared = in_words && src_bits % 4 != 0 ? 1.0 : 0.0,
           .issue = 1 / used - 1},
          made);
  return true;
}

}  // namespace

bool offers::small(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  if (row.element_bytes != known.form.word_bytes || row.shared_bytes > on.shared_bytes) return false;
  if (row.kind != kernels::row_kind::move) return false;
  if (std::string_view(row.name).find("x3_") != std::string_view::npos) {
    kernels::facts elements = known;
    return count_elements(elements) && offer_tiles(elements, on, row, made);
  }
  if (known.axes() == nullptr) return false;
  if (!kernels::is_variant(row, "_many")) return offer_tiles(known, on, row, made);
  return known.alignment == 16 && on.words.async_copies && offer_many(known, on, row, made);
}

std::string descriptions::small(const kernels::offer& made) {
  if (made.args_bytes == sizeof(many_small_args)) {
    const auto& args = made.as<many_small_args>();
    return "matrices   " + std::to_string(args.blocks.extent[1]) + " in a row, " + std::to_string(args.blocks.tile[1]) +
           " at a time\n" + describe_grid(args.blocks);
  }
  const auto& args = made.as<small_args>();
  const std::uint32_t each = args.tiles_across * args.tiles_down;
  return "matrix     " + std::to_string(args.rows) + " rows x " + std::to_string(args.cols) + " columns, " +
         std::to_string(args.tiles_down) + " x " + std::to_string(args.tiles_across) + " tiles" +
         (made.blocks == each ? "\n" : ", " + std::to_string(made.blocks / each) + " times\n");
}

}  // namespace cornerturn::gpu
