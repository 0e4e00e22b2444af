#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

using pixel_args = tile_args;

}  // namespace cornerturn::gpu
