// How a problem is cut into boxes (kernels/gpu/box.cuh): which axes, how many indices of each, where they lie in shared
// memory.
#pragma once

#include <cstdint>

#include "kernels/gpu/job.hpp"
#include "map/canonical.hpp"
#include "plan/gpu_tuning.hpp"

namespace cornerturn::planning {

struct box {
  gpu::box_job job;
  std::uint32_t blocks = 0;  // 0: more than a grid can have
  int shared_bytes = 0;
};

// alignment: of the addresses of index 0 on both sides, in bytes
[[nodiscard]] box cut_box(const map::canonical& form, std::int64_t most_shared_bytes, int alignment,
                          const gpu_tuning& tuned) noexcept;

}  // namespace cornerturn::planning
