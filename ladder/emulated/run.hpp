// Runs the text of a rung in the emulator: checks it, and counts its memory requests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulate/emulator.hpp"
#include "ladder/facts.hpp"

namespace cornerturn::ladder {

struct text : facts {
  int tile_rows;
  int tile_cols;
  int threads;
  int shared_bytes;
  // The block that moves an element of src, or a negative number.
  std::int64_t (*block_of)(const matrix_shape& shape, std::int64_t matrix, std::int64_t row, std::int64_t col);
  // The first fault is in session.fault.
  void (*run)(const void* src, void* dst, const matrix_shape& shape, emulated::session& session);
};

// The order of blocks and threads; wavefront: 0, or the lanes that run together.
struct run_order {
  emulated::order threads = emulated::order::forward;
  int wavefront = 0;
};

struct finding {
  std::string what;                     // a sentence; empty: the rung is right
  std::vector<emulated::touch> places;  // the accesses that it is about, the earlier one first
};

// Effect  runs the rung on a matrix whose elements all differ, with guard bytes around dst. The run stops at the first fault.
//         If dst is wrong, the finding names an element, and the stores to it
[[nodiscard]] finding check(const text& rung, const matrix_shape& shape, const run_order& order = {});

// Effect  calls `each` for every request of the rung on this shape
void for_each_request(const text& rung, const matrix_shape& shape,
                      const std::function<void(const emulated::request&)>& each);

}  // namespace cornerturn::ladder
