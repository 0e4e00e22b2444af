#pragma once

#include "cornerturn/arithmetic.hpp"
#include "kernels/gpu/policy/grid.hpp"
#include "kernels/op.hpp"

namespace cornerturn::gpu {

// What happens to elements on their way, for gpu/math.cuh: the kinds of arithmetic that there are, whatever the types.
enum class arithmetic_kind : std::int32_t {
  move,     // bits, some of them flipped
  integer,  // clamped and cut off, or extended
  real,     // scale * (alpha * s + beta * S)
  parts,    // the same for both parts of a complex number
  complex,  // whole complex products
};

struct arithmetic_args {
  arithmetic_kind kind = arithmetic_kind::move;
  element_type src = element_type::bits;  // of kind `real`
  element_type dst = element_type::bits;
  std::int32_t saturate = 0;
  std::int32_t reads_src = 1;
  std::int32_t reads_second = 0;
  std::uint32_t flip = 0;  // of the highest word of each element's imaginary part
  std::int32_t is_signed = 0;
  // An element of src counts in its own bits, at least 32 of them, and is clamped between these after its `bias` bits
  // are flipped, which brings unsigned numbers into the order of signed ones.
  std::int64_t bias = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // What is not read counts as 0, and its factor is such that the term is -0: adding that changes no bit.
  double alpha_re = 1, alpha_im = 0;
  double beta_re = -0.0, beta_im = 0;
};

[[nodiscard]] arithmetic_args arithmetic_of(const kernels::op& math) noexcept;

// Three axes are cut into tiles. Slot 0: columns, contiguous in src where anything is. Slot 1: rows, contiguous in dst.
// Slot 2, of gpu/apply_any.cuh: any other axis, so that small matrices share a tile.
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

inline constexpr int apply_any_threads = 256;
// Of a tile: up to 16 KiB and what pads them, so that runs of one byte are 64 long.
constexpr int apply_any_elements(int src_bytes) { return src_bytes <= 4 ? 4096 : 16384 / src_bytes; }

// gpu/apply.cuh, gpu/apply_shift.cuh and gpu/apply_any.cuh.
struct apply_args : array_args {
  void* second = nullptr;  // read only where it is a source; dst itself where beta wants that
  const float* scale = nullptr;
  arithmetic_args math;
  apply_strides slots[3];
  std::int32_t second_written = 0;
  std::int32_t second_by_cols = 0;       // the second array is contiguous, or walked, along columns
  std::int32_t dst_by_cols = 0;          // gpu/apply_any.cuh: dst is walked along columns
  std::int32_t dst_bytes = 0;            // gpu/apply_any.cuh: of an element
  std::int32_t bytewise = 0;             // gpu/apply_any.cuh: some element is at no multiple of its size
  std::int32_t cut_log2[3] = {0, 0, 0};  // gpu/apply_any.cuh: of a tile's indices
  std::int32_t pitch = 0;                // gpu/apply_any.cuh: bytes from one row to the next in shared memory
  apply_grid blocks;
};

}  // namespace cornerturn::gpu
