#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// The arguments of a row of arithmetic begin with these.
struct computed_args : array_args {
  void* second = nullptr;  // read only if it is a source; dst itself if beta * dst is added
  const float* scale = nullptr;
  std::int32_t bytewise = 0;  // some element is misaligned
};

}  // namespace cornerturn::gpu
