#include "kernels/machine/groups.hpp"

#include <gtest/gtest.h>

namespace cornerturn::kernels {
namespace {

TEST(groups, have_the_name_without_extents) {
  EXPECT_EQ(group_of("gpu_deinterleave_b2_3"), "gpu_interleave_b2");
  EXPECT_EQ(group_of("gpu_interleave_b16_8"), "gpu_interleave_b16");
  EXPECT_EQ(group_of("gpu_unaligned_deinterleave_b1_5"), "gpu_unaligned_interleave_b1");
  EXPECT_EQ(group_of("gpu_tall_skinny_b4_512x8_r4"), "gpu_skinny_b4");
  EXPECT_EQ(group_of("gpu_short_wide_b2_16x512_r8"), "gpu_skinny_b2");
  EXPECT_EQ(group_of("gpu_tile_b4_64x64_r4_xor"), "gpu_tile_b4_64x64_r4_xor");
  EXPECT_EQ(group_of("cpu_tall_skinny_b4"), "cpu_tall_skinny_b4");
  for (const char* name :
       {"", "gpu_interleave_b", "gpu_interleave_b2_", "gpu_tall_skinny_b4_512x", "gpu_short_wide_b"}) {
    EXPECT_EQ(group_of(name), name) << "no extents";
  }
}

}  // namespace
}  // namespace cornerturn::kernels
