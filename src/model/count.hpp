// Counts the memory requests of a tile kernel exactly, on the host.
//
//   1. A program lists the memory instructions of one block. For each thread it has the element of the tile and the
//      offset in shared memory. The caller fills it from the kernel's own maps.
//   2. count() visits each kind of tile once. A kind is the part inside the matrix, and the offset of the first element
//      within a sector or cache line of both sides. Arrays start at multiples of 256 bytes.
//
// The order of blocks and warps does not change the counts. The rules of the machine do: lanes per warp, bytes per
// line, and the lanes that shared memory serves together.
#pragma once

#include <cstdint>
#include <vector>

#include "model/access.hpp"

namespace cornerturn::model {

enum class operation {
  global_load,
  global_store,
  async_load,   // from global to shared memory without registers: the global side
  async_store,  // from global to shared memory without registers: the shared side
  shared_load,
  shared_store,
};

enum class guard {
  none,    // every lane is active
  inside,  // lanes with an element inside the matrix
  whole,   // lanes with a whole piece of a row inside the matrix
  cut,     // lanes with an element inside the matrix, but not the whole piece
};

struct lane {
  int row = 0;  // in the tile of src
  int col = 0;
  int shared = 0;  // byte address in shared memory, if used
};

struct instruction {
  operation what = operation::global_load;
  guard when = guard::inside;
  int lane_bytes = 4;
  int piece = 1;            // whole, cut: elements of a piece
  int index = 0;            // cut: the element's index in the piece; `col` is the first column of the piece
  std::vector<lane> lanes;  // one per thread of the block
};

struct program {
  int word_bytes = 4;
  int tile_rows = 32;
  int tile_cols = 32;
  bool turns = true;  // dst is the transpose; false: a copy
  std::vector<instruction> instructions;
};

struct extents {  // contiguous packed matrices
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batch = 1;
};

struct global_count {
  std::int64_t requests = 0;
  std::int64_t lines = 0;  // sectors of 32 bytes on NVIDIA, cache lines on AMD
  std::int64_t bytes = 0;  // different bytes that the lanes of each request use
  int line_bytes = 32;

  [[nodiscard]] double lines_per_request() const;
  [[nodiscard]] double useful() const;  // used share of the lines' bytes; 0 without lines
};

struct shared_count {
  std::int64_t requests = 0;
  std::int64_t cycles = 0;  // NVIDIA's profiler calls them wavefronts
  std::int64_t conflicts = 0;

  [[nodiscard]] double conflicts_per_request() const;
};

struct traffic {
  global_count load;
  global_count store;
  global_count async_load;
  shared_count shared_load;
  shared_count shared_store;
  shared_count async_store;
};

[[nodiscard]] traffic count(const program& kernel, const extents& shape, const memory_rules& rules = {});

// The addresses of an instruction for warp `warp` of the block. tile.begin is the byte address of the tile's first
// element on the side of the instruction. tile.rows and tile.cols are the part inside the matrix.
struct tile_part {
  int rows = 0;
  int cols = 0;
  std::int64_t begin = 0;
  std::int64_t pitch_bytes = 0;  // src pitch for loads, dst pitch for stores
};
[[nodiscard]] warp_access access_of(const program& kernel, const instruction& what, int warp, const tile_part& tile,
                                    const memory_rules& rules = {});

}  // namespace cornerturn::model
