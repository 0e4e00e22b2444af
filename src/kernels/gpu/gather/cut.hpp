// Cuts a problem into gather boxes: selects the axes, the indices of each, and their strides in shared memory.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/gpu/gather/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "map/canonical.hpp"

namespace cornerturn::gpu {

struct box {
  gather_args args;
  std::uint32_t blocks = 0;  // 0: the grid would be too large, or the tables do not fit shared memory
  int shared_bytes = 0;
  int conflicts = 1;                               // wavefronts of one load of a warp from shared memory
  std::array<std::int64_t, map::max_axes> tile{};  // indices of each axis of the form
};

// alignment: of the addresses of index 0 on both sides, in bytes
[[nodiscard]] box cut_box(const map::canonical& form, std::int64_t most_shared_bytes, int alignment,
                          const kernels::target& on) noexcept;

}  // namespace cornerturn::gpu
