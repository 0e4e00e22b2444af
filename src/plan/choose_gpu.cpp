// The decision list of the GPU engines. The first line whose condition holds wins. Rows are the axes that are
// contiguous in dst, columns those that are contiguous in src; each may be several axes that continue each other (a
// chain).
//   1  nothing to move                                                       copy, no blocks
//   2  one contiguous run                                                    copy
//   3  an inner run, contiguous on both sides and long                       runs
//   4  16-byte chunks; few elements, end to end on one side, apart on the    deinterleave, interleave
//      other
//   5  elements of three bytes; extents and addresses are multiples of 4     pixel
//   6  addresses are multiples of 16; many matrices, 1, 2, 4 or 8 chunks     blocks
//      a side
//   7  addresses are multiples of 16; at most 128 bytes of columns           columns
//   8  the same; at most 128 bytes of rows                                   rows
//   9  few columns, dst at any address                                       shift_columns
//  10  few rows, src at any address                                          shift_rows
//  11  any addresses; few elements, end to end on one side, apart on the    shift_deinterleave, shift_interleave
//      other
//  12  addresses and extents are multiples of 16; one matrix, in L2          small
//  13  addresses are; rows and columns fill large tiles, many blocks of them tile, or chain
//  14  the same; they fill small tiles better                                the small tile, or chain
//  15  any addresses; rows and columns fill tiles                            shift, or shift_chain
//  16  any addresses; many small matrices, end to end in dst                 panel
//  17  everything else                                                       box
#include "plan/choose_gpu.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "plan/box.hpp"
#include "plan/numbering.hpp"
#include "plan/panel.hpp"
#include "plan/sides.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;

enum line_number {
  nothing = 1,
  one_run,
  long_runs,
  regrouped_elements,
  pixels,
  small_matrices,
  few_columns,
  few_rows,
  shifted_columns,
  shifted_rows,
  shifted_elements,
  small_matrix,
  large_tiles,
  small_tiles,
  shifted_tiles,
  panels,
  boxes
};

constexpr const char* reasons[] = {
    "",
    "there is nothing to move",
    "src and dst are one contiguous run",
    "the innermost axis is contiguous on both sides and long enough to be copied run by run",
    "a few elements lie end to end on one side and apart on the other: they are regrouped in registers",
    "elements of three bytes, every address and extent a multiple of 4: 4 x 4 of them are turned in registers",
    "many matrices of at most 128 bytes a side, every address a multiple of 16 bytes: they travel as they lie",
    "every address is a multiple of 16 bytes and columns are few: rows travel as they lie, blocks turn on the way out",
    "every address is a multiple of 16 bytes and rows are few: blocks turn on the way in, columns leave in order",
    "columns are few and every address of src is a multiple of 16 bytes: chunks of rows come, shifted lines leave",
    "rows are few and every address of dst is a multiple of 16 bytes: shifted lines come, chunks of columns leave",
    "a few elements lie end to end on one side and apart, at any address, on the other: regrouped, and realigned",
    "one matrix that stays in L2, every address and extent a multiple of 16 bytes: the shortest way through a block",
    "every address is a multiple of 16 bytes: register blocks, 256 bytes of each row and column at a time",
    "every address is a multiple of 16 bytes, but large tiles would be too few or half empty: 128 bytes at a time",
    "some address is no multiple of 16 bytes: units of four bytes are realigned, dst is written in whole sectors",
    "many small matrices, end to end in dst: all rows and some columns of one at a time, dst written as one line",
    "runs of src meet lines of dst in shared memory, whatever their axes and their alignment",
};

