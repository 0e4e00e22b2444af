#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// The sectors of dst that a tile stores begin at most so many bytes before its own rows.
inline constexpr int unaligned_halo_bytes = 32;

}  // namespace cornerturn::gpu
