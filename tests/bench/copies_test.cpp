#include "bench/copies.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace cornerturn::bench {
namespace {

struct freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using buffer = std::unique_ptr<std::byte, freed>;
buffer make(std::size_t bytes) { return buffer(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))); }

TEST(copies, each_kind_copies_every_byte_and_no_more) {
  constexpr std::size_t room = 128 * 1024;
  const buffer src = make(room), dst = make(room);
  for (std::size_t i = 0; i < room; ++i) src.get()[i] = static_cast<std::byte>((i * 131 + i / 251) & 0xff);
  for (const copy_kind& kind : copies()) {
    for (const std::int64_t bytes : {0, 1, 63, 64, 255, 256, 1023, 1024, 4097, 65536, 100003}) {
      for (const int threads : {1, 2, 3}) {
        std::memset(dst.get(), 0xee, room);
        parallel_copy(kind, src.get(), dst.get(), bytes, threads);
        EXPECT_EQ(std::memcmp(src.get(), dst.get(), static_cast<std::size_t>(bytes)), 0) << kind.name << " " << bytes;
        EXPECT_EQ(dst.get()[bytes], std::byte{0xee}) << kind.name << " " << bytes << " on " << threads;
      }
    }
  }
}

TEST(copies, rewrites_invert_every_byte_and_no_more) {
  constexpr std::size_t room = 128 * 1024;
  const buffer src = make(room), dst = make(room);
  for (std::size_t i = 0; i < room; ++i) src.get()[i] = static_cast<std::byte>((i * 131 + i / 251) & 0xff);
  for (const copy_kind& kind : rewrites()) {
    for (const std::int64_t bytes : {0, 1, 127, 128, 255, 256, 257, 4097, 100003}) {
      std::memcpy(dst.get(), src.get(), room);
      parallel_copy(kind, nullptr, dst.get(), bytes, 2);
      for (std::size_t i = 0; i < room; ++i) {
        const bool inside = static_cast<std::int64_t>(i) < bytes;
        ASSERT_EQ(dst.get()[i], inside ? ~src.get()[i] : src.get()[i]) << kind.name << " " << bytes << " at " << i;
      }
    }
  }
}

TEST(copies, fill_reaches_every_byte_and_no_more) {
  constexpr std::size_t room = std::size_t{3} << 20;
  const buffer dst = make(room);
  std::memset(dst.get(), 0, room);
  fill_past_cache(dst.get() + 3, (std::int64_t{2} << 20) + 7, 0x5a);
  EXPECT_EQ(dst.get()[2], std::byte{0});
  EXPECT_EQ(dst.get()[(2 << 20) + 10], std::byte{0});
  for (std::size_t i = 3; i < (std::size_t{2} << 20) + 10; ++i) ASSERT_EQ(dst.get()[i], std::byte{0x5a}) << i;
}

}  // namespace
}  // namespace cornerturn::bench
