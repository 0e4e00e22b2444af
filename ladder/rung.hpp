// The base of all rungs: types for tiles, the kernel arguments, and the default block order.
//
//   A rung is a struct of constexpr maps and a function move(). The kernel calls the maps on the device. The model
//   calls them on the host to count sectors and bank conflicts:
//
//     read(thread, step)    the first element of src that a thread loads, relative to the tile; equal for all tiles
//     place({row, col})     the byte offset of an element in shared memory
//     write(thread, step)   the first element that a thread stores to dst, as its coordinate in src
//     tile_of(block)        the tile of a block
//
//   An access has `width` elements: along a row for read, along a column for write. A rung without shared memory has
//   element(thread) instead of read and write. move() is the body of the kernel.
#pragma once

#include <cstdint>

#include "map/host_device.hpp"

#define RUNG_MAP CORNERTURN_HOST_DEVICE static constexpr

namespace cornerturn::ladder {

struct at {  // an element of a tile, by its row and column in src
  int row;
  int col;
};

struct arguments {  // kernel arguments of every rung
  const unsigned char* src;
  unsigned char* dst;
  std::int64_t rows;  // of src; src has leading dimension cols, dst has leading dimension rows
  std::int64_t cols;
  std::int64_t batch;        // number of contiguous matrices; 1 for rungs that are not batched
  std::uint32_t tiles_down;  // tiles in a column of tiles of src
  std::uint32_t tiles_across;
};

struct tile {
  std::int64_t matrix;
  std::uint32_t down;
  std::uint32_t across;
};

template <int WordBytes>
struct rung {
  static constexpr int word_bytes = WordBytes;
  static constexpr int width = 1;              // elements of one access to global memory
  static constexpr int steps = 1;              // accesses of one thread, per side
  static constexpr int shared_bytes = 0;       // per block
  static constexpr bool whole_pieces = false;  // the `width` elements of a read are contiguous in shared memory

  static constexpr int least_word_bytes = 1;
  static constexpr bool is_copy = false;  // dst = src: the roof and its control
  static constexpr bool is_batched = false;
  static constexpr bool is_in_place = false;      // dst is src, a square matrix
  static constexpr bool is_asynchronous = false;  // copies from global to shared memory without registers
  static constexpr bool tensor_load = false;      // the tensor memory accelerator loads the tile
  static constexpr bool tensor_store = false;     // the tensor memory accelerator stores the tile
  static constexpr bool is_production = false;    // the library's own kernel
  static constexpr int resident_threads = 0;  // threads that must fit a multiprocessor; 0: `resident_blocks` chooses
  static constexpr int held = 0;              // accesses that a thread has in flight; 0: `steps`
  static constexpr int src_row_multiple = 1;  // bytes of a row of src must be a multiple of this
  static constexpr int dst_row_multiple = 1;
  static constexpr int least_compute = 0;  // such as 90: sm_90 and later

  // Consecutive blocks process adjacent tiles of a row of tiles.
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    return {0, block / a.tiles_across, block % a.tiles_across};
  }
  RUNG_MAP std::int64_t blocks(const arguments& a) { return a.batch * a.tiles_down * a.tiles_across; }
};

// Minimum resident blocks per multiprocessor. By default they have 2048 threads, which leaves 32 registers per thread
// on NVIDIA. Pieces of 8 and 16 elements need more registers.
template <class Rung>
inline constexpr int resident_blocks = (Rung::resident_threads > 0 ? Rung::resident_threads
                                        : Rung::word_bytes * Rung::width == 16 && Rung::word_bytes < 4 && !Rung::is_copy
                                            ? 512
                                            : 2048) /
                                       Rung::threads;

}  // namespace cornerturn::ladder
