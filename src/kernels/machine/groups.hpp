// Rows of one group share their code and their constants in a machine file.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cornerturn::kernels {

// Returns the group of a row: the name without the parts that only change extents. A CPU row has its own group.
//         gpu_deinterleave_b2_3, gpu_interleave_b2_5    gpu_interleave_b2
//         gpu_tall_skinny_b4_512x8_r4                    gpu_skinny_b4
[[nodiscard]] inline std::string group_of(std::string_view row) {
  std::string made(row);
  const auto digits_end = [&](std::size_t at) {
    return std::min(made.find_first_not_of("0123456789", at), made.size());
  };
  if (const auto at = made.find("_deinterleave_b"); at != std::string::npos) made.erase(at + 1, 2);
  if (const auto at = made.find("_interleave_b"); at != std::string::npos) {
    const std::size_t end = digits_end(at + 13);
    if (end < made.size() && made[end] == '_' && digits_end(end + 1) > end + 1)
      made.erase(end, digits_end(end + 1) - end);
  }
  for (const std::string_view family : {"_tall_skinny_b", "_short_wide_b"}) {
    const auto at = made.find(family);
    if (at == std::string::npos || !made.starts_with("gpu_")) continue;
    // _512x8_r4 behind the bytes of an element
    const std::size_t end = digits_end(at + family.size());
    const std::size_t times = end < made.size() && made[end] == '_' ? digits_end(end + 1) : 0;
    if (times <= end + 1 || times >= made.size() || made[times] != 'x') continue;
    const std::size_t last = digits_end(times + 1);
    if (made.substr(last, 2) != "_r") continue;
    made.erase(end, digits_end(last + 2) - end);
    made.replace(at, family.size(), "_skinny_b");
  }
  return made;
}

}  // namespace cornerturn::kernels
