#include "model/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <set>

namespace cornerturn::model {
namespace {

constexpr memory_rules gfx90a{64, 64, phase_rule::amd}, gfx942{64, 128, phase_rule::amd},
    gfx1100{32, 128, phase_rule::amd};

// The default is a warp of NVIDIA.
warp_access made(int lane_bytes, const std::function<std::int64_t(int)>& address, lane_mask active = 0xffffffff) {
  warp_access access;
  access.lane_bytes = lane_bytes;
  for (int lane = 0; lane < most_lanes; ++lane) {
    if ((active >> lane & 1) != 0) access.set(lane, address(lane));
  }
  return access;
}

int sectors(const warp_access& access) { return lines(access, 32); }

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

TEST(access, a_byte_of_two_lanes_is_used_once) {
  EXPECT_EQ(used_bytes(made(4, [](int lane) { return 4 * lane; })), 128);
  EXPECT_EQ(used_bytes(made(4, [](int lane) { return lane / 4 * 64; })), 8 * 4);
  EXPECT_EQ(used_bytes(made(16, [](int lane) { return 16 * (lane % 5); })), 5 * 16);
  EXPECT_EQ(used_bytes(made(
                8, [](int) { return 64; }, 0)),
            0);
}

TEST(access, lanes_out_of_order_share_sectors) {
  EXPECT_EQ(sectors(made(4, [](int lane) { return 4 * (lane * 7 % 32); })), 4);
  EXPECT_EQ(sectors(made(8, [](int lane) { return 8 * (lane ^ 21); })), 8);
}

TEST(access, conflicts_of_four_byte_accesses) {
  const auto conflicts = [](int stride) {
    return shared_cycles(made(4, [=](int lane) { return 4 * stride * lane; })).conflicts;
  };
  EXPECT_EQ(conflicts(1), 0);
  EXPECT_EQ(conflicts(2), 1);
  EXPECT_EQ(conflicts(8), 7);
  EXPECT_EQ(conflicts(32), 31);
  EXPECT_EQ(conflicts(33), 0);
  EXPECT_EQ(conflicts(0), 0);  // one word for all takes one cycle
}

TEST(access, narrow_accesses_share_words) {
  EXPECT_EQ(shared_cycles(made(2, [](int lane) { return 2 * lane; })).taken, 1);
  EXPECT_EQ(shared_cycles(made(1, [](int lane) { return lane; })).taken, 1);
  EXPECT_EQ(shared_cycles(made(1, [](int lane) { return 128 * lane; })).taken, 32);
  EXPECT_EQ(shared_cycles(made(2, [](int lane) { return 128 * (lane / 2) + 2 * (lane % 2); })).taken, 16);
}

TEST(access, wide_accesses_go_in_phases) {
  const bank_cycles eight = shared_cycles(made(8, [](int lane) { return 8 * lane; }));
  EXPECT_EQ(eight.taken, 2);
  EXPECT_EQ(eight.conflicts, 0);
  const bank_cycles sixteen = shared_cycles(made(16, [](int lane) { return 16 * lane; }));
  EXPECT_EQ(sixteen.taken, 4);
  EXPECT_EQ(sixteen.conflicts, 0);
  // Lanes of different phases never conflict.
  EXPECT_EQ(shared_cycles(made(16, [](int lane) { return 128 * (lane / 8) + 16 * (lane % 8); })).conflicts, 0);
  EXPECT_EQ(shared_cycles(made(16, [](int lane) { return 128 * lane; })).conflicts, 28);
  EXPECT_EQ(shared_cycles(made(8, [](int lane) { return 128 * lane; })).conflicts, 30);
}

TEST(access, a_phase_without_lanes_takes_no_time) {
  const bank_cycles first = shared_cycles(made(
      16, [](int lane) { return 16 * lane; }, 0xff));
  EXPECT_EQ(first.taken, 1);
  EXPECT_EQ(first.conflicts, 0);
  EXPECT_EQ(shared_cycles(made(
                              4, [](int lane) { return lane; }, 0))
                .taken,
            0);
}

TEST(access, loads_of_8_bytes_are_served_by_half_warps_or_by_every_other_pair) {
  // Lane l of one half loads byte 144 * l. Lane l of the second half loads the byte that is `apart` bytes higher.
  const auto of_halves = [](std::uint32_t half, std::int64_t apart, bool stores) {
    warp_access access = made(
        8, [=](int lane) { return 144 * (lane % 16) + apart * (lane / 16); }, half | half << 16);
    access.stores = stores;
    return shared_cycles(access).taken;
  };
  EXPECT_EQ(of_halves(1, 8, false), 1);
  EXPECT_EQ(of_halves(3, 8, false), 1);
  EXPECT_EQ(of_halves(3, 8, true), 2);     // a store
  EXPECT_EQ(of_halves(7, 8, false), 2);    // the third lane is of the other pair
  EXPECT_EQ(of_halves(1, 128, false), 2);  // one bank, two words
}

TEST(access, wide_loads_of_lanes_that_share_addresses_merge_phases) {
  const auto taken = [](int lane_bytes, const std::function<std::int64_t(int)>& address, bool stores = false) {
    warp_access access = made(lane_bytes, address);
    access.stores = stores;
    return shared_cycles(access).taken;
  };
  const auto half = [](int lane) { return std::int64_t{32} * (lane / 16); };
  EXPECT_EQ(taken(8, half), 1);  // two words: one for each half-warp
  EXPECT_EQ(taken(8, half, true), 2);
  EXPECT_EQ(taken(16, half), 2);  // a half-warp is one phase
  EXPECT_EQ(taken(16, half, true), 4);
  EXPECT_EQ(taken(8, [](int lane) { return 8 * (lane / 2); }), 1);                 // lane ^ 1
  EXPECT_EQ(taken(8, [](int lane) { return 8 * (lane / 4 * 2 + lane % 2); }), 1);  // lane ^ 2
  EXPECT_EQ(taken(8, [](int lane) { return 8 * (lane < 2 ? 0 : lane / 2); }), 1);  // of two lanes, either condition
  EXPECT_EQ(taken(8, [](int lane) { return 8 * (lane / 8 * 4 + lane % 4); }), 2);  // lane ^ 4: no phases merge
  EXPECT_EQ(taken(8, [](int lane) { return 128 * (lane / 16); }), 2);              // one bank, two words
  EXPECT_EQ(taken(16, [](int lane) { return 16 * (lane / 2); }), 2);
  EXPECT_EQ(taken(16, [](int lane) { return 16 * lane; }), 4);
}

TEST(access, wavefronts_of_64_lanes_touch_cache_lines) {
  const lane_mask all = ~lane_mask{0};
  EXPECT_EQ(lines(made(
                      4, [](int lane) { return 4 * lane; }, all),
                  64),
            4);
  EXPECT_EQ(lines(made(
                      4, [](int lane) { return 4 * lane; }, all),
                  128),
            2);
  EXPECT_EQ(lines(made(
                      16, [](int lane) { return 16 * lane; }, all),
                  128),
            8);
  EXPECT_EQ(lines(made(
                      4, [](int lane) { return 4096 * lane; }, all),
                  64),
            64);
  EXPECT_EQ(lines(made(
                      4, [](int lane) { return 4096 * (lane % 16) + 4 * (lane / 16); }, all),
                  128),
            16);
}

// The conflicts that rocprof counted on an MI300X for 64 loads whose lanes are `stride` bytes apart, by
// nod-ai/amd-shark-ai, docs/empirical-lds/cdna3info.md.
TEST(access, conflicts_that_were_counted_on_an_mi300x) {
  const auto counted = [](int lane_bytes, int stride) {
    return 64 * shared_cycles(made(
                                  lane_bytes, [=](int lane) { return stride * lane; }, ~lane_mask{0}),
                              gfx942)
                    .conflicts;
  };
  const int of_4_bytes[] = {0, 128, 384, 896, 1920, 3968, 3968, 3968};
  for (int k = 0; k < 8; ++k) EXPECT_EQ(counted(4, 4 << k), of_4_bytes[k]) << (4 << k);
  const int of_8_bytes[] = {0, 256, 768, 1792, 3840, 3840, 3840};
  for (int k = 0; k < 7; ++k) EXPECT_EQ(counted(8, 8 << k), of_8_bytes[k]) << (8 << k);
  const int of_16_bytes[] = {0, 512, 1536, 3584, 3584, 3584};
  for (int k = 0; k < 6; ++k) EXPECT_EQ(counted(16, 16 << k), of_16_bytes[k]) << (16 << k);
}

// ROCm Compute Profiler, "LDS examples": one lane takes two cycles on an MI250, two lanes in one bank take three.
TEST(access, phases_without_lanes_take_a_cycle_on_amd) {
  const auto cycles = [](lane_mask active) {
    return shared_cycles(made(
                             4, [](int lane) { return 128 * lane; }, active),
                         gfx90a);
  };
  EXPECT_EQ(cycles(1).taken, 2);
  EXPECT_EQ(cycles(1).conflicts, 0);
  EXPECT_EQ(cycles(3).taken, 3);
  EXPECT_EQ(cycles(3).conflicts, 1);
  EXPECT_EQ(cycles(0).taken, 0);
}

// Lanes a and b of a 16-byte load conflict if they are of one phase, and only then.
TEST(access, lanes_of_one_phase_of_amd) {
  const auto conflict = [](int a, int b, bool stores, const memory_rules& rules) {
    warp_access access;
    access.lane_bytes = 16;
    access.stores = stores;
    access.set(a, 0);
    access.set(b, 128);
    return shared_cycles(access, rules).conflicts > 0;
  };
  const auto phase_of_load = [](int lane) {  // 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31, 12-15 with 24-27
    const int four = lane / 4 % 8;
    return lane / 32 * 4 + (four < 4 ? four : (four - 4) ^ 1);
  };
  for (const memory_rules& rules : {gfx90a, gfx942, gfx1100}) {
    for (int a = 0; a < rules.lanes; ++a) {
      for (int b = 0; b < rules.lanes; ++b) {
        if (a == b) continue;
        EXPECT_EQ(conflict(a, b, false, rules), phase_of_load(a) == phase_of_load(b)) << a << ", " << b;
        EXPECT_EQ(conflict(a, b, true, rules), a / 8 == b / 8) << a << ", " << b;
      }
    }
  }
}

TEST(access, phases_are_a_partition_of_the_lanes) {
  for (const memory_rules& rules : {memory_rules{}, gfx90a, gfx942, gfx1100}) {
    for (const int lane_bytes : {1, 2, 4, 8, 16}) {
      for (const bool stores : {false, true}) {
        lane_mask all = 0;
        for (const lane_mask phase : phases_of(lane_bytes, stores, rules)) {
          EXPECT_EQ(all & phase, 0u);
          EXPECT_EQ(std::popcount(phase) * std::max(lane_bytes, 4), banks * bank_bytes);
          all |= phase;
        }
        EXPECT_EQ(all, rules.lanes == 64 ? ~lane_mask{0} : 0xffffffff);
      }
    }
  }
}

// The definitions in access.hpp, word by word and with containers.
TEST(access, agrees_with_the_definition) {
  std::uint64_t state = 1;
  const auto random = [&state] { return static_cast<std::uint32_t>((state = state * 6364136223846793005u + 1) >> 33); };
  const memory_rules machines[] = {{}, gfx90a, gfx942, gfx1100};
  for (int round = 0; round < 20000; ++round) {
    const memory_rules& rules = machines[round / 2 % 4];
    const int lane_bytes = 1 << random() % 5;
    const lane_mask every = rules.lanes == 64 ? ~lane_mask{0} : 0xffffffff;
    const lane_mask some = (lane_mask{random()} << 33) ^ (lane_mask{random()} << 11) ^ random();
    const lane_mask active = round % 3 == 0 ? every : some & every;
    const std::uint32_t stride = 1 + random() % 80, key = random() % 32;
    warp_access access = made(
        lane_bytes, [&](int lane) { return lane_bytes * ((lane * stride) ^ (round % 2 == 0 ? 0 : key)); }, active);
    const auto counted = [&](bool stores) {
      bank_cycles sum;
      for (const lane_mask phase : phases_of(lane_bytes, stores, rules)) {
        std::map<std::int64_t, std::set<std::int64_t>> words_of_bank;
        for (int lane = 0; lane < rules.lanes; ++lane) {
          if ((active & phase) >> lane == 0 || ((active & phase) >> lane & 1) == 0) continue;
          for (int byte = 0; byte < lane_bytes; ++byte) {
            const std::int64_t at = access.address[static_cast<std::size_t>(lane)] + byte;
            words_of_bank[at / 4 % 32].insert(at / 4);
          }
        }
        std::size_t most = 0;
        for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
        const bool costs = most == 0 && rules.phases == phase_rule::amd && active != 0;
        sum.taken += costs ? 1 : static_cast<int>(most);
        sum.conflicts += most > 0 ? static_cast<int>(most) - 1 : 0;
      }
      return sum;
    };
    const auto agree = [&](int first, int count) {
      return std::ranges::any_of(std::array{1, 2}, [&](int apart) {
        for (int lane = first; lane < first + count; ++lane) {
          const int partner = lane ^ apart;
          if ((active >> lane & 1) == 0 || (active >> partner & 1) == 0) continue;
          if (access.address[static_cast<std::size_t>(lane)] != access.address[static_cast<std::size_t>(partner)])
            return false;
        }
        return true;
      });
    };
    std::set<std::int64_t> touched;
    for (int lane = 0; lane < rules.lanes; ++lane) {
      for (int byte = 0; (active >> lane & 1) != 0 && byte < lane_bytes; ++byte) {
        touched.insert((access.address[static_cast<std::size_t>(lane)] + byte) / rules.line_bytes);
      }
    }
    ASSERT_EQ(lines(access, rules.line_bytes), static_cast<int>(touched.size())) << "round " << round;
    for (const bool stores : {true, false}) {
      access.stores = stores;
      const bank_cycles found = shared_cycles(access, rules), wanted = counted(stores);
      const bool merges = lane_bytes == 16 ? agree(0, 16) || agree(16, 16) : lane_bytes == 8;
      if (stores || !merges || rules.phases == phase_rule::amd) {
        ASSERT_EQ(found.taken, wanted.taken) << "round " << round;
      }
      ASSERT_EQ(found.conflicts, wanted.conflicts) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace cornerturn::model
