// The axes of a transpose: rows are contiguous in dst, columns are contiguous in src. Rows, and columns, may be several
// fused axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/gpu/policy/grid.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

// Axes of a form that are walked as one: the rows, or the columns.
struct tile_side {
  std::array<int, map::max_axes> axes{};  // their numbers, fastest first
  int rank = 0;
  std::int64_t total = 1;

  void add(int number, std::int64_t extent) noexcept {
    axes[rank++] = number;
    total *= extent;
  }
  [[nodiscard]] bool has(int number) const noexcept {
    return std::find(axes.begin(), axes.begin() + rank, number) != axes.begin() + rank;
  }
};

// A short side is extended by further axes, up to 16 large tiles: of these, an edge leaves at most a 16th empty.
struct transpose_axes {
  tile_side rows;
  tile_side cols;
  bool taken[map::max_axes] = {};
  bool src_aligned = true;  // if the address of index 0 is a multiple of 16 bytes, every address of src is
  bool dst_aligned = true;
  [[nodiscard]] bool aligned() const noexcept { return src_aligned && dst_aligned; }
  [[nodiscard]] bool fused() const noexcept { return rows.rank > 1 || cols.rank > 1; }
};

// False when rows and columns are one axis, or one of them does not exist.
[[nodiscard]] bool find_transpose_axes(const map::canonical& form, transpose_axes& found) noexcept;

// The innermost axis of elements of three words, contiguous on both sides; -1: there is none.
[[nodiscard]] int find_triples(const map::canonical& form) noexcept;

// Fuses the axes of a side, with the strides of one array.
[[nodiscard]] fused_axes fuse(const map::canonical& form, const tile_side& side, std::int64_t axis::*stride) noexcept;

// Rounds the chunks of 16 bytes of a short side up to 1, 2, 4 or 8, and returns log2 of that. -1: the side is longer
// than 128 bytes, has a partial chunk, or fills less than three quarters.
[[nodiscard]] int short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;
// short_side_log2() for the unaligned kernels, whose tiles have up to 16 chunks of words of 4 bytes or more: then 4.
[[nodiscard]] int unaligned_short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;
// log2 of the chunks of 16 bytes of a side; -1: it is not 1, 2, 4 or 8 whole chunks.
[[nodiscard]] int whole_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;

// Lengthens a side of `found` by further axes, such as a batch, until it has `enough` elements. Chunks of 16 bytes stay
// contiguous. Returns true when it took an axis that is not contiguous.
bool lengthen(const map::canonical& form, transpose_axes& found, std::int64_t axis::*stride, tile_side& side,
              std::int64_t enough) noexcept;

}  // namespace cornerturn::gpu
