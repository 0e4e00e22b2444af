// The decision list of the GPU engines. The first line whose condition holds wins. Rows are the axes that are
// contiguous in dst, columns those that are contiguous in src; each may be several axes that continue each other (a
// chain).
//   1  nothing to move                                                       copy, no blocks
//   2  one contiguous run                                                    copy
//   3  an inner run, contiguous on both sides and long                       runs
//   4  16-byte chunks; few elements, end to end on one side, apart on the   deinterleave, interleave
//      other
//   5  addresses are multiples of 16; at most 128 bytes of columns           columns
//   6  the same; at most 128 bytes of rows                                   rows
//   7  the same; rows and columns fill large tiles, and those many blocks    tile, or chain
//   8  the same; they fill small tiles better                                the small tile, or chain
//   9  any addresses; rows and columns fill tiles                            shift, or shift_chain
//  10  everything else                                                       box
#include "plan/choose_gpu.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "plan/box.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr const char* reasons[] = {
    "",
    "there is nothing to move",
    "src and dst are one contiguous run",
    "the innermost axis is contiguous on both sides and long enough to be copied run by run",
    "a few elements lie end to end on one side and apart on the other: they are regrouped in registers",
    "every address is a multiple of 16 bytes and columns are few: rows travel as they lie, blocks turn on the way out",
    "every address is a multiple of 16 bytes and rows are few: blocks turn on the way in, columns leave in order",
    "every address is a multiple of 16 bytes: register blocks, 256 bytes of each row and column at a time",
    "every address is a multiple of 16 bytes, but large tiles would be too few or half empty: 128 bytes at a time",
    "some address is no multiple of 16 bytes: units of four bytes are realigned, dst is written in whole sectors",
    "runs of src meet lines of dst in shared memory, whatever their axes and their alignment",
};

constexpr std::int64_t most_blocks = INT32_MAX;

const axis* find(const map::canonical& form, std::int64_t axis::*stride) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].*stride == 1) return &form.axes[k];
  }
  return nullptr;
}

// The largest tile of a family comes first in the list; `skip` of them are passed over.
const kernels::kernel* row_of(std::string_view family, std::int64_t word_bytes, int skip = 0) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (one.launch != nullptr && one.family == family && one.element_bytes == word_bytes && skip-- == 0) return &one;
  }
  return nullptr;
}

// The share of tiles of `extent` that `n` indices fill.
double fill(std::int64_t n, std::int64_t extent) noexcept {
  return static_cast<double>(n) / static_cast<double>(ceil_div(n, extent) * extent);
}

// Rows, columns and the rest. A side takes more axes while it is short: 16 large tiles of it are at most a 16th empty.
struct sides {
  std::array<int, map::max_axes> rows{};
  std::array<int, map::max_axes> cols{};
  int row_rank = 0;
  int col_rank = 0;
  std::int64_t row_total = 1;
  std::int64_t col_total = 1;
  bool taken[map::max_axes] = {};
  bool loose_rows = false;  // rows are not contiguous in dst, or columns in src: only chunks of 16 bytes of them are
  bool loose_cols = false;
  bool aligned = true;  // every address is a multiple of 16 bytes when those of index 0 are
  [[nodiscard]] bool chained() const noexcept { return row_rank > 1 || col_rank > 1; }
};

int find_axis(const map::canonical& form, const sides& found, std::int64_t axis::*stride, std::int64_t value) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    if (!found.taken[k] && form.axes[k].*stride == value) return k;
  }
  return -1;
}

// Takes the axis that continues the side, if there is one and the side stays below what one index can count.
bool continue_side(const map::canonical& form, sides& found, std::int64_t axis::*stride,
                   std::array<int, map::max_axes>& axes, int& rank, std::int64_t& total) noexcept {
  const axis& last = form.axes[axes[rank - 1]];
  std::int64_t continued = 0;
  if (!base::checked_mul(last.*stride, last.extent, continued)) return false;
  const int k = find_axis(form, found, stride, continued);
  if (k < 0 || form.axes[k].extent > most_blocks / total) return false;
  axes[rank++] = k;
  total *= form.axes[k].extent;
  found.taken[k] = true;
  return true;
}

