// Converts the block number of a launch of several problems to a problem and a number of its blocks.
#pragma once

#include "kernels/gpu/policy/alternating.hpp"

namespace cornerturn::gpu {

// Calls block(arguments, number) with the problem of this block and the block's number in it. The launch has exactly the blocks of
// all problems.
template <class Args, class Block>
GPU_INLINE void alternate(const alternating<Args>& all, const Block& block) {
  const alternating_block found = find_block(all, block_index());
  block(all.each[found.problem], found.number);
}

}  // namespace cornerturn::gpu
