// An entry of an overlay as a box of dimensions, in pieces of a limited size, and as an ordinary problem.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cornerturn/problem.hpp"
#include "dist/layout.hpp"

namespace cornerturn::distributed {

// The steps count elements along the axis, in the block of each side.
struct dimension {
  int axis = 0;  // of dst
  std::int64_t extent = 1;
  std::int64_t src_step = 1, dst_step = 1;
};

// The elements at the sums of src_at (dst_at) and of multiples of the steps. Dimensions are in the order of dst, outermost first.
struct box {
  int rank = 0;
  std::array<dimension, std::size_t{2} * dist::max_rank> dimensions{};
  std::array<std::int64_t, dist::max_rank> src_at{}, dst_at{};  // by axis of dst
  [[nodiscard]] std::int64_t elements() const noexcept;
};

// Strides in elements, by axis of dst.
using strides = std::array<std::int64_t, dist::max_rank>;

// Without the dimensions of extent 1.
[[nodiscard]] box box_of(const entry& one);

// Orders the dimensions by the distance of their neighbours in dst, largest first.
void order_by(const strides& dst, box& one);

struct piece_size {
  std::int64_t elements = 1;  // at most
  std::int64_t row = 1;       // the last dimension keeps that many elements where the limit allows it
  int src_axis = -1;          // the axis of dst that is contiguous in src; -1: unknown
};
// Effect  cuts the box into equal pieces, and smaller ones at its ends: first along the dimensions that are contiguous on neither
//         side, since a transpose needs long runs on both
void for_each_piece(const box& all, const piece_size& size, const std::function<void(const box&)>& each);

// A problem and the distance in elements from the pointer of each block to the first element of the box.
struct placed {
  problem what;
  std::int64_t src_offset = 0, dst_offset = 0;
};
// A null side is packed in the order of the dimensions.
[[nodiscard]] placed place(const box& one, std::int64_t element_bytes, const strides* src, const strides* dst);

// Returns  extents and strides: problems of one element size with equal numbers share a plan
[[nodiscard]] std::vector<std::int64_t> shape_of(const problem& what);

}  // namespace cornerturn::distributed
