// The rungs as the host sees them: a table of launchers, one for each rung and size of element.
#pragma once

#include <span>
#include <string_view>

#include "facts.hpp"

namespace cornerturn::ladder {

struct launcher : facts {
  // Effect  starts the rung on the current device; src and dst are packed matrices, the same one in place
  // Returns null, or what the driver said
  const char* (*launch)(const void* src, void* dst, const matrix_shape& shape, void* stream);
};

// Those that the current device can run.
[[nodiscard]] std::span<const launcher> launchers();
// Null when there is no such rung, or not on this device.
[[nodiscard]] const launcher* find_launcher(std::string_view rung, int word_bytes);

}  // namespace cornerturn::ladder