void fill_runs(gpu_choice& made, const map::canonical& form, const axis* inner, const gpu_tuning& tuned) noexcept {
  gpu::runs_job job;
  const std::int64_t word = made.kernel->element_bytes;
  const std::int64_t run = inner == nullptr ? 1 : inner->extent;
  job.run_bytes = run * form.word_bytes;
  job.runs = static_cast<std::uint32_t>(map::words(form) / run);
  const std::int64_t words =
      ceil_div(job.run_bytes, std::max<std::int64_t>(word, word == 1 ? 4 : 1)) + (word == 1 ? 1 : 0);
  const std::int64_t most = form.rank <= 1 ? gpu::copy_block_words : tuned.piece_words;
  while ((std::int64_t{1} << job.piece_log2) < std::min(words, most)) ++job.piece_log2;
  const std::int64_t pieces = ceil_div(words, std::int64_t{1} << job.piece_log2);
  job.pieces = map::fast_divisor(static_cast<std::uint32_t>(pieces));
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    if (&one == inner) continue;
    auto& outer = job.axes[job.rank++];
    outer.count = map::fast_divisor(static_cast<std::uint32_t>(one.extent));
    outer.src_stride_bytes = one.src_stride * form.word_bytes;
    outer.dst_stride_bytes = one.dst_stride * form.word_bytes;
  }
  const std::int64_t block_words = form.rank <= 1 ? gpu::copy_block_words : gpu::runs_block_words;
  const std::int64_t groups = ceil_div(job.runs, block_words >> job.piece_log2);
  made.blocks = static_cast<std::uint32_t>(groups * pieces);
  made.job = job;
}

gpu::chain chain_of(const map::canonical& form, const std::array<int, map::max_axes>& axes, int rank,
                    std::int64_t axis::*stride) noexcept {
  gpu::chain made;
  made.rank = rank;
  for (int i = 0; i < rank; ++i) {
    const axis& one = form.axes[axes[i]];
    made.axes[i].count = map::fast_divisor(static_cast<std::uint32_t>(std::min<std::int64_t>(one.extent, most_blocks)));
    made.axes[i].stride_bytes = one.*stride * form.word_bytes;
  }
  return made;
}

// No kernel where there are more blocks than a grid has.
template <class Job>
void finish(gpu_choice& made, const numbering& number, const Job& job) noexcept {
  made.blocks = number.blocks();
  if (made.blocks == 0) {
    made.kernel = nullptr;
    return;
  }
  made.shared_bytes = made.kernel->shared_bytes;
  made.job = job;
}

void fill_tile(gpu_choice& made, const map::canonical& form, const sides& found, const gpu_tuning& tuned) noexcept {
  gpu::chain_job job;
  const std::int64_t word = form.word_bytes;
  std::int64_t across = made.kernel->tile_cols;
  std::int64_t down = made.kernel->tile_rows;
  const axis& col = form.axes[found.cols[0]];
  const axis& row = form.axes[found.rows[0]];
  const bool chained = found.chained();
  job.chained = chained ? 1 : 0;
  job.src_row_bytes = row.src_stride * word;
  job.dst_col_bytes = col.dst_stride * word;
  if (chained) {
    job.rows = chain_of(form, found.rows, found.row_rank, &axis::src_stride);
    job.cols = chain_of(form, found.cols, found.col_rank, &axis::dst_stride);
  }
  gpu::grid& blocks = job.blocks;
  const bool narrow = made.line >= few_columns && made.line <= shifted_rows;
  if (narrow && found.row_rank == 1) job.rows.rank = 0;  // then the strides above say it all
  if (narrow && found.col_rank == 1) job.cols.rank = 0;
  if (found.loose_rows) job.rows_dst = chain_of(form, found.rows, found.row_rank, &axis::dst_stride);
  if (found.loose_cols) job.cols_src = chain_of(form, found.cols, found.col_rank, &axis::src_stride);
  blocks.extent[0] = found.col_total;
  blocks.extent[1] = found.row_total;
  // Down a column of tiles first: consecutive blocks complete the same runs of dst.
  std::int64_t tiles = 0;
  if (made.line == shifted_columns || made.line == shifted_rows) {
    const std::int64_t v = 16 / word;
    const bool columns = made.line == shifted_columns;
    job.narrow_log2 = shifted_narrow_size(columns ? found.col_total : found.row_total, word);
    const std::int64_t wide = gpu::units_of_tile(word) >> job.narrow_log2;
    across = columns ? found.col_total : wide * v;
    down = columns ? (wide - 1) * v : found.row_total;  // a block of rows is the halo
    job.run_chunks = map::fast_divisor(static_cast<std::uint32_t>(wide + 1));
    // A line may begin up to v - 1 rows into a chunk.
    tiles = columns ? (found.row_total + v - 2) / v / (wide - 1) + 1 : 1;
  } else {
    tiles = ceil_div(found.row_total, down);
  }
  std::int64_t bands = 1;
  if (tuned.band_bytes != 0 && !chained && !narrow) {
    std::int64_t reach = 0;
    if (!base::checked_mul(magnitude(job.src_row_bytes), found.row_total, reach)) reach = INT64_MAX;
    bands = std::clamp<std::int64_t>(reach / tuned.band_bytes, 1, tiles);
  }
  const std::int64_t band = ceil_div(tiles, bands);
  numbering number(blocks, word);
  blocks.tile[0] = static_cast<std::int32_t>(across);
  blocks.tile[1] = static_cast<std::int32_t>(down);
  if (narrow) {  // these find the addresses of both sides from the tile's first row and column
    number.add(tiles, 1, 1, 0, 0);
    number.add(ceil_div(found.col_total, across), 0, 1, 0, 0);
  } else {
    number.add(band, 1, 1, chained ? 0 : down * row.src_stride, down);
    number.add(ceil_div(found.col_total, across), 0, 1, across, chained ? 0 : across * col.dst_stride);
    number.add(ceil_div(tiles, band), 1, band, chained ? 0 : band * down * row.src_stride, band * down);
  }
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!found.taken[k]) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  finish(made, number, job);
}

