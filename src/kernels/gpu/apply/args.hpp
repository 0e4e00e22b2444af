#pragma once

#include "cornerturn/arithmetic.hpp"
#include "kernels/gpu/policy/computed_args.hpp"
#include "kernels/gpu/policy/element_grid.hpp"
#include "kernels/op.hpp"

namespace cornerturn::gpu {

// The kinds of arithmetic on elements; apply/arithmetic.cuh computes them.
enum class arithmetic_kind : std::int32_t {
  move,     // a copy of the bits, some of them flipped
  integer,  // clamped and truncated, or extended
  real,     // scale * (alpha * s + beta * S)
  parts,    // `real` for each part of a complex number
  complex,  // whole complex products
};

struct arithmetic_args {
  arithmetic_kind kind = arithmetic_kind::move;
  element_type src = element_type::bits;  // of kind `real`
  element_type dst = element_type::bits;
  std::int32_t saturate = 0;
  std::int32_t reads_src = 1;
  std::int32_t reads_second = 0;
  std::uint32_t flip = 0;  // these bits of the highest word of each element's imaginary part
  std::int32_t is_signed = 0;
  // Integers are clamped to [lowest, highest] in the bits of src, at least 32. The `bias` bits are flipped before, so
  // that unsigned numbers compare as signed ones.
  std::int64_t bias = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // An element that is not read is 0. Its factor makes the term -0, and adding -0 changes no bit.
  double alpha_re = 1, alpha_im = 0;
  double beta_re = -0.0, beta_im = 0;
};

[[nodiscard]] arithmetic_args arithmetic_of(const kernels::op& math) noexcept;

// Three axes are cut into tiles. Slot 0: columns, contiguous in src if any axis is. Slot 1: rows, contiguous in dst.
// Slot 2, of apply/any.cuh only: another axis, so that small matrices share a tile.
struct apply_axis {
  map::fast_divisor count;
  std::uint32_t tiles[3] = {0, 0, 0};  // of each slot that one step advances
  std::int64_t src_step_bytes = 0;
  std::int64_t dst_step_bytes = 0;
  std::int64_t second_step_bytes = 0;
};

struct apply_grid {
  std::int64_t extent[3] = {1, 1, 1};
  std::int32_t tile[3] = {1, 1, 1};
  std::int32_t rank = 0;
  apply_axis axes[map::max_axes];
};

// From one index of a slot to the next.
struct apply_strides {
  std::int64_t src_bytes = 0;
  std::int64_t dst_bytes = 0;
  std::int64_t second_bytes = 0;
};

inline constexpr int apply_any_threads = 512;
// Elements of a tile: at most 16 KiB without padding, so that runs of 1-byte elements have 64 bytes.
constexpr int apply_any_elements(int src_bytes) { return src_bytes <= 4 ? 4096 : 16384 / src_bytes; }

// any: the offsets of element step * apply_any_threads of a tile.
inline constexpr int apply_any_steps = apply_any_elements(1) / apply_any_threads;
struct apply_steps {
  std::int64_t src_bytes[apply_any_steps] = {};
  std::int64_t dst_bytes[apply_any_steps] = {};
  std::int64_t second_bytes[apply_any_steps] = {};
  std::int32_t smem_bytes[apply_any_steps] = {};
};

// `any`: of apply/any.cuh only.
struct apply_args : computed_args {
  arithmetic_args math;
  apply_strides slots[3];
  std::int32_t second_written = 0;
  std::int32_t second_by_cols = 0;       // the second array is contiguous along columns; any: it is walked along them
  std::int32_t dst_by_cols = 0;          // any: dst is walked along columns
  std::int32_t dst_bytes = 0;            // any: of an element
  std::int32_t cut_log2[3] = {0, 0, 0};  // any: of a tile's indices
  std::int32_t pitch = 0;                // any: bytes from one row to the next in shared memory
  std::int32_t is_full = 0;              // any: a whole tile has an element for every step of every thread
  apply_grid blocks;
  apply_steps steps[2];  // any: rows fastest, columns fastest
};

// Elements of a word of dst that a thread of apply/element.cuh computes, where dst is contiguous.
constexpr int joined_elements(int src_bytes, int dst_bytes) {
  const int wide = src_bytes > dst_bytes ? src_bytes : dst_bytes;
  return wide >= 8 ? 1 : wide >= 2 ? 16 / wide : 8;
}

// Of apply/element.cuh. A second array has the strides of dst.
struct apply_element_args : computed_args, element_grid {
  std::int32_t element_bytes = 0;  // of dst
  std::int32_t second_written = 0;
  arithmetic_args math;
};

}  // namespace cornerturn::gpu
