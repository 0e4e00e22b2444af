// Converts the block number of a launch of several problems to a problem and a number of its blocks.
#pragma once

#include "kernels/gpu/policy/alternating.hpp"

namespace cornerturn::gpu {

// Calls block(arguments, number) with the problem of this block and the block's number in it. The launch has exactly the blocks of
// all problems.
template <class Args, class Block>
GPU_INLINE void alternate(const alternating<Args>& all, const Block& block) {
  uint32_t rest = block_index(), done = 0, first = 0,
           active = all.count;  // problems [0, first) have `done` blocks or fewer
  for (;; ++first, --active) {
    const uint32_t here = (all.blocks[first] - done) * active;
    if (rest < here) break;
    rest -= here;
    done = all.blocks[first];
  }
  block(all.each[first + rest % active], done + rest / active);
}

}  // namespace cornerturn::gpu
