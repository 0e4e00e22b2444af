#include "kernels/gpu/policy/transpose_axes.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"

namespace cornerturn::gpu {
namespace {

using base::magnitude;

constexpr std::int64_t short_side_bytes = 128;

int find_axis(const map::canonical& form, const transpose_axes& found, std::int64_t axis::*stride,
              std::int64_t value) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    if (!found.taken[k] && form.axes[k].*stride == value) return k;
  }
  return -1;
}

int chunks_log2(std::int64_t bytes) noexcept {
  if (bytes % 16 != 0) return -1;
  int size = 0;
  while ((std::int64_t{16} << size) < bytes) ++size;
  return bytes * 4 >= std::int64_t{48} << size ? size : -1;
}

// Takes the axis that continues the side, if there is one and a 32-bit index can still count the side.
bool continue_side(const map::canonical& form, transpose_axes& found, std::int64_t axis::*stride,
                   tile_side& side) noexcept {
  const axis& last = form.axes[side.axes[side.rank - 1]];
  std::int64_t continued = 0;
  if (!base::checked_mul(last.*stride, last.extent, continued)) return false;
  const int k = find_axis(form, found, stride, continued);
  if (k < 0 || form.axes[k].extent > most_blocks / side.total) return false;
  side.add(k, form.axes[k].extent);
  found.taken[k] = true;
  return true;
}

}  // namespace

bool find_transpose_axes(const map::canonical& form, transpose_axes& found) noexcept {
  const int row = find_axis(form, found, &axis::dst_stride, 1);
  const int col = find_axis(form, found, &axis::src_stride, 1);
  if (row < 0 || col < 0 || row == col) return false;
  found.rows.add(row, form.axes[row].extent);
  found.cols.add(col, form.axes[col].extent);
  found.taken[row] = found.taken[col] = true;
  const std::int64_t enough = 16 * 256 / form.word_bytes;
  for (bool grown = true; grown;) {
    grown = false;
    if (found.rows.total < enough && fill(found.rows.total, 256 / form.word_bytes) < 0.97) {
      grown = continue_side(form, found, &axis::dst_stride, found.rows);
    }
    if (found.cols.total < enough && fill(found.cols.total, 256 / form.word_bytes) < 0.97) {
      grown = continue_side(form, found, &axis::src_stride, found.cols) || grown;
    }
  }
  for (int k = 0; k < form.rank; ++k) {
    // A column axis is contiguous in src and a row axis in dst. Every other stride must keep the alignment.
    const axis& one = form.axes[k];
    if (!found.cols.has(k) && one.src_stride * form.word_bytes % 16 != 0) found.src_aligned = false;
    if (!found.rows.has(k) && one.dst_stride * form.word_bytes % 16 != 0) found.dst_aligned = false;
  }
  return true;
}

int find_triples(const map::canonical& form) noexcept {
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent == 3 && one.src_stride == 1 && one.dst_stride == 1) return k;
  }
  return -1;
}

fused_axes fuse(const map::canonical& form, const tile_side& side, std::int64_t axis::*stride) noexcept {
  fused_axes made;
  made.rank = side.rank;
  for (int i = 0; i < side.rank; ++i) {
    const axis& one = form.axes[side.axes[i]];
    made.axes[i].count = map::fast_divisor(static_cast<std::uint32_t>(std::min<std::int64_t>(one.extent, most_blocks)));
    made.axes[i].stride_bytes = one.*stride * form.word_bytes;
  }
  return made;
}

int short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept {
  if (word_bytes > 8 || total > short_side_bytes || total * word_bytes > short_side_bytes) return -1;
  return chunks_log2(total * word_bytes);
}

int unaligned_short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept {
  const std::int64_t most = word_bytes < 4 ? short_side_bytes : 2 * short_side_bytes;
  return total > most || total * word_bytes > most ? -1 : chunks_log2(total * word_bytes);
}

int whole_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept {
  const int size = short_side_log2(total, word_bytes);
  return size >= 0 && total * word_bytes == std::int64_t{16} << size ? size : -1;
}

bool lengthen(const map::canonical& form, transpose_axes& found, std::int64_t axis::*stride, tile_side& side,
              std::int64_t enough) noexcept {
  // Pieces of less than a sector on the side that is not contiguous lose to a gather. Shares of a copy, here and by
  // gather: 4 x 4 float32 0.63 and 0.81, 4 x 4 of 8 bytes 0.88 and 0.96, 8 x 8 of 2 bytes 0.35 and 0.47. Pieces that
  // begin within a sector lose, too: 16 x 16 float32 with a gap of 16 bytes 0.65 and 0.80 (H200, 2026-11-21).
  const std::int64_t word = form.word_bytes;
  if (side.total * word % 16 != 0 || side.total * word < (word == 8 ? 64 : 32)) return false;
  bool loose = false;
  while (side.total < enough) {
    int best = -1;
    for (int k = 0; k < form.rank; ++k) {
      if (found.taken[k] || form.axes[k].extent > most_blocks / side.total) continue;
      if (best < 0 || magnitude(form.axes[k].*stride) < magnitude(form.axes[best].*stride)) best = k;
    }
    if (best < 0 || (word >= 4 && form.axes[best].*stride * word % 32 != 0)) break;
    side.add(best, form.axes[best].extent);
    found.taken[best] = true;
    loose = true;
  }
  return loose;
}

}  // namespace cornerturn::gpu