void fill_regrouping(gpu_choice& made, const map::canonical& form, const regrouping& found) noexcept {
  const bool split = found.split;
  const auto structures = split ? &axis::src_stride : &axis::dst_stride;
  const auto arrays = split ? &axis::dst_stride : &axis::src_stride;
  gpu::chain_job job;
  const std::int64_t word = form.word_bytes;
  const std::int64_t extent = split ? made.kernel->tile_rows : made.kernel->tile_cols;
  const axis& member = form.axes[found.member];
  const axis& first = form.axes[found.along[0]];
  (split ? job.dst_col_bytes : job.src_row_bytes) = member.*arrays * word;
  if (found.rank > 1) {
    std::array<int, map::max_axes> rest{};
    std::copy(found.along.begin() + 1, found.along.begin() + found.rank, rest.begin());
    job.rows = chain_of(form, found.along, found.rank, arrays);
    job.cols = chain_of(form, rest, found.rank - 1, structures);
    job.run_chunks = map::fast_divisor(static_cast<std::uint32_t>(first.extent * member.extent * word / 16));
  }
  gpu::grid& blocks = job.blocks;
  blocks.extent[0] = found.total;
  blocks.tile[0] = static_cast<std::int32_t>(extent);
  numbering number(blocks, word);
  // Where chunks are shifted, up to V - 1 structures are counted before the first one, and a chunk may reach so far back.
  const std::int64_t counted = found.total + (found.shifted ? 2 * (16 / word - 1) : 0);
  number.add(ceil_div(counted, extent), 0, 1, 0, 0);
  const auto* const taken = found.along.begin() + found.rank;
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (&one == &member || std::find(found.along.begin(), taken, k) != taken) continue;
    number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  finish(made, number, job);
}

// How many tiles there are.
double tiles_of(const map::canonical& form, const sides& found, std::int64_t across, std::int64_t down) noexcept {
  return static_cast<double>(map::words(form)) / static_cast<double>(found.col_total) /
         static_cast<double>(found.row_total) * static_cast<double>(ceil_div(found.col_total, across)) *
         static_cast<double>(ceil_div(found.row_total, down));
}

const kernels::kernel* row_of_line(int line, const map::canonical& form, const sides* found) noexcept {
  // Bytes are realigned either way.
  const std::int64_t word = line <= long_runs && form.word_bytes == 2 ? 1 : form.word_bytes;
  switch (line) {
    case nothing:
    case one_run:
      return row_of("copy", word);
    case long_runs:
      return row_of("runs", word);
    case pixels:
      return row_of("pixel", word);
    case small_matrices:
      return row_of("blocks", word);
    case few_columns:
      return row_of("columns", word, narrow_size(found->col_total, word));
    case few_rows:
      return row_of("rows", word, narrow_size(found->row_total, word));
    case shifted_columns:
      return row_of("shift_columns", word);
    case shifted_rows:
      return row_of("shift_rows", word);
    case small_matrix:
      return row_of("small", word);
    case large_tiles:
    case small_tiles:
      return row_of(found->chained() ? "chain" : "tile", word, line - large_tiles);
    case shifted_tiles:
      return row_of(found->chained() ? "shift_chain" : "shift", word);
    case panels:
      return row_of("panel", word);
    default:
      return row_of("box", word);
  }
}

