// The axes of a transpose: rows are contiguous in dst, columns are contiguous in src. Each side may be several axes that
// continue each other.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/gpu/policy/grid.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

// A side takes more axes while it is short: 16 large tiles of it are at most a 16th empty.
struct transpose_axes {
  std::array<int, map::max_axes> rows{};  // numbers of axes of the form, fastest first
  std::array<int, map::max_axes> cols{};
  int row_rank = 0;
  int col_rank = 0;
  std::int64_t row_total = 1;
  std::int64_t col_total = 1;
  bool taken[map::max_axes] = {};
  bool src_aligned = true;  // every address of src is a multiple of 16 bytes when that of index 0 is
  bool dst_aligned = true;
  [[nodiscard]] bool aligned() const noexcept { return src_aligned && dst_aligned; }
  [[nodiscard]] bool fused() const noexcept { return row_rank > 1 || col_rank > 1; }
};

// False when rows and columns are one axis, or one of them does not exist.
[[nodiscard]] bool find_transpose_axes(const map::canonical& form, transpose_axes& found) noexcept;

// The first `rank` axes of a list, walked as one, with the strides of one side.
[[nodiscard]] fused_axes fuse(const map::canonical& form, const std::array<int, map::max_axes>& axes, int rank,
                              std::int64_t axis::*stride) noexcept;

// The number of the power of two of chunks of 16 bytes that holds a short side, if the chunks are whole and fill three
// quarters of it: 0 to 3 for 1, 2, 4 and 8 chunks; -1: the side is longer than 128 bytes, or not of whole chunks.
[[nodiscard]] int short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;
// The same for the unaligned kernels, whose tiles have room for 16 chunks of wide words: then 4.
[[nodiscard]] int unaligned_short_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;
// log2 of the chunks of 16 bytes that a side consists of; -1: it is not 1, 2, 4 or 8 of them.
[[nodiscard]] int whole_side_log2(std::int64_t total, std::int64_t word_bytes) noexcept;

// Lengthens a short side's other side by any axes that are left, such as a batch, as long as whole chunks of 16 bytes stay
// together, until it has `enough` elements. Returns whether it took an axis that is not contiguous.
bool lengthen(const map::canonical& form, transpose_axes& found, std::int64_t axis::*stride,
              std::array<int, map::max_axes>& axes, int& rank, std::int64_t& total, std::int64_t enough) noexcept;

}  // namespace cornerturn::gpu
