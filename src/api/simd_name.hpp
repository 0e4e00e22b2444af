// Highway calls AVX-512 AVX3, a name that no other documentation has.
#pragma once

#include <string>
#include <string_view>

namespace cornerturn::api {

[[nodiscard]] inline std::string simd_name(std::string_view target) {
  if (target == "AVX3") return "AVX-512";
  if (target == "AVX3_DL") return "AVX-512 (Ice Lake)";
  if (target == "AVX3_ZEN4") return "AVX-512 (Zen 4)";
  if (target == "AVX3_SPR") return "AVX-512 (Sapphire Rapids)";
  return std::string(target);
}

}  // namespace cornerturn::api