// One matrix of whole chunks, each side as long as a tile.
bool is_small(const map::canonical& form, const sides& found, const gpu_tuning& tuned) noexcept {
  const std::int64_t chunk = 16 / form.word_bytes;
  if (form.rank != 2 || map::words(form) * form.word_bytes > tuned.small_bytes) return false;
  if (found.row_total % chunk != 0 || found.col_total % chunk != 0) return false;
  const kernels::kernel* const row = row_of("small", form.word_bytes);
  return row != nullptr && found.row_total >= row->tile_rows && found.col_total >= row->tile_cols;
}

// The axis along which small matrices lie, the closest in dst; -1 when there are too few, or no such matrices.
int find_matrices(const map::canonical& form, const sides& found) noexcept {
  if (form.rank < 3 || !found.aligned() || found.chained()) return -1;
  const int down = log2_of_side(found.row_total, form.word_bytes),
            across = log2_of_side(found.col_total, form.word_bytes);
  if (down < 0 || across < 0) return -1;
  int best = -1;
  for (int k = 0; k < form.rank; ++k) {
    if (found.taken[k]) continue;
    if (best < 0 || magnitude(form.axes[k].dst_stride) < magnitude(form.axes[best].dst_stride)) best = k;
  }
  const std::int64_t at_a_time = gpu::units_of_tile(form.word_bytes) >> (down + across);
  return form.axes[best].extent >= 2 * at_a_time ? best : -1;
}

// Rows and columns of elements of three bytes; false when the problem is no such matrix.
bool find_pixels(const map::canonical& form, int& row, int& col) noexcept {
  row = col = -1;
  if (form.word_bytes != 1) return false;
  bool inner = false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent == 3 && one.src_stride == 1 && one.dst_stride == 1) {
      inner = true;
    } else if (one.src_stride == 3) {
      col = k;
    } else if (one.dst_stride == 3) {
      row = k;
    }
  }
  if (!inner || row < 0 || col < 0) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.src_stride == 1 && one.dst_stride == 1) continue;
    if (k != col && one.src_stride % 4 != 0) return false;
    if (k != row && one.dst_stride % 4 != 0) return false;
  }
  const auto suits = [](std::int64_t extent) { return extent % 4 == 0 && extent >= 32; };
  return suits(form.axes[row].extent) && suits(form.axes[col].extent);
}

void fill_pixels(gpu_choice& made, const map::canonical& form) noexcept {
  gpu::chain_job job;
  int row = 0, col = 0;
  static_cast<void>(find_pixels(form, row, col));
  job.src_row_bytes = form.axes[row].src_stride;
  job.dst_col_bytes = form.axes[col].dst_stride;
  gpu::grid& blocks = job.blocks;
  blocks.extent[0] = form.axes[col].extent;
  blocks.extent[1] = form.axes[row].extent;
  blocks.tile[0] = made.kernel->tile_cols;
  blocks.tile[1] = made.kernel->tile_rows;
  numbering number(blocks, 1);
  const auto add = [&](int k, int slot) {
    const axis& one = form.axes[k];
    const std::int64_t tile = slot < 0 ? 1 : blocks.tile[slot];
    number.add(ceil_div(one.extent, tile), slot, 1, tile * one.src_stride, tile * one.dst_stride);
  };
  add(row, 1);
  add(col, 0);
  for (int k = form.rank - 1; k >= 0; --k) {
    if (k != row && k != col && form.axes[k].src_stride != 1) add(k, -1);
  }
  finish(made, number, job);
}

