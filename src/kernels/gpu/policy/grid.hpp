// The plain data that the arguments of all GPU kernels begin with, and the grid that most of them walk. A kernel takes its
// arguments by value, as one parameter; an offer.cpp fills them, and the launch adds the pointers.
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
  std::uint64_t src_begin = 0;  // addresses: no byte outside [begin, end) is read
  std::uint64_t src_end = 0;
  std::uint32_t* flags = nullptr;  // all 0; of kernels whose blocks signal each other, else null
};

// Blocks are numbered in one dimension. Each grid axis takes its index off the block number, fastest first.
//
// At most two axes are cut into tiles: slot 0 is contiguous in src, slot 1 is contiguous in dst. Either may be split into
// several grid axes, such as tiles within a band, and bands.
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

// Axes that one side walks as one, fastest first. A linear index is split over them to find an address of the other side.
struct fused_axes {
  std::int32_t rank = 0;
  struct fused_axis {
    map::fast_divisor count;
    std::int64_t stride_bytes = 0;
  } axes[map::max_axes];
};

// One item of a batch whose addresses come from a table: addresses of index 0.
struct batch_item {
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
};

}  // namespace cornerturn::gpu
