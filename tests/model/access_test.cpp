#include "model/access.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

namespace cornerturn::model {
namespace {

warp_access made(int lane_bytes, const std::function<std::int64_t(int)>& address, std::uint32_t active = ~0u) {
  warp_access access;
  access.lane_bytes = lane_bytes;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if ((active >> lane & 1) != 0) access.set(lane, address(lane));
  }
  return access;
}

TEST(access, sectors_of_rows_and_columns) {
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4 * lane; })), 4);
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4 * lane + 20; })), 5);
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4096 * lane; })), 32);
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4096 * (31 - lane); })), 32);
  EXPECT_EQ(sectors(made(16, [](int lane) { return 16 * lane; })), 16);
  EXPECT_EQ(sectors(made(16, [](int lane) { return 16 * lane + 16; })), 17);
  EXPECT_EQ(sectors(made(1, [](int lane) { return lane; })), 1);
  EXPECT_EQ(sectors(made(4, [](int) { return 64; })), 1);
  EXPECT_EQ(sectors(made(
                4, [](int lane) { return 4096 * lane; }, 0b1001)),
            2);
  EXPECT_EQ(sectors(made(
                4, [](int lane) { return 4096 * lane; }, 0)),
            0);
}

TEST(access, lanes_out_of_order_share_sectors) {
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4 * (lane * 7 % 32); })), 4);
  EXPECT_EQ(sectors(made(8, [](int lane) { return 8 * (lane ^ 21); })), 8);
}

TEST(access, conflicts_of_four_byte_accesses) {
  const auto conflicts = [](int stride) {
    return shared_wavefronts(made(4, [=](int lane) { return 4 * stride * lane; })).conflicts;
  };
  EXPECT_EQ(conflicts(1), 0);
  EXPECT_EQ(conflicts(2), 1);
  EXPECT_EQ(conflicts(8), 7);
  EXPECT_EQ(conflicts(32), 31);
  EXPECT_EQ(conflicts(33), 0);
  EXPECT_EQ(conflicts(0), 0);  // one word for all is one wavefront
}

TEST(access, narrow_accesses_share_words) {
  EXPECT_EQ(shared_wavefronts(made(2, [](int lane) { return 2 * lane; })).taken, 1);
  EXPECT_EQ(shared_wavefronts(made(1, [](int lane) { return lane; })).taken, 1);
  EXPECT_EQ(shared_wavefronts(made(1, [](int lane) { return 128 * lane; })).taken, 32);
  EXPECT_EQ(shared_wavefronts(made(2, [](int lane) { return 128 * (lane / 2) + 2 * (lane % 2); })).taken, 16);
}

TEST(access, wide_accesses_go_in_phases) {
  const wavefronts eight = shared_wavefronts(made(8, [](int lane) { return 8 * lane; }));
  EXPECT_EQ(eight.taken, 2);
  EXPECT_EQ(eight.conflicts, 0);
  const wavefronts sixteen = shared_wavefronts(made(16, [](int lane) { return 16 * lane; }));
  EXPECT_EQ(sixteen.taken, 4);
  EXPECT_EQ(sixteen.conflicts, 0);
  // Lanes of different phases never meet.
  EXPECT_EQ(shared_wavefronts(made(16, [](int lane) { return 128 * (lane / 8) + 16 * (lane % 8); })).conflicts, 0);
  EXPECT_EQ(shared_wavefronts(made(16, [](int lane) { return 128 * lane; })).conflicts, 28);
  EXPECT_EQ(shared_wavefronts(made(8, [](int lane) { return 128 * lane; })).conflicts, 30);
}

TEST(access, a_phase_without_lanes_takes_no_time) {
  const wavefronts first = shared_wavefronts(made(
      16, [](int lane) { return 16 * lane; }, 0xff));
  EXPECT_EQ(first.taken, 1);
  EXPECT_EQ(first.conflicts, 0);
  EXPECT_EQ(shared_wavefronts(made(
                                  4, [](int lane) { return lane; }, 0))
                .taken,
            0);
}

TEST(access, loads_of_8_bytes_are_served_by_half_warps_or_by_every_other_pair) {
  // Lane l of a half wants byte 144 * l, and that of the other half lies `apart` bytes behind it.
  const auto of_halves = [](std::uint32_t half, std::int64_t apart, bool stores) {
    warp_access access = made(
        8, [=](int lane) { return 144 * (lane % 16) + apart * (lane / 16); }, half | half << 16);
    access.stores = stores;
    return shared_wavefronts(access).taken;
  };
  EXPECT_EQ(of_halves(1, 8, false), 1);
  EXPECT_EQ(of_halves(3, 8, false), 1);
  EXPECT_EQ(of_halves(3, 8, true), 2);     // a store
  EXPECT_EQ(of_halves(7, 8, false), 2);    // the third lane is of the other pair
  EXPECT_EQ(of_halves(1, 128, false), 2);  // one bank, two words
}

// Word by word and with containers: what the definitions in access.hpp say.
TEST(access, agrees_with_the_definition) {
  std::uint32_t state = 1;
  const auto random = [&state] { return state = state * 1664525 + 1013904223; };
  for (int round = 0; round < 20000; ++round) {
    const int lane_bytes = 1 << random() / 65536 % 5;
    const std::uint32_t active = round % 3 == 0 ? ~0u : random() ^ random() >> 16;
    const std::uint32_t stride = 1 + random() / 65536 % 80, key = random() / 65536 % 32;
    warp_access access = made(
        lane_bytes, [&](int lane) { return lane_bytes * ((lane * stride) ^ (round % 2 == 0 ? 0 : key)); }, active);
    std::set<std::int64_t> touched;
    int taken = 0, conflicts = 0;
    for (int first = 0; first < warp_lanes; first += phase_lanes(lane_bytes)) {
      std::map<std::int64_t, std::set<std::int64_t>> words_of_bank;
      for (int lane = first; lane < first + phase_lanes(lane_bytes); ++lane) {
        if ((active >> lane & 1) == 0) continue;
        for (int byte = 0; byte < lane_bytes; ++byte) {
          const std::int64_t at = access.address[static_cast<std::size_t>(lane)] + byte;
          touched.insert(at / 32);
          words_of_bank[at / 4 % 32].insert(at / 4);
        }
      }
      std::size_t most = 0;
      for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
      taken += static_cast<int>(most);
      conflicts += most > 0 ? static_cast<int>(most) - 1 : 0;
    }
    access.stores = true;
    ASSERT_EQ(sectors(access), static_cast<int>(touched.size())) << "round " << round;
    ASSERT_EQ(shared_wavefronts(access).taken, taken) << "round " << round;
    access.stores = false;
    if (lane_bytes != 8) {
      ASSERT_EQ(shared_wavefronts(access).taken, taken) << "round " << round;
    }
    ASSERT_EQ(shared_wavefronts(access).conflicts, conflicts) << "round " << round;
  }
}

}  // namespace
}  // namespace cornerturn::model
