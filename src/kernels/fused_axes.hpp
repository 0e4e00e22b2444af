// Several axes that a kernel walks as one. Whether axes[0] or the last one is the fastest is the user's: cpu/odometer.hpp.
#pragma once

#include <array>
#include <cstdint>

#include "map/canonical.hpp"

namespace cornerturn::kernels {

struct fused_axes {
  std::array<axis, map::max_axes> axes{};
  int rank = 0;
  std::int64_t total = 1;

  void push(const axis& one) noexcept {
    axes[static_cast<std::size_t>(rank++)] = one;
    total *= one.extent;
  }
};

}  // namespace cornerturn::kernels
