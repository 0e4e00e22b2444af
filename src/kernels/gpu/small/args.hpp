#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// Many matrices. Slot 1 of the grid counts the matrices.
struct many_small_args : array_args {
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  std::int64_t src_matrix_bytes = 0;  // from one matrix to the next
  std::int64_t dst_matrix_bytes = 0;
  std::int32_t across_log2 = 0;  // register blocks along a row
  std::int32_t down_log2 = 0;    // register blocks down a column
  grid blocks;
};

// Fewest bytes of all matrices of a batch's shape, so that they are worth a launch. These bytes take 0.5 us and a launch takes 2 us,
// but boxes of 16 x 16 2-byte elements reach only 0.29 of a copy (H200, 2026-11-22).
inline constexpr std::int64_t small_batch_bytes = 1 << 20;

// Many matrices of one shape. A table has their addresses.
struct small_batch_args {
  const item_addresses* items = nullptr;
  std::uint32_t count = 0;
  std::int32_t across_log2 = 0;
  std::int32_t down_log2 = 0;
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
};

// Rows and columns of any extents and leading dimensions that stay in L2. Strides count elements and offsets have 32 bits: the
// offer refuses others. The struct is short, because a kernel waits for each line of its arguments. The grid has three
// dimensions: a division of the block's number costs 0.08 of 1.2 us (H200, 2026-11-27).
struct small_args : array_args {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::int32_t src_ld = 0;  // from one row to the next in src
  std::int32_t dst_ld = 0;  // from one column to the next in dst
  std::uint32_t cut = 0;    // words.cuh: 1 if tiles leave out row 0 and the last row, whose words may not be within src
  std::uint32_t tiles_across = 1;
  std::uint32_t tiles_down = 1;  // and blocks of edges or of corners
};

// Of words.cuh. A tile's last sectors reach into so many rows below it; a block has 4 bytes of a column, or 12. The edges of a tile's
// columns, above and below, are so many blocks each.
inline constexpr std::int32_t sector_bytes = 32, edge_blocks = 2;
constexpr std::int32_t halo_rows_of(std::int32_t element_bytes) {
  const std::int32_t block = element_bytes % 3 == 0 ? 12 : 4;
  const std::int32_t bytes = (sector_bytes - 1 + element_bytes - 1) / element_bytes * element_bytes;
  return (bytes + block - 1) / block * block / element_bytes;
}

// Rows or columns that are two axes.
struct small_side {
  map::fast_divisor count;    // of the fast one; its stride is src_ld or dst_ld
  std::int32_t ld = 0;        // stride of the slow one
  std::int32_t is_split = 0;  // 0: the side is one axis
};

// Any axes: outer ones number the matrices, fastest first. Let q[k] be the number of a matrix over the extents of the k fastest
// axes. The index of axis k is q[k] - q[k + 1] * extent[k], so an offset is the sum of q[k] * step[k], where step[k] is stride[k] -
// stride[k - 1] * extent[k - 1]. No quotient waits for another one, and absent axes have steps of 0: 16 MB take 0.70 of the time
// that a chain of divisions takes (H200, 2026-11-27).
inline constexpr int max_small_outer_axes = 5;
struct fused_small_args : small_args {
  small_side row_axes;          // strides of src
  small_side col_axes;          // strides of dst
  std::int32_t src_stride = 0;  // step[0]
  std::int32_t dst_stride = 0;
  struct outer_axis {
    std::int32_t src_step = 0;
    std::int32_t dst_step = 0;
    map::fast_quotient faster;  // matrices of all faster axes
  } outer[max_small_outer_axes - 1];
};
static_assert(sizeof(small_args) <= 72 && sizeof(fused_small_args) <= 192);

template <bool Fused>
struct small_args_of {
  using type = small_args;
};
template <>
struct small_args_of<true> {
  using type = fused_small_args;
};
template <bool Fused>
using small_args_t = typename small_args_of<Fused>::type;

}  // namespace cornerturn::gpu
