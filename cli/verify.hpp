// Reads an output file back and compares every element with the input, index by index. It shares no code with the
// library or with file_move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npy.hpp"

namespace cornerturn::cli {

// Effect  returns an index of the output (not necessarily the lowest) with an element that differs from the input, or
//         nothing. `in_data` and `out_data` are the data of the two files, without headers.
[[nodiscard]] std::optional<std::vector<std::int64_t>> find_difference(
    const npy_header& in, const std::byte* in_data, const npy_header& out, const std::byte* out_data,
    std::span<const int> axes, int threads, const std::function<void(std::int64_t)>& progress);

}  // namespace cornerturn::cli
