// Several problems of one row in one launch, whose blocks alternate in proportion to their numbers, so that all problems end
// together.
// Stores over a link to another GPU overlap with stores to this GPU's memory within one launch, but hardly between launches. A
// float32 transpose, half of whose bytes leave each GPU, reaches 0.74 of the copy engines' rate by two launches on two streams and
// 0.94 by one launch (2 H100, 2026-11-27).
#pragma once

#include <cstdint>

#include "map/host_device.hpp"

namespace cornerturn::gpu {

inline constexpr int most_alternating_bytes = 4000;  // CUDA passes at most 4,096 bytes

// Problem k has the share shares[k] / 2^32 of the blocks of the problems k, k + 1, ... It is rounded up, so that a problem gets
// exactly its blocks. The last problem gets all that remain.
struct alternating_head {
  std::uint32_t count = 0;  // of problems
  std::uint32_t shares[15] = {};
};
static_assert(sizeof(alternating_head) == 64);

// Requires  0 < blocks < all <= 2^31
constexpr std::uint32_t share_of(std::uint64_t blocks, std::uint64_t all) {
  return static_cast<std::uint32_t>(((blocks << 32) + all - 1) / all);
}

// A block of one of the problems.
struct alternating_block {
  std::uint32_t problem = 0, number = 0;
};

// Returns  the blocks before `number` that are a problem's, of the problems from it on
CORNERTURN_HOST_DEVICE constexpr std::uint32_t blocks_before(std::uint32_t number, std::uint32_t share) {
  return static_cast<std::uint32_t>((std::uint64_t{number} * share) >> 32);
}

// Returns  the problem of block `number` of a launch, and the block's number in it
CORNERTURN_HOST_DEVICE constexpr alternating_block find_block(const alternating_head& all, std::uint32_t number) {
  std::uint32_t problem = 0;
  for (; problem + 1 < all.count; ++problem) {
    const std::uint32_t mine = blocks_before(number, all.shares[problem]);
    if (blocks_before(number + 1, all.shares[problem]) > mine) return {problem, mine};
    number -= mine;
  }
  return {problem, number};
}

// Returns  the problems of a launch, whose arguments have so many bytes each
constexpr int most_alternating(int args_bytes) {
  const int fitting = (most_alternating_bytes - static_cast<int>(sizeof(alternating_head))) / args_bytes;
  return fitting < 15 ? fitting : 15;
}

// Args: the arguments of the row for one problem.
template <class Args>
struct alternating : alternating_head {
  static_assert(most_alternating(sizeof(Args)) >= 2 && alignof(Args) <= 64);
  Args each[most_alternating(sizeof(Args))];
};

}  // namespace cornerturn::gpu
