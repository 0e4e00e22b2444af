// Launchers for host code: one per rung and element size.
#pragma once

#include <span>
#include <string_view>

#include "facts.hpp"

namespace cornerturn::ladder {

struct launcher : facts {
  // Effect  starts the rung on the current device; src and dst are packed matrices; in place, dst is src
  // Returns null, or the driver's message
  const char* (*launch)(const void* src, void* dst, const matrix_shape& shape, void* stream);
};

// Returns the launchers that the current device supports.
[[nodiscard]] std::span<const launcher> launchers();
// Returns null if the current device has no such rung.
[[nodiscard]] const launcher* find_launcher(std::string_view rung, int word_bytes);

}  // namespace cornerturn::ladder