// False when rows and columns are one axis, or one of them does not exist.
bool find_sides(const map::canonical& form, sides& found) noexcept {
  const int row = find_axis(form, found, &axis::dst_stride, 1);
  const int col = find_axis(form, found, &axis::src_stride, 1);
  if (row < 0 || col < 0 || row == col) return false;
  found.rows[found.row_rank++] = row;
  found.cols[found.col_rank++] = col;
  found.row_total = form.axes[row].extent;
  found.col_total = form.axes[col].extent;
  found.taken[row] = found.taken[col] = true;
  const std::int64_t enough = 16 * 256 / form.word_bytes;
  for (bool grown = true; grown;) {
    grown = false;
    if (found.row_total < enough && fill(found.row_total, 256 / form.word_bytes) < 0.97) {
      grown = continue_side(form, found, &axis::dst_stride, found.rows, found.row_rank, found.row_total);
    }
    if (found.col_total < enough && fill(found.col_total, 256 / form.word_bytes) < 0.97) {
      grown = continue_side(form, found, &axis::src_stride, found.cols, found.col_rank, found.col_total) || grown;
    }
  }
  for (int k = 0; k < form.rank; ++k) {
    const bool in_cols =
        std::find(found.cols.begin(), found.cols.begin() + found.col_rank, k) != found.cols.begin() + found.col_rank;
    const bool in_rows =
        std::find(found.rows.begin(), found.rows.begin() + found.row_rank, k) != found.rows.begin() + found.row_rank;
    // A column axis is linear in src, a row axis in dst; the other stride is a jump that must keep alignment.
    if (!in_cols && form.axes[k].src_stride * form.word_bytes % 16 != 0) found.aligned = false;
    if (!in_rows && form.axes[k].dst_stride * form.word_bytes % 16 != 0) found.aligned = false;
  }
  return true;
}

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

constexpr std::int64_t narrow_bytes = 128;

// Structures of a few elements: `member` is the axis within one, `first` the axis along which they lie end to end.
struct regrouping {
  const kernels::kernel* kernel = nullptr;
  int member = 0;
  std::array<int, map::max_axes> along{};  // `first`, and axes that lengthen it
  int rank = 0;
  std::int64_t total = 1;
};

// The regrouping of src's structures (Split) or into structures of dst; no kernel when the problem is no such thing.
// Every stride but those two must lead to a multiple of 16 bytes on both sides.
regrouping find_regrouping(const map::canonical& form, bool split) noexcept {
  const auto structures = split ? &axis::src_stride : &axis::dst_stride;
  const auto arrays = split ? &axis::dst_stride : &axis::src_stride;
  regrouping found;
  const axis* member = find(form, structures);
  const axis* first = find(form, arrays);
  if (member == nullptr || first == nullptr || member == first || first->*structures != member->extent) return {};
  const std::int64_t word = form.word_bytes;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (&one != member && &one != first && one.*structures * word % 16 != 0) return {};
    if (&one != first && one.*arrays * word % 16 != 0) return {};
  }
  found.member = static_cast<int>(member - form.axes.data());
  found.along[found.rank++] = static_cast<int>(first - form.axes.data());
  found.total = first->extent;
  std::int64_t extent = 0;
  for (const kernels::kernel& one : kernels::all()) {
    if (one.launch == nullptr || one.element_bytes != word ||
        one.family != std::string_view(split ? "deinterleave" : "interleave"))
      continue;
    if (member->extent != (split ? one.tile_cols : one.tile_rows)) continue;
    found.kernel = &one;
    extent = split ? one.tile_rows : one.tile_cols;
  }
  if (found.kernel == nullptr) return {};
  // Short runs of structures are counted on across any other axes, when no chunk of 16 bytes spans two runs.
  for (int k = form.rank - 1; k >= 0 && found.total < 16 * extent && first->extent * word % 16 == 0; --k) {
    if (&form.axes[k] == member || &form.axes[k] == first) continue;
    if (form.axes[k].extent > most_blocks / (found.total * member->extent)) continue;
    found.along[found.rank++] = k;
    found.total *= form.axes[k].extent;
  }
  if (fill(found.total, extent) < 0.6 || found.total * member->extent > most_blocks) return {};
  return found;
}

// Which narrow tile has room for `total` elements: 0 to 3 for 1, 2, 4 and 8 chunks of 16 bytes; -1 for none.
int narrow_size(std::int64_t total, std::int64_t word_bytes) noexcept {
  if (word_bytes > 8 || total * word_bytes > narrow_bytes || total * word_bytes % 16 != 0) return -1;
  const std::int64_t chunks = total * word_bytes / 16;
  int size = 0;
  while ((std::int64_t{1} << size) < chunks) ++size;
  return chunks * 4 >= 3 << size ? size : -1;
}

