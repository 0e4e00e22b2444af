// What a tile kernel asks of memory, counted exactly on the host.
//
//   1. A program lists the memory instructions of one block: for each thread the element of the tile that it loads or
//      stores and its offset in shared memory. The owner of the kernel's maps fills it by calling them.
//   2. count() visits each kind of tile once: whole or cut at an edge, and by the offset of its first element within a
//      sector or cache line of either side. Arrays begin at multiples of 256 bytes.
//
// Block order, and which warp comes first, change none of these numbers. The machine does: its rules say how many lanes a
// warp has, how long a line is and which lanes shared memory serves together.
#pragma once

#include <cstdint>
#include <vector>

#include "model/access.hpp"

namespace cornerturn::model {

enum class operation {
  global_load,
  global_store,
  async_load,   // from global to shared memory without registers: the global side
  async_store,  // ... the shared side
  shared_load,
  shared_store,
};

enum class guard {
  none,    // every lane is active
  inside,  // lanes whose element is inside the matrix
  whole,   // lanes whose piece of a row is inside to its last element
  cut,     // lanes whose element is inside, but not the whole piece
};

struct lane {
  int row = 0;  // in the tile of src
  int col = 0;
  int shared = 0;  // byte address, where the instruction uses it
};

struct instruction {
  operation what = operation::global_load;
  guard when = guard::inside;
  int lane_bytes = 4;
  int piece = 1;            // whole, cut: elements of a piece
  int index = 0;            // cut: which of them this one is; `col` is that of the piece
  std::vector<lane> lanes;  // of every thread of the block
};

struct program {
  int word_bytes = 4;
  int tile_rows = 32;
  int tile_cols = 32;
  bool turns = true;  // dst is the transpose; false: a copy
  std::vector<instruction> instructions;
};

struct extents {  // packed matrices, one behind the other
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batch = 1;
};

struct global_count {
  std::int64_t requests = 0;
  std::int64_t lines = 0;  // sectors of 32 bytes on NVIDIA, cache lines on AMD
  std::int64_t bytes = 0;  // that the lanes asked for
  int line_bytes = 32;

  [[nodiscard]] double lines_per_request() const;
  [[nodiscard]] double useful() const;  // share of the lines' bytes; 0 when there are none
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

// The addresses of an instruction for one warp of one tile: `warp` of the block, the tile's first element at byte `begin`
// of the side that the instruction uses, `rows` and `cols` of the tile inside the matrix.
struct tile_part {
  int rows = 0;
  int cols = 0;
  std::int64_t begin = 0;
  std::int64_t pitch_bytes = 0;  // of src for loads, of dst for stores
};
[[nodiscard]] warp_access access_of(const program& kernel, const instruction& what, int warp, const tile_part& tile,
                                    const memory_rules& rules = {});

}  // namespace cornerturn::model
