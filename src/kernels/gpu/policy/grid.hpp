// The plain data that begins the arguments of every GPU kernel, and the grid of most kernels. A kernel takes its
// arguments by value, as one parameter. An offer.cpp fills them; the launch adds the pointers.
#pragma once

#include <cstdint>

#include "map/canonical.hpp"
#include "map/fast_divisor.hpp"
#include "map/host_device.hpp"

namespace cornerturn::gpu {

// Every args struct begins with these, so that one function can launch every kernel.
struct array_args {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint64_t src_begin = 0;  // no byte outside the addresses [src_begin, src_end) is read
  std::uint64_t src_end = 0;
  std::uint32_t* flags = nullptr;  // all 0, for kernels whose blocks signal each other; else null
};

// Blocks are numbered in one dimension. A block number is split over the grid axes, fastest first.
//
// At most two axes are cut into tiles: slot 0 is contiguous in src, slot 1 is contiguous in dst. Each may be split into
// several grid axes, such as bands and the tiles of a band.
struct grid_axis {
  map::fast_divisor count;
  std::uint32_t tiles[2] = {0, 0};  // of each slot that one step advances
  std::int64_t src_step_bytes = 0;
  std::int64_t dst_step_bytes = 0;
};

struct grid {
  std::int64_t extent[2] = {1, 1};
  std::int32_t tile[2] = {1, 1};  // indices of a whole tile
  std::int32_t rank = 0;
  grid_axis axes[map::max_axes + 1];
};

inline constexpr int max_box_axes = 8;  // of a box in shared memory: see box_axes.hpp

// Several axes that one side walks as one, fastest first. A linear index is split over them to find an address of the
// other side.
struct fused_axes {
  std::int32_t rank = 0;
  struct fused_axis {
    map::fast_divisor count;
    std::int64_t stride_bytes = 0;
  } axes[map::max_axes];
};

// One item of a batch whose addresses come from a table: the addresses of index 0.
struct item_addresses {
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
};

}  // namespace cornerturn::gpu
