#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// The halo: a tile's first sector of dst begins less than so many bytes before its own first row.
inline constexpr int unaligned_halo_bytes = 32;

}  // namespace cornerturn::gpu
