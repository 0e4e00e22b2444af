// A problem defines a copy: dst[i0,i1,...] = src[i0,i1,...] over a set of axes. Each axis has a src and a dst stride.
// Transpose, permutation, batch, leading dimension and row- or column-major order are all choices of strides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cornerturn/arithmetic.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

inline constexpr int max_rank = 16;

// One axis of the index space. Strides count elements, not bytes, and may be negative.
// The stride of src or of a second source may be zero: the element is broadcast along the axis. A dst stride may be
// zero only if extent <= 1.
struct axis {
  std::int64_t extent = 1;
  std::int64_t src_stride = 0;
  std::int64_t dst_stride = 0;
  std::int64_t second_stride = 0;  // stride of the second array of problem::math, in elements of dst
  friend bool operator==(const axis&, const axis&) = default;
};

// Effect  dst[sum i_k * axes[k].dst_stride] = src[sum i_k * axes[k].src_stride]  for all 0 <= i_k < axes[k].extent
// Shape   rank axes, 0 <= rank <= max_rank, in any order; rank 0 is one element; an extent of 0 is no element at all
// Alias   src and dst may not share a byte; with in_place they are one pointer
struct problem {
  std::int64_t element_bytes = 0;  // of src; any size >= 1; elements are copied bit for bit unless math changes them
  int rank = 0;
  std::array<axis, max_rank> axes{};
  // src is dst: the call permutes the elements of one array. Two forms are allowed, each with any batch:
  // 1. pairs of axes with equal extents and swapped strides, such as a square matrix with any ld;
  // 2. a packed rows x cols matrix that becomes a packed cols x rows matrix.
  bool in_place = false;
  // Scaling, sums, conversions and a second array. Elements of src and dst may differ in size. It excludes in_place.
  arithmetic math{};
  friend bool operator==(const problem&, const problem&) = default;
};

// Effect  dst[j * dst_ld + i] = src[i * src_ld + j]  for i < rows, j < cols
// Shape   src is rows x cols, row-major, src_ld >= cols; dst is cols x rows, row-major, dst_ld >= rows.
//         A leading dimension of 0 means packed. A column-major rows x cols matrix is a row-major cols x rows matrix.
// Errors  invalid_argument: element_bytes < 1; rows or cols < 0; an ld that is negative or too small
[[nodiscard]] problem transpose_problem(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes,
                                        std::int64_t src_ld = 0, std::int64_t dst_ld = 0);

// Effect  permutes the axes as numpy.transpose(src, axes) does: axis k of dst is axis axes[k] of src
// Shape   extents describe src; both sides are row-major and packed; axes is a permutation of 0 ... rank-1
// Errors  invalid_argument: rank > max_rank; axes.size() != extents.size(); an axis out of range or repeated;
//         a negative extent; element_bytes < 1.  overflow: the array has 2^63 bytes or more
[[nodiscard]] problem permute_problem(std::span<const std::int64_t> extents, std::span<const int> axes,
                                      std::int64_t element_bytes);

// Effect  permutes with given strides, in elements: src_strides per axis of src, dst_strides per axis of dst.
//         An empty span means packed, row-major.
// Errors  as permute_problem without strides; invalid_argument: a span of strides has another size than extents
[[nodiscard]] problem permute_problem(std::span<const std::int64_t> extents, std::span<const int> axes,
                                      std::int64_t element_bytes, std::span<const std::int64_t> src_strides,
                                      std::span<const std::int64_t> dst_strides);

// Effect  adds an axis in front: count copies of the problem, src_stride and dst_stride elements apart
// Errors  invalid_argument: one.rank is max_rank already; count < 0
[[nodiscard]] problem batched(const problem& one, std::int64_t count, std::int64_t src_stride, std::int64_t dst_stride,
                              std::int64_t second_stride = 0);

}  // namespace cornerturn
#pragma GCC visibility pop