void fill_matrices(gpu_choice& made, const map::canonical& form, const sides& found, int along) noexcept {
  gpu::blocks_job job;
  const std::int64_t word = form.word_bytes;
  const axis& matrices = form.axes[along];
  job.src_row_bytes = form.axes[found.rows[0]].src_stride * word;
  job.dst_col_bytes = form.axes[found.cols[0]].dst_stride * word;
  job.src_matrix_bytes = matrices.src_stride * word;
  job.dst_matrix_bytes = matrices.dst_stride * word;
  job.down_log2 = log2_of_side(found.row_total, word);
  job.across_log2 = log2_of_side(found.col_total, word);
  const std::int64_t at_a_time = gpu::units_of_tile(word) >> (job.down_log2 + job.across_log2);
  gpu::grid& blocks = job.blocks;
  blocks.extent[1] = matrices.extent;
  blocks.tile[1] = static_cast<std::int32_t>(at_a_time);
  numbering number(blocks, word);
  number.add(ceil_div(matrices.extent, at_a_time), 1, 1, at_a_time * matrices.src_stride,
             at_a_time * matrices.dst_stride);
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!found.taken[k] && k != along) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  finish(made, number, job);
}

void fill_small(gpu_choice& made, const map::canonical& form, const sides& found) noexcept {
  gpu::small_job job;
  job.src_row_bytes = form.axes[found.rows[0]].src_stride * form.word_bytes;
  job.dst_col_bytes = form.axes[found.cols[0]].dst_stride * form.word_bytes;
  job.rows = static_cast<std::int32_t>(found.row_total);
  job.cols = static_cast<std::int32_t>(found.col_total);
  const std::int64_t down = ceil_div(found.row_total, made.kernel->tile_rows);
  job.down = map::fast_divisor(static_cast<std::uint32_t>(down));
  made.blocks = static_cast<std::uint32_t>(down * ceil_div(found.col_total, made.kernel->tile_cols));
  made.shared_bytes = made.kernel->shared_bytes;
  made.job = job;
}

// What each kind of tile reaches when it is full, as a share of a copy, and what a box reaches on a matrix: by word
// size 1, 2, 4, 8 (H200, 2026-11-21). An empty part of an aligned tile costs less than a full one, a shifted tile's as
// much: 1024 x 1024 x 14 x 14 float32 0.89 in large tiles that are 0.77 full, and back 0.86 where small ones have 0.72,
// 64 x 1171873 0.54 in ones that are 0.5 full. There are no tiles of 16-byte words: one such is a chunk, and boxes of
// them reach 0.91 to 0.95 where tiles had 0.84 to 0.93.
constexpr double large_worth[] = {0.95, 0.95, 0.95, 0.92};
constexpr double small_worth[] = {0.90, 0.90, 0.90, 0.90};
constexpr double shift_worth[] = {0.86, 0.88, 0.91, 0.91};
constexpr double box_worth[] = {0.60, 0.62, 0.64, 0.72};
// 31 x 33 to 301 x 299 in panels: bytes 0.40 to 0.49, 2 bytes 0.47 to 0.55, float32 0.83 to 0.92, float64 0.90 to 0.96.
// A box that holds all of one has 0.57 to 0.73 of bytes and 0.83 to 0.90 of 2 bytes, boxes of parts 0.25 to 0.39 and
// 0.29 to 0.37 (H200, 2026-11-22).
constexpr double parted_box_worth = 0.35;
constexpr double panel_worth[] = {0.45, 0.50, 0.86, 0.92};
constexpr double packed_worth[] = {0.60, 0.62, 0.82, 0.85};

