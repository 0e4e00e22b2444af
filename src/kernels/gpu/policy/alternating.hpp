// Several problems of one row in one launch, whose blocks alternate. The problems are sorted by their blocks, fewest first. All
// problems alternate until the first one has no more blocks, then all others until the second one has none.
// Stores over a link to another GPU overlap with stores to this GPU's memory within one launch, but hardly between launches. A
// float32 transpose, half of whose bytes leave each GPU, reaches 0.74 of the copy engines' rate by two launches on two streams and
// 0.94 by one launch (2 H100, 2026-11-27).
#pragma once

#include <cstdint>

namespace cornerturn::gpu {

inline constexpr int most_alternating_bytes = 4000;  // CUDA passes at most 4,096 bytes

struct alternating_head {
  std::uint32_t count = 0;        // of problems
  std::uint32_t blocks[15] = {};  // of each problem, never decreasing
};
static_assert(sizeof(alternating_head) == 64);

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
