#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// Slot 0 of the grid counts structures.
struct interleave_args : tile_args {
  fused_axes arrays;             // offsets of the elements of V structures on the side of the arrays; rank 0: one run
  fused_axes runs;               // offsets of the runs of structures on the other side; rank 0: one run
  map::fast_divisor run_chunks;  // chunks of 16 bytes of a run of structures
};

}  // namespace cornerturn::gpu