// Lengthens a side by any axes that are left, such as a batch, when whole chunks stay together.
void loosen(const map::canonical& form, sides& found, std::int64_t axis::*stride, std::array<int, map::max_axes>& axes,
            int& rank, std::int64_t& total, bool& loose, std::int64_t enough) noexcept {
  // Pieces of less than a sector on the side that is not contiguous cost more than a box: 4 x 4 float32 0.63 against
  // 0.81, 4 x 4 of 8 bytes 0.88 against 0.96, 8 x 8 of 2 bytes 0.35 against 0.47 (H200, 2026-11-21). So do pieces that
  // begin within a sector: 16 x 16 float32 with a gap of 16 bytes 0.65 against 0.80.
  const std::int64_t word = form.word_bytes;
  if (total * word % 16 != 0 || total * word < (word == 8 ? 64 : 32)) return;
  while (total < enough) {
    int best = -1;
    for (int k = 0; k < form.rank; ++k) {
      if (found.taken[k] || form.axes[k].extent > most_blocks / total) continue;
      if (best < 0 || magnitude(form.axes[k].*stride) < magnitude(form.axes[best].*stride)) best = k;
    }
    if (best < 0 || (word >= 4 && form.axes[best].*stride * word % 32 != 0)) return;
    axes[rank++] = best;
    total *= form.axes[best].extent;
    found.taken[best] = true;
    loose = true;
  }
}

// The narrow line that moves the problem, 5 or 6, with the long side lengthened; 0 when there is none.
int find_narrow(const map::canonical& form, sides& found) noexcept {
  if (!found.aligned) return 0;
  if (std::max(found.row_total, found.col_total) > most_blocks) return 0;  // the kernels count them with 32 bits
  const std::int64_t long_side = 16384 / form.word_bytes;  // elements; a tile has as many chunks of 16 bytes
  if (narrow_size(found.col_total, form.word_bytes) >= 0) {
    sides longer = found;
    loosen(form, longer, &axis::dst_stride, longer.rows, longer.row_rank, longer.row_total, longer.loose_rows,
           long_side);
    if (longer.row_total * found.col_total * 2 >= long_side) {
      found = longer;
      return 5;
    }
  }
  if (narrow_size(found.row_total, form.word_bytes) >= 0) {
    sides longer = found;
    loosen(form, longer, &axis::src_stride, longer.cols, longer.col_rank, longer.col_total, longer.loose_cols,
           long_side);
    if (longer.col_total * found.row_total * 2 >= long_side) {
      found = longer;
      return 6;
    }
  }
  return 0;
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

void fill_tile(gpu_choice& made, const map::canonical& form, const sides& found, const gpu_tuning& tuned) noexcept {
  gpu::chain_job job;
  const std::int64_t word = form.word_bytes;
  const std::int64_t across = made.kernel->tile_cols;
  const std::int64_t down = made.kernel->tile_rows;
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
  const std::string_view family = made.kernel->family;
  const bool narrow = family == "columns" || family == "rows";
  if (narrow && found.row_rank == 1) job.rows.rank = 0;  // then the strides above say it all
  if (narrow && found.col_rank == 1) job.cols.rank = 0;
  if (found.loose_rows) job.rows_dst = chain_of(form, found.rows, found.row_rank, &axis::dst_stride);
  if (found.loose_cols) job.cols_src = chain_of(form, found.cols, found.col_rank, &axis::src_stride);
  blocks.extent[0] = found.col_total;
  blocks.extent[1] = found.row_total;
  // Down a column of tiles first: consecutive blocks complete the same runs of dst.
  const std::int64_t tiles = ceil_div(found.row_total, down);
  std::int64_t bands = 1;
  if (tuned.band_bytes != 0 && !chained) {
    std::int64_t reach = 0;
    if (!base::checked_mul(magnitude(job.src_row_bytes), found.row_total, reach)) reach = INT64_MAX;
    bands = std::clamp<std::int64_t>(reach / tuned.band_bytes, 1, tiles);
  }
  const std::int64_t band = ceil_div(tiles, bands);
  std::int64_t all = 1;
  const auto add = [&](std::int64_t count, int slot, std::int64_t tiles_each, std::int64_t src_step,
                       std::int64_t dst_step) {
    if (count == 1) return;
    gpu::grid_axis& into = blocks.axes[blocks.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(count, most_blocks)));
    if (slot >= 0) into.tiles[slot] = static_cast<std::uint32_t>(tiles_each);
    into.src_step_bytes = src_step * word;
    into.dst_step_bytes = dst_step * word;
    if (!base::checked_mul(all, count, all) || all > most_blocks) all = most_blocks + 1;
  };
  blocks.tile[0] = static_cast<std::int32_t>(across);
  blocks.tile[1] = static_cast<std::int32_t>(down);
  if (narrow) {  // these find the addresses of both sides from the tile's first row and column
    add(tiles, 1, 1, 0, 0);
    add(ceil_div(found.col_total, across), 0, 1, 0, 0);
  } else {
    add(band, 1, 1, chained ? 0 : down * row.src_stride, down);
    add(ceil_div(found.col_total, across), 0, 1, across, chained ? 0 : across * col.dst_stride);
    add(ceil_div(tiles, band), 1, band, chained ? 0 : band * down * row.src_stride, band * down);
  }
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!found.taken[k]) add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  if (all > most_blocks) {
    made.kernel = nullptr;
    return;
  }
  made.blocks = static_cast<std::uint32_t>(all);
  made.shared_bytes = made.kernel->shared_bytes;
  made.job = job;
}

