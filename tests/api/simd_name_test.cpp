#include "api/simd_name.hpp"

#include <gtest/gtest.h>

#include "kernels/kernel.hpp"

namespace cornerturn::api {
namespace {

TEST(simd_name, is_one_that_users_know) {
  EXPECT_EQ(simd_name("AVX3"), "AVX-512");
  EXPECT_EQ(simd_name("AVX3_ZEN4"), "AVX-512 (Zen 4)");
  EXPECT_EQ(simd_name("AVX2"), "AVX2");
  EXPECT_EQ(simd_name("NEON"), "NEON");
  for (const std::string_view target : kernels::simd_targets()) {
    EXPECT_EQ(simd_name(target).find("AVX3"), std::string::npos) << target;
  }
}

}  // namespace
}  // namespace cornerturn::api
