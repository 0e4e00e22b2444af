#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int element_threads = 256;
inline constexpr int max_element_outer_axes = 6;
inline constexpr int max_element_row_axes = 4;

// dst is rows of row_elements elements. If a thread stores several of them as one word, a row is contiguous, and it may be
// several axes of src. Outer axes number the rows. Lists have the fastest axis first, and need no extent of their last one.
// Strides have 32 bits: the offer refuses longer ones. A kernel waits for each line of its arguments, so the struct is short
// and begins with what every problem needs.
struct element_args : array_args {
  map::fast_divisor words;  // of a row
  std::uint32_t all_words = 0;
  std::uint32_t row_elements = 1;
  std::int32_t row_rank = 1;
  std::int32_t rank = 0;       // of the outer axes
  std::int32_t src_bytes = 0;  // from one element to the next, of a row's first axis
  std::int32_t dst_bytes = 0;
  struct outer_axis {
    std::int32_t src_bytes = 0;
    std::int32_t dst_bytes = 0;
    map::fast_divisor count;
  } outer[max_element_outer_axes];
  struct row_axis {
    map::fast_divisor count;
    std::int32_t above_src_bytes = 0;  // stride of the next axis
  } row[max_element_row_axes - 1];
};
static_assert(sizeof(element_args) <= 256);

}  // namespace cornerturn::gpu