void fill_regrouping(gpu_choice& made, const map::canonical& form, const regrouping& found, bool split) noexcept {
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
  std::int64_t all = ceil_div(found.total, extent);
  blocks.axes[blocks.rank].count = map::fast_divisor(static_cast<std::uint32_t>(all));
  blocks.axes[blocks.rank++].tiles[0] = 1;
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (&one == &member ||
        std::find(found.along.begin(), found.along.begin() + found.rank, k) != found.along.begin() + found.rank)
      continue;
    gpu::grid_axis& into = blocks.axes[blocks.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(one.extent, most_blocks)));
    into.src_step_bytes = one.src_stride * word;
    into.dst_step_bytes = one.dst_stride * word;
    if (!base::checked_mul(all, one.extent, all) || all > most_blocks) {
      made.kernel = nullptr;
      return;
    }
  }
  made.blocks = static_cast<std::uint32_t>(all);
  made.shared_bytes = made.kernel->shared_bytes;
  made.job = job;
}

// How many tiles there are.
double tiles_of(const map::canonical& form, const sides& found, std::int64_t across, std::int64_t down) noexcept {
  return static_cast<double>(map::words(form)) / static_cast<double>(found.col_total) /
         static_cast<double>(found.row_total) * static_cast<double>(ceil_div(found.col_total, across)) *
         static_cast<double>(ceil_div(found.row_total, down));
}

const kernels::kernel* row_of_line(int line, const map::canonical& form, const sides* found) noexcept {
  const std::int64_t word = line <= 3 && form.word_bytes == 2 ? 1 : form.word_bytes;  // bytes are realigned either way
  switch (line) {
    case 5:
      return row_of("columns", word, narrow_size(found->col_total, word));
    case 6:
      return row_of("rows", word, narrow_size(found->row_total, word));
    case 7:
    case 8:
      return row_of(found->chained() ? "chain" : "tile", word, line - 7);
    case 9:
      return row_of(found->chained() ? "shift_chain" : "shift", word);
    default:
      return row_of(line <= 2 ? "copy" : line == 3 ? "runs" : "box", word);
  }
}

// What each kind of tile reaches when it is full, as a share of a copy, and what a box reaches on a matrix: by word
// size 1, 2, 4, 8 (H200, 2026-11-21). An empty part of an aligned tile costs less than a full one, a shifted tile's as
// much: 1024 x 1024 x 14 x 14 float32 0.89 in tiles that are 0.77 full, 64 x 1171873 0.54 in ones that are 0.5 full.
// There are no tiles of 16-byte words: one such is a chunk, and boxes of them reach 0.91 to 0.95 where tiles had 0.84
// to 0.93.
constexpr double large_worth[] = {0.95, 0.95, 0.95, 0.92};
constexpr double small_worth[] = {0.90, 0.90, 0.90, 0.90};
constexpr double shift_worth[] = {0.86, 0.88, 0.91, 0.91};
constexpr double box_worth[] = {0.60, 0.62, 0.64, 0.72};

