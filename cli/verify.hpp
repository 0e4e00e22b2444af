// Compares each element of an output, or a sample, with the input, by the arithmetic of indices. It shares no code with the kernels, the planner
// and the engine: it cuts boxes of its own, reads both sides, and compares element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cornerturn/file.hpp"
#include "npy.hpp"

namespace cornerturn::cli {

struct compare_options {
  std::int64_t memory_bytes = 0;  // of all buffers; a source in memory has none
  int threads = 1;
  std::int64_t sample_bytes = 0;  // compares about so many bytes, in boxes at random places; 0: all
  std::function<void(std::int64_t bytes)> progress{};
};

// Effect  returns an index of the output (not necessarily the lowest) with an element that differs from the input, or
//         nothing. The two sources have the data of the files, without headers. A sample has a box of each part of the output
// Errors  the exceptions of the sources
[[nodiscard]] std::optional<std::vector<std::int64_t>> find_difference(const npy_header& in, byte_source& in_data,
                                                                       const npy_header& out, byte_source& out_data,
                                                                       std::span<const int> axes,
                                                                       const compare_options& how);

}  // namespace cornerturn::cli
