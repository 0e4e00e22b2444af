// The arguments of the family copy: one contiguous run, or many.
#pragma once

#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu::copy {

struct run_args {
  std::int64_t bytes = 0;
  bool streaming = false;
  bool prefetches_pages = false;
};
inline constexpr std::int64_t unit_bytes = 4096;
inline constexpr std::int64_t repeated_bytes = 2048;  // of copies of a run that are written together

struct runs_args {
  std::int64_t word_bytes = 1;
  std::int64_t run_bytes = 1;
  fused_axes outer;                // a unit is one run
  fused_axes read_order;           // the axes of outer, in the order of the prefetcher
  std::int64_t ahead_runs = 1;     // how many runs the prefetcher is ahead
  std::int64_t fetched_bytes = 0;  // bytes of each run that the prefetcher loads
  std::int64_t repeats = 1;        // runs one after another in dst that are one run of src
  bool streaming = false;
};

// In cache. A unit is one element.
struct elements_args {
  std::int64_t word_bytes = 1;
  std::int64_t element_bytes = 1;
  std::int64_t extent = 1, src_step = 0, dst_step = 0;    // of the inner loop; steps are bytes
  std::int64_t rows = 1, src_row = 0, dst_row = 0;        // of the loop around it
  std::int64_t blocks = 1, src_block = 0, dst_block = 0;  // of the loop around both
  std::int64_t piece = 1;                                 // of the inner loop: so many elements of all rows at a time
  fused_axes outer;
  std::int64_t elements = 1;  // all of them
  bool is_block = false;      // one block, in one piece
  bool neighbours = false;    // in dst, along the inner loop: an element's store may reach into the next one
};
inline constexpr std::int64_t most_element_bytes = 128;  // longer runs take more than two copies

}  // namespace cornerturn::kernels::cpu::copy
