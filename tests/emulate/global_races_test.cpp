// Races through global memory: each planted mistake is found in every order of blocks, and a correct kernel has none.
#include "emulate/global_races.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "emulate/emulator.hpp"
#include "planted.hpp"

namespace cornerturn::testing::global_races_test {
namespace {

using emulated::global_races;
using emulated::knowledge;
using emulated::moment;
using emulated::order;

constexpr std::uint32_t blocks = 5;
constexpr order orders[] = {order::forward, order::backward, order::shuffled};

struct way {
  order threads = order::forward;
  int resident = blocks;
  std::uint64_t seed = 1;
  bool counts = false;
};

struct result {
  std::string fault;
  bool moved = false;
};

result run(flag_mistake made, const way& how) {
  constexpr std::size_t size = blocks * planted_block_bytes;
  std::vector<unsigned char> data(size);
  for (std::size_t k = 0; k < size; ++k) data[k] = static_cast<unsigned char>(k * 7 + k / 256);
  const std::vector<unsigned char> before = data;
  std::vector<std::uint32_t> flags(blocks, 0);
  emulated::session running;
  running.threads = how.threads;
  running.resident = how.resident;
  running.seed = how.seed;
  running.src = running.dst = {data.data(), data.data() + size};
  running.flags = {flags.data(), flags.data() + flags.size()};
  const planted_flag_args args{data.data(), flags.data(), blocks, made, how.counts};
  launch_planted_flags(&args, blocks, planted_shared_bytes, &running);
  result found{running.fault, true};
  for (std::uint32_t word = 0; word < blocks * planted_threads; ++word) {
    const std::uint32_t to = (word + planted_threads) % (blocks * planted_threads);
    const std::uint32_t turned = to / planted_threads * planted_threads + planted_threads - 1 - to % planted_threads;
    found.moved = found.moved && std::memcmp(data.data() + 4 * turned, before.data() + 4 * word, 4) == 0;
  }
  return found;
}

constexpr char race[] = "nothing orders the read before the write";

TEST(global_races, a_kernel_without_mistakes_moves_in_any_order) {
  for (const order threads : orders) {
    for (const bool counts : {false, true}) {
      for (std::uint64_t seed = 1; seed < 20; ++seed) {
        const result found = run(flag_mistake::none, {threads, blocks, seed, counts});
        EXPECT_EQ(found.fault, "");
        EXPECT_TRUE(found.moved);
      }
    }
  }
}

TEST(global_races, blocks_that_wait_for_each_other_need_each_other) {
  const result found = run(flag_mistake::none, {order::forward, 1});
  EXPECT_NE(found.fault.find("waits for a flag"), std::string::npos) << found.fault;
}

TEST(global_races, a_signal_that_nobody_sends_ends_the_run) {
  for (const order threads : orders) {
    for (const bool counts : {false, true}) {
      const std::string fault = run(flag_mistake::no_signal, {threads, blocks, 1, counts}).fault;
      EXPECT_NE(fault.find("which no block will do"), std::string::npos) << fault;
    }
  }
}

// In shuffled order a store may even come before the load. Then the load is the fault.
TEST(global_races, finds_loads_and_stores_that_nothing_orders) {
  for (const flag_mistake made :
       {flag_mistake::no_barrier_before_signal, flag_mistake::no_barrier_after_wait, flag_mistake::no_wait,
        flag_mistake::wait_for_another_flag, flag_mistake::copy_ends_after_signal, flag_mistake::no_barrier_in_block}) {
    for (const order threads : orders) {
      for (std::uint64_t seed = 1; seed < 10; ++seed) {
        const std::string fault = run(made, {threads, blocks, seed, seed % 2 == 0}).fault;
        EXPECT_TRUE(fault.find(race) != std::string::npos || fault.find("reads what was written") != std::string::npos)
            << fault;
      }
    }
  }
}

// In this order every load comes first: no byte is wrong, and only the missing barrier gives the race away.
TEST(global_races, finds_races_that_change_no_byte) {
  const result found = run(flag_mistake::no_barrier_before_signal, {order::forward});
  EXPECT_NE(found.fault.find(race), std::string::npos) << found.fault;
}

TEST(knowledge, covers_what_a_signal_publishes) {
  knowledge known;
  known.add(moment{7, 3, 5, 2});
  EXPECT_TRUE(known.covers({7, 2, 9, 0}));   // before the barrier
  EXPECT_FALSE(known.covers({7, 3, 9, 0}));  // another thread, after the barrier
  EXPECT_TRUE(known.covers({7, 3, 5, 2}));   // the thread itself, before its signal
  EXPECT_FALSE(known.covers({7, 3, 5, 3}));  // and behind it
  EXPECT_FALSE(known.covers({6, 0, 5, 0}));  // another block
}

TEST(knowledge, is_handed_on) {
  knowledge first, second;
  first.add(moment{1, 4, 0, 0});
  second.add(moment{2, 1, 0, 0});
  second.add(first);
  EXPECT_TRUE(second.covers({1, 3, 8, 0}));
  EXPECT_TRUE(second.covers({1, 4, 0, 0}));
  second.add(moment{1, 6, 3, 1});
  EXPECT_TRUE(second.covers({1, 5, 8, 0}));
  second.add(first);  // older knowledge takes nothing away
  EXPECT_TRUE(second.covers({1, 5, 8, 0}));
}

TEST(global_races, remembers_every_load_of_a_byte) {
  unsigned char bytes[32] = {};
  global_races races;
  races.watch(bytes, bytes + 32);
  const knowledge nothing;
  for (std::uint16_t thread = 0; thread < 5; ++thread) races.load(bytes + 6, 4, {0, 1, thread, 0});
  for (std::uint16_t thread = 0; thread < 5; ++thread) {
    const auto found = races.store(bytes + 8, 1, {0, 1, thread, 0}, nothing, nothing);
    ASSERT_TRUE(found.has_value());
    EXPECT_NE(found->thread, thread);
  }
  EXPECT_FALSE(races.store(bytes + 8, 1, {0, 2, 9, 0}, nothing, nothing));  // behind a barrier
  EXPECT_FALSE(races.store(bytes + 4, 2, {0, 1, 9, 0}, nothing, nothing));  // bytes of the granule that no thread loads
  EXPECT_FALSE(races.store(bytes + 10, 6, {0, 1, 9, 0}, nothing, nothing));
  EXPECT_TRUE(races.store(bytes + 4, 3, {1, 9, 0, 0}, nothing, nothing));  // another block, whatever its barriers
}

TEST(global_races, a_later_load_takes_the_place_of_the_one_before_it) {
  unsigned char bytes[8] = {};
  global_races races;
  races.watch(bytes, bytes + 8);
  races.load(bytes, 4, {3, 1, 0, 0});
  races.load(bytes, 2, {3, 2, 1, 0});  // behind a barrier
  knowledge early, late;
  early.add(moment{3, 2, 7, 0});
  late.add(moment{3, 3, 7, 0});
  const knowledge nothing;
  EXPECT_TRUE(races.store(bytes, 1, {4, 1, 0, 0}, early, nothing));
  EXPECT_FALSE(races.store(bytes + 2, 2, {4, 1, 0, 0}, early, nothing));
  EXPECT_FALSE(races.store(bytes, 4, {4, 1, 0, 0}, late, nothing));
  EXPECT_FALSE(races.store(bytes, 4, {4, 1, 0, 0}, nothing, late));
}

}  // namespace
}  // namespace cornerturn::testing::global_races_test