int decide(const map::canonical& form, const gpu_request& wanted, const gpu_tuning& tuned, const sides* found,
           int narrow) noexcept {
  if (form.empty) return 1;
  const axis* col = find(form, &axis::src_stride);
  const axis* row = find(form, &axis::dst_stride);
  const bool inner = row != nullptr && row == col;
  if (form.rank == 0 || (form.rank == 1 && inner)) return 2;
  if (inner && row->extent * form.word_bytes >= tuned.run_bytes && map::words(form) / row->extent < most_blocks)
    return 3;
  if (found == nullptr) return 10;
  const double small_tiles = tiles_of(form, *found, 128 / form.word_bytes, 128 / form.word_bytes);
  if (small_tiles > static_cast<double>(most_blocks)) return 10;
  if (form.word_bytes == 16) return 10;
  int size = 0;
  while (std::int64_t{1} << size < form.word_bytes) ++size;
  int best = 10;
  double worth = box_worth[size];
  const auto consider = [&](int line, const double* full, double empty_worth) {
    const kernels::kernel* one = row_of_line(line, form, found);
    if (one == nullptr) return;
    const double filled = fill(found->col_total, one->tile_cols) * fill(found->row_total, one->tile_rows);
    const double mine = full[size] * std::min(empty_worth + (1 - empty_worth) * filled, 3 * filled);
    if (mine > worth) best = line, worth = mine;
  };
  if (wanted.alignment == 16 && found->aligned) {
    if (narrow != 0) return narrow;
    if (small_tiles / 4 >= wanted.multiprocessors * tuned.tiles_per_sm) consider(7, large_worth, 0.4);
    consider(8, small_worth, 0.4);
  } else {
    consider(9, shift_worth, 0);
  }
  return best;
}

// The line at which a forced kernel would have been chosen; 0 when it cannot move this problem.
int line_of_forced(const kernels::kernel& forced, const map::canonical& form, const sides* found, bool aligned,
                   int narrow, int natural) noexcept {
  const std::string_view family = forced.family;
  const bool narrowed = forced.element_bytes == 1 && (family == "copy" || family == "runs");
  if (forced.element_bytes != form.word_bytes && !narrowed) return 0;
  if (natural <= 2) return family == "copy" ? natural : 0;
  const axis* row = find(form, &axis::dst_stride);
  if (family == "runs") {
    return row != nullptr && row->src_stride == 1 && map::words(form) / row->extent < most_blocks ? 3 : 0;
  }
  if (family == "box") return 10;
  if (found == nullptr) return 0;
  if (narrow != 0 && aligned && &forced == row_of_line(narrow, form, found)) return narrow;
  if (family == "columns" || family == "rows") return 0;
  for (int line = 7; line <= 9; ++line) {
    if (&forced == row_of_line(line, form, found)) return line == 9 || aligned ? line : 0;
  }
  return 0;
}

}  // namespace

gpu_choice choose(const map::canonical& form, const gpu_request& wanted, const gpu_tuning& tuned) noexcept {
  gpu_choice made;
  sides both, longer;
  const sides* found = find_sides(form, both) ? &both : nullptr;
  int narrow = 0;
  if (found != nullptr) {
    longer = both;
    narrow = find_narrow(form, longer);
  }
  regrouping regrouped;
  bool split = true;
  if (wanted.alignment == 16 && !form.empty) {
    regrouped = find_regrouping(form, split);
    if (regrouped.kernel == nullptr) regrouped = find_regrouping(form, split = false);
  }
  made.line = decide(form, wanted, tuned, found, narrow);
  if (made.line > 3 && regrouped.kernel != nullptr) made.line = 4;
  const auto sides_of_line = [&] { return made.line == 5 || made.line == 6 ? &longer : found; };
  made.kernel = made.line == 4 ? regrouped.kernel : row_of_line(made.line, form, sides_of_line());
  if (!wanted.kernel.empty()) {
    made.kernel = kernels::find(wanted.kernel);
    if (made.kernel != nullptr && made.kernel->launch == nullptr) made.kernel = nullptr;
    if (made.kernel == nullptr) return made;
    const bool aligned = found != nullptr && found->aligned && wanted.alignment == 16;
    made.line = made.kernel == regrouped.kernel && made.line > 3
                    ? 4
                    : line_of_forced(*made.kernel, form, found, aligned, narrow, made.line);
    if (made.line == 0 || made.kernel->shared_bytes > wanted.shared_bytes) made.kernel = nullptr;
  } else if (made.kernel != nullptr && made.kernel->shared_bytes > wanted.shared_bytes) {
    made.line = 10;  // a device with little shared memory
    made.kernel = row_of_line(made.line, form, found);
  }
  if (made.kernel == nullptr) return made;
  made.reason = reasons[made.line];
  if (made.line == 1) return made;
  if (made.line <= 3) {
    fill_runs(made, form, find(form, &axis::dst_stride), tuned);
  } else if (made.line == 4) {
    fill_regrouping(made, form, regrouped, split);
  } else if (made.line <= 9) {
    fill_tile(made, form, *sides_of_line(), tuned);
  } else {
    box cut = cut_box(form, wanted.shared_bytes, wanted.alignment, tuned);
    made.blocks = cut.blocks;
    made.shared_bytes = cut.shared_bytes;
    made.job = cut.job;
    if (made.blocks == 0) made.kernel = nullptr;
  }
  return made;
}

}  // namespace cornerturn::planning