int decide(const map::canonical& form, const gpu_request& wanted, const gpu_tuning& tuned, const sides* found,
           int narrow) noexcept {
  if (form.empty) return nothing;
  const axis* col = find(form, &axis::src_stride);
  const axis* row = find(form, &axis::dst_stride);
  const bool inner = row != nullptr && row == col;
  if (form.rank == 0 || (form.rank == 1 && inner)) return one_run;
  if (inner && row->extent * form.word_bytes >= tuned.run_bytes && map::words(form) / row->extent < most_blocks)
    return long_runs;
  int row_axis = 0, col_axis = 0;
  if (wanted.alignment >= 4 && find_pixels(form, row_axis, col_axis)) return pixels;
  if (found == nullptr) return boxes;
  const double tiles = tiles_of(form, *found, 128 / form.word_bytes, 128 / form.word_bytes);
  if (tiles > static_cast<double>(most_blocks)) return boxes;
  if (form.word_bytes == 16) return boxes;
  int size = 0;
  while (std::int64_t{1} << size < form.word_bytes) ++size;
  int best = boxes;
  // Short lines end to end are one run for a box: 1024 x 2048 x 7 x 7 float32 0.84, in shifted tiles 0.74.
  const bool aligned = wanted.alignment == 16 && found->aligned();
  const bool end_to_end =
      !aligned && form.axes[found->rows[0]].src_stride == found->col_total && found->col_total * form.word_bytes < 256;
  double worth = end_to_end ? packed_worth[size] : box_worth[size];
  const auto consider = [&](int line, const double* full, double empty_worth) {
    const kernels::kernel* one = row_of_line(line, form, found);
    if (one == nullptr) return;
    const double filled = fill(found->col_total, one->tile_cols) * fill(found->row_total, one->tile_rows);
    const double mine = full[size] * std::min(empty_worth + (1 - empty_worth) * filled, 3 * filled);
    if (mine > worth) best = line, worth = mine;
  };
  if (wanted.alignment == 16 && find_matrices(form, *found) >= 0) return small_matrices;
  if (wanted.alignment == 16 && narrow != 0) return narrow;
  if (aligned) {
    if (is_small(form, *found, tuned)) return small_matrix;
    if (tiles / 4 >= wanted.multiprocessors * tuned.tiles_per_sm)
      consider(large_tiles, large_worth, found->chained() ? 0.4 : 0.6);
    consider(small_tiles, small_worth, 0.4);
  } else {
    consider(shifted_tiles, shift_worth, 0);
  }
  panel_matrix matrix;
  if (wanted.shared_bytes < most_panel_bytes || tiles / tuned.panel_tiles_per_sm < wanted.multiprocessors ||
      !is_of_panels(form, matrix))
    return best;
  const std::int64_t bytes = matrix.rows * matrix.cols * form.word_bytes;
  if (matrix.dst_col_bytes != matrix.rows * form.word_bytes || bytes < fewest_panel_bytes) return best;
  if (best == boxes && size < 2 && bytes > tuned.box_bytes[size]) worth = parted_box_worth;
  if (panel_worth[size] > worth) best = panels;
  return best;
}

// The line at which a forced kernel would have been chosen; 0 when it cannot move this problem.
int line_of_forced(const kernels::kernel& forced, const map::canonical& form, const sides* found,
                   const gpu_request& wanted, const gpu_tuning& tuned, int narrow, int natural) noexcept {
  const std::string_view family = forced.family;
  const bool narrowed = forced.element_bytes == 1 && (family == "copy" || family == "runs");
  if (forced.element_bytes != form.word_bytes && !narrowed) return 0;
  if (natural <= one_run) return family == "copy" ? natural : 0;
  const axis* row = find(form, &axis::dst_stride);
  if (family == "runs") {
    return row != nullptr && row->src_stride == 1 && map::words(form) / row->extent < most_blocks ? long_runs : 0;
  }
  if (family == "box") return boxes;
  panel_matrix matrix;
  if (family == "panel") return wanted.shared_bytes >= most_panel_bytes && is_of_panels(form, matrix) ? panels : 0;
  int row_axis = 0, col_axis = 0;
  if (family == "pixel") return wanted.alignment >= 4 && find_pixels(form, row_axis, col_axis) ? pixels : 0;
  if (found == nullptr) return 0;
  const bool whole = wanted.alignment == 16;
  if (narrow != 0 && whole && &forced == row_of_line(narrow, form, found)) return narrow;
  if (family == "blocks") return whole && find_matrices(form, *found) >= 0 ? small_matrices : 0;
  if (family == "small") return whole && found->aligned() && is_small(form, *found, tuned) ? small_matrix : 0;
  for (const int line : {large_tiles, small_tiles, shifted_tiles}) {
    if (&forced == row_of_line(line, form, found)) {
      return line == shifted_tiles || (whole && found->aligned()) ? line : 0;
    }
  }
  return 0;
}

