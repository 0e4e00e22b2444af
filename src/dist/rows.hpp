// A packed box and its place in dst, as copies of equal rows: the words of a copy engine.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/boxes.hpp"

namespace cornerturn::distributed {

// Copy k reads rows packed at k * rows * row, and writes them `pitch` apart at dst_offsets[k]. All in elements.
struct row_copies {
  std::int64_t row = 1, rows = 1, pitch = 0;
  std::vector<std::int64_t> dst_offsets{};  // from the first element of the box
};

// Requires  order_by(dst, one)
[[nodiscard]] row_copies rows_of(const box& one, const strides& dst);

}  // namespace cornerturn::distributed
