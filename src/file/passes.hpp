// One pass or two, and the boxes of each: a pure function of the array, the memory and the speed of the disk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cornerturn/file.hpp"
#include "file/boxes.hpp"

namespace cornerturn::files {

// How the bytes of a store are arranged, for the cost of a request.
struct store_layout {
  enum class kind : std::uint8_t {
    linear,  // packed
    chunks,  // a request transfers whole chunks
    tiles,   // chunks, each packed; a request transfers a part of a chunk
  };
  kind is = kind::linear;
  box_grid::index chunk{};  // in the order of dst
  bool in_memory = false;   // no request at all
};

struct resources {
  std::int64_t memory_bytes = 0;
  int threads = 1;
  disk_speed disk{};
  store_layout src{};
  store_layout dst{};
};

// How the engine runs one pass.
struct pass {
  permuted what;
  box_grid::index box{};
  box_grid::index read_unit{};   // the part of a box that a thread reads at once
  box_grid::index write_unit{};  // contiguous in the box
  int slots = 2;                 // boxes in memory
  int threads = 1;
  std::int64_t memory_bytes = 0;
  store_layout src{};
  store_layout dst{};
  file_pass summary;
};

// One pass, or two: the first one writes tiles to a scratch file, and the second one reads parts of the tiles.
struct route {
  std::vector<pass> passes;  // empty: no bytes
  box_grid::index tile{};    // of the scratch file, in the order of dst
};

// Effect  plans the transpose between linear stores. Two passes if they are predicted to be much faster
// Errors  invalid_argument: the memory is too small; the sentence has the smallest size
[[nodiscard]] route plan_route(const permuted& what, const resources& with);

// Effect  plans one pass between stores of any layout
// Errors  as plan_route
[[nodiscard]] route plan_one_pass(const permuted& what, const resources& with);

// Effect  returns the contiguous elements of a box in an array whose axes have the order `fastest_first`
[[nodiscard]] std::int64_t run_elements(std::span<const std::int64_t> whole, std::span<const std::int64_t> box,
                                        std::span<const int> fastest_first) noexcept;

}  // namespace cornerturn::files