// Smaller boxes where there would be less than two for each multiprocessor: 17160 x 4 float32 columns of a matrix in 3
// boxes took 20 us (H200, 2026-11-22).
gpu_tuning for_all_multiprocessors(const map::canonical& form, const gpu_request& wanted,
                                   const gpu_tuning& tuned) noexcept {
  constexpr std::int64_t least = 2048;
  const std::int64_t bytes = map::words(form) * form.word_bytes;
  gpu_tuning made = tuned;
  for (auto& box_bytes : made.box_bytes) {
    const std::int64_t most = std::max(least, bytes / (2 * wanted.multiprocessors));
    box_bytes = static_cast<std::decay_t<decltype(box_bytes)>>(std::min<std::int64_t>(box_bytes, most));
  }
  return made;
}

}  // namespace

gpu_choice choose(const map::canonical& form, const gpu_request& wanted, const gpu_tuning& tuned) noexcept {
  gpu_choice made;
  sides both, longer;
  const sides* found = find_sides(form, both) ? &both : nullptr;
  int narrow = 0;
  if (found != nullptr) {
    longer = both;
    const narrow_kind kind = find_narrow(form, longer);
    if (kind != narrow_kind::none) narrow = few_columns - 1 + static_cast<int>(kind);
  }
  regrouping regrouped;  // the first kind that there is, or the one that is forced
  for (const bool shifted : {false, true}) {
    for (const bool split : {true, false}) {
      const bool is_wanted =
          regrouped.kernel != nullptr && (wanted.kernel.empty() || regrouped.kernel->name == wanted.kernel);
      if (!form.empty && !is_wanted) {
        const regrouping other = find_regrouping(form, wanted.alignment, split, shifted);
        if (other.kernel != nullptr) regrouped = other;
      }
    }
  }
  const int regrouping_line = regrouped.shifted ? shifted_elements : regrouped_elements;
  made.line = decide(form, wanted, tuned, found, narrow);
  if (made.line > (regrouped.shifted ? shifted_rows : long_runs) && regrouped.kernel != nullptr)
    made.line = regrouping_line;
  const auto sides_of_line = [&] { return made.line == few_columns || made.line == few_rows ? &longer : found; };
  made.kernel = made.line == regrouping_line ? regrouped.kernel : row_of_line(made.line, form, sides_of_line());
  if (!wanted.kernel.empty()) {
    made.kernel = kernels::find(wanted.kernel);
    if (made.kernel != nullptr && made.kernel->launch == nullptr) made.kernel = nullptr;
    if (made.kernel == nullptr) return made;
    made.line = made.kernel == regrouped.kernel && made.line > long_runs
                    ? regrouping_line
                    : line_of_forced(*made.kernel, form, found, wanted, tuned, narrow, made.line);
    if (made.line == 0 || made.kernel->shared_bytes > wanted.shared_bytes) made.kernel = nullptr;
  } else if (made.kernel != nullptr && made.kernel->shared_bytes > wanted.shared_bytes) {
    made.line = boxes;  // a device with little shared memory
    made.kernel = row_of_line(made.line, form, found);
  }
  if (made.kernel == nullptr) return made;
  made.reason = reasons[made.line];
  if (made.line == nothing) return made;
  if (made.line <= long_runs) {
    fill_runs(made, form, find(form, &axis::dst_stride), tuned);
  } else if (made.line == regrouping_line) {
    fill_regrouping(made, form, regrouped);
  } else if (made.line == pixels) {
    fill_pixels(made, form);
  } else if (made.line == small_matrices) {
    fill_matrices(made, form, *found, find_matrices(form, *found));
  } else if (made.line == small_matrix) {
    fill_small(made, form, *found);
  } else if (made.line == panels) {
    panel_matrix matrix;
    static_cast<void>(is_of_panels(form, matrix));
    const gpu::panel_job job = fill_panels(form, matrix, made.blocks);
    made.shared_bytes = job.shape.shared_bytes * (gpu::panel_threads >> job.shape.team_log2);
    made.job = job;
    if (made.blocks == 0) made.kernel = nullptr;
  } else if (made.line != boxes) {
    fill_tile(made, form, *sides_of_line(), tuned);
  } else {
    box cut = cut_box(form, wanted.shared_bytes, wanted.alignment, for_all_multiprocessors(form, wanted, tuned));
    made.blocks = cut.blocks;
    made.shared_bytes = cut.shared_bytes;
    made.job = cut.job;
    if (made.blocks == 0) made.kernel = nullptr;
  }
  return made;
}

}  // namespace cornerturn::planning
