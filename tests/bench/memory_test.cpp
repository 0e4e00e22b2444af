#include "bench/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace cornerturn::bench {
namespace {

TEST(memory, pairs_are_enough_and_do_not_touch) {
  memory pool(false, std::int64_t{1} << 20);  // a small LLC: the rotation is 1 GiB
  const std::int64_t bytes = (std::int64_t{40} << 20) + 12345;
  const auto pairs = pool.pairs(bytes);
  ASSERT_GE(pairs.size(), 2U);
  const auto other = static_cast<std::int64_t>(pairs.size() - 1) * 2 * bytes;
  if (other < std::int64_t{1} << 30) GTEST_SKIP() << "this machine has too little free memory to rotate 1 GiB";
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    EXPECT_GE(pairs[i].src - pairs[i - 1].src, bytes);
    EXPECT_GE(pairs[i].dst - pairs[i - 1].dst, bytes + guard_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pairs[i].dst) % 4096, 0U);
  }
}

TEST(memory, sources_are_finite_normal_floats_and_never_the_poison) {
  memory pool(false, 0);
  const buffer_pair one = pool.pair(std::int64_t{1} << 20);
  for (int i = 0; i < 100000; ++i) {
    float value;
    std::memcpy(&value, one.src + i * 4, 4);
    ASSERT_TRUE(std::isnormal(value)) << i;
    ASSERT_NE(one.src[i], std::byte{0x5a});
  }
}

TEST(memory, refill_restores_a_source) {
  memory pool(false, 0);
  const buffer_pair one = pool.pair(std::int64_t{1} << 20);
  const std::vector<std::byte> before(one.src, one.src + 1000);
  std::memset(one.src, 0, 1000);
  pool.refill(one.src, 1000);
  EXPECT_EQ(std::memcmp(before.data(), one.src, 1000), 0);
}

TEST(memory, guards_notice_a_write_next_to_dst) {
  memory pool(false, 0);
  const std::int64_t bytes = (std::int64_t{1} << 20) + 3;
  const buffer_pair on = pool.pair(bytes);
  memory::poison(on.dst, bytes);
  EXPECT_TRUE(memory::guards_intact(on.dst, bytes));
  on.dst[0] = std::byte{1};
  on.dst[bytes - 1] = std::byte{1};
  EXPECT_TRUE(memory::guards_intact(on.dst, bytes));
  on.dst[bytes] = std::byte{1};
  EXPECT_FALSE(memory::guards_intact(on.dst, bytes));
  memory::poison(on.dst, bytes);
  on.dst[-1] = std::byte{1};
  EXPECT_FALSE(memory::guards_intact(on.dst, bytes));
}

TEST(memory, small_pairs_take_no_more_than_large_ones) {
  memory pool(false, 0);
  EXPECT_LE(pool.pairs(48).size() * 2 * 8192, std::size_t{1} << 30);
}

TEST(memory, says_when_a_pair_does_not_fit) {
  memory pool(false, 0);
  EXPECT_THROW(static_cast<void>(pool.pairs(std::int64_t{1} << 50)), std::runtime_error);
}

}  // namespace
}  // namespace cornerturn::bench
