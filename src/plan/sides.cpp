#include "plan/sides.hpp"

#include <algorithm>

#include "kernels/gpu/job.hpp"

namespace cornerturn::planning {
namespace {

using base::magnitude;

constexpr std::int64_t narrow_bytes = 128;

int find_axis(const map::canonical& form, const sides& found, std::int64_t axis::*stride, std::int64_t value) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    if (!found.taken[k] && form.axes[k].*stride == value) return k;
  }
  return -1;
}

// log2 of the power of two that has room for all chunks of 16 bytes, when they are whole and fill three quarters of it.
int chunks_log2(std::int64_t bytes) noexcept {
  if (bytes % 16 != 0) return -1;
  int size = 0;
  while ((std::int64_t{16} << size) < bytes) ++size;
  return bytes * 4 >= std::int64_t{48} << size ? size : -1;
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

// Whether there are two tiles of gpu/narrow_shift.cuh at least, of lines with at most 2^most chunks.
bool fills_shifted(int rank, std::int64_t short_total, std::int64_t long_total, std::int64_t word, int most) noexcept {
  const int size = shifted_narrow_size(short_total, word);
  return rank == 1 && size >= 0 && size <= most && long_total >= 2 * (gpu::units_of_tile(word) >> size) * (16 / word);
}

// Short lines that are whole chunks, and long lines at any address.
narrow_kind find_narrow_shift(const map::canonical& form, const sides& found) noexcept {
  const std::int64_t word = form.word_bytes;
  // The halo of columns is a block of rows, one of 16 where there are 16 chunks: 1171873 x 64 float32 0.79, where the
  // shifted tile has 0.90 (H200, 2026-11-22).
  if (found.src_aligned && fills_shifted(found.col_rank, found.col_total, found.row_total, word, word == 8 ? 4 : 3)) {
    return narrow_kind::shifted_columns;
  }
  if (found.dst_aligned && fills_shifted(found.row_rank, found.row_total, found.col_total, word, 4)) {
    return narrow_kind::shifted_rows;
  }
  return narrow_kind::none;
}

}  // namespace

const axis* find(const map::canonical& form, std::int64_t axis::*stride) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].*stride == 1) return &form.axes[k];
  }
  return nullptr;
}

const kernels::kernel* row_of(std::string_view family, std::int64_t word_bytes, int skip) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (one.element_bytes == word_bytes && one.launch != nullptr && one.family == family && skip-- == 0) return &one;
  }
  return nullptr;
}

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
    if (!in_cols && form.axes[k].src_stride * form.word_bytes % 16 != 0) found.src_aligned = false;
    if (!in_rows && form.axes[k].dst_stride * form.word_bytes % 16 != 0) found.dst_aligned = false;
  }
  return true;
}

regrouping find_regrouping(const map::canonical& form, int alignment, bool split, bool shifted) noexcept {
  const auto structures = split ? &axis::src_stride : &axis::dst_stride;
  const auto arrays = split ? &axis::dst_stride : &axis::src_stride;
  regrouping found;
  found.split = split;
  found.shifted = shifted;
  const axis* member = find(form, structures);
  const axis* first = find(form, arrays);
  if (member == nullptr || first == nullptr || member == first || first->*structures != member->extent) return {};
  const std::int64_t word = form.word_bytes;
  const std::int64_t structure_bytes = member->extent * word;
  const std::int64_t step = shifted ? std::min<std::int64_t>(structure_bytes & -structure_bytes, 16) : 16;
  if (alignment < step) return {};
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (&one != member && &one != first && one.*structures * word % step != 0) return {};
    if (!shifted && &one != first && one.*arrays * word % 16 != 0) return {};
  }
  found.member = static_cast<int>(member - form.axes.data());
  found.along[found.rank++] = static_cast<int>(first - form.axes.data());
  found.total = first->extent;
  const std::string_view family =
      shifted ? (split ? "shift_deinterleave" : "shift_interleave") : (split ? "deinterleave" : "interleave");
  std::int64_t extent = 0;
  for (const kernels::kernel& one : kernels::all()) {
    if (member->extent != (split ? one.tile_cols : one.tile_rows) || one.element_bytes != word) continue;
    if (one.launch == nullptr || one.family != family) continue;
    found.kernel = &one;
    extent = split ? one.tile_rows : one.tile_cols;
  }
  if (found.kernel == nullptr) return {};
  // Short runs of structures are counted on across any other axes, when no chunk of 16 bytes spans two runs.
  const bool lengthens = !shifted && first->extent * word % 16 == 0;
  for (int k = form.rank - 1; k >= 0 && found.total < 16 * extent && lengthens; --k) {
    if (&form.axes[k] == member || &form.axes[k] == first) continue;
    if (form.axes[k].extent > most_blocks / (found.total * member->extent)) continue;
    found.along[found.rank++] = k;
    found.total *= form.axes[k].extent;
  }
  if (fill(found.total, extent) < 0.6) return {};
  if (!shifted && found.total * member->extent > most_blocks) return {};  // counted with 32 bits
  return found;
}

int narrow_size(std::int64_t total, std::int64_t word_bytes) noexcept {
  if (word_bytes > 8 || total > narrow_bytes || total * word_bytes > narrow_bytes) return -1;
  return chunks_log2(total * word_bytes);
}

int log2_of_side(std::int64_t total, std::int64_t word_bytes) noexcept {
  const int size = narrow_size(total, word_bytes);
  return size >= 0 && total * word_bytes == std::int64_t{16} << size ? size : -1;
}

int shifted_narrow_size(std::int64_t total, std::int64_t word_bytes) noexcept {
  const std::int64_t most = word_bytes < 4 ? narrow_bytes : 2 * narrow_bytes;
  return total > most || total * word_bytes > most ? -1 : chunks_log2(total * word_bytes);
}

narrow_kind find_narrow(const map::canonical& form, sides& found) noexcept {
  if (!found.aligned()) return find_narrow_shift(form, found);
  if (std::max(found.row_total, found.col_total) > most_blocks)
    return narrow_kind::none;                              // the kernels count them with 32 bits
  const std::int64_t long_side = 16384 / form.word_bytes;  // elements; a tile has as many chunks of 16 bytes
  if (narrow_size(found.col_total, form.word_bytes) >= 0) {
    sides longer = found;
    loosen(form, longer, &axis::dst_stride, longer.rows, longer.row_rank, longer.row_total, longer.loose_rows,
           long_side);
    if (longer.row_total * found.col_total * 2 >= long_side) {
      found = longer;
      return narrow_kind::columns;
    }
  }
  if (narrow_size(found.row_total, form.word_bytes) >= 0) {
    sides longer = found;
    loosen(form, longer, &axis::src_stride, longer.cols, longer.col_rank, longer.col_total, longer.loose_cols,
           long_side);
    if (longer.col_total * found.row_total * 2 >= long_side) {
      found = longer;
      return narrow_kind::rows;
    }
  }
  // 16 chunks of rows: 64 x 1171000 float32 0.94, in tiles 0.91 (H200, 2026-11-22).
  if (shifted_narrow_size(found.row_total, form.word_bytes) == 4 &&
      fills_shifted(found.row_rank, found.row_total, found.col_total, form.word_bytes, 4)) {
    return narrow_kind::shifted_rows;
  }
  return narrow_kind::none;
}

}  // namespace cornerturn::planning
