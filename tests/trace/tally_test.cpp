// The tally of single requests against counts made by hand.
#include "trace/tally.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cornerturn::trace {
namespace {

using emulated::access;
using emulated::lane_access;

std::vector<lane_access> lanes(std::uint64_t global_step, std::uint64_t shared_step, int count = 32) {
  std::vector<lane_access> made;
  for (int k = 0; k < count; ++k) {
    const auto number = static_cast<std::uint64_t>(k);
    made.push_back({k, 4096 + number * global_step, number * shared_step});
  }
  return made;
}

TEST(tally, counts_sectors_of_global_requests) {
  tally all(model::memory_rules{});
  all.add({access::global_load, nullptr, 4, lanes(4, 0)}, 3);
  all.add({access::global_store, nullptr, 4, lanes(128, 0)});
  EXPECT_EQ(all.counts.load.requests, 3);
  EXPECT_EQ(all.counts.load.lines, 3 * 4);
  EXPECT_EQ(all.counts.load.bytes, 3 * 128);
  EXPECT_EQ(all.counts.store.requests, 1);
  EXPECT_EQ(all.counts.store.lines, 32);
  EXPECT_EQ(all.counts.store.useful(), 0.125);
  all.add({access::async_copy, nullptr, 4, lanes(0, 4)});  // every lane loads one element
  EXPECT_EQ(all.counts.async_load.useful(), 0.125);
  EXPECT_EQ(all.counts.shared_load.requests + all.counts.shared_store.requests, 0);
}

TEST(tally, counts_wavefronts_of_shared_requests) {
  tally all(model::memory_rules{});
  all.add({access::shared_load, nullptr, 4, lanes(0, 128)});
  all.add({access::shared_store, nullptr, 16, lanes(0, 16)}, 2);
  EXPECT_EQ(all.counts.shared_load.cycles, 32);
  EXPECT_EQ(all.counts.shared_load.conflicts, 31);
  EXPECT_EQ(all.counts.shared_store.cycles, 2 * 4);
  EXPECT_EQ(all.counts.shared_store.conflicts, 0);
}

TEST(tally, a_copy_is_a_load_and_a_store_in_shared_memory) {
  tally all(model::memory_rules{}), old(model::memory_rules{}, false);
  for (tally* one : {&all, &old}) one->add({access::async_copy, nullptr, 4, lanes(4, 4, 8)});
  EXPECT_EQ(all.counts.async_load.lines, 1);
  EXPECT_EQ(all.counts.async_store.cycles, 1);
  EXPECT_EQ(all.counts.load.requests + all.counts.shared_store.requests, 0);
  EXPECT_EQ(old.counts.load.lines, 1);
  EXPECT_EQ(old.counts.shared_store.cycles, 1);
}

TEST(tally, keeps_atomics_apart) {
  tally all(model::memory_rules{});
  all.add({access::atomic, nullptr, 4, lanes(0, 0, 1)}, 5);
  EXPECT_EQ(all.atomics, 5);
  EXPECT_EQ(all.counts.load.requests + all.counts.store.requests, 0);
}

}  // namespace
}  // namespace cornerturn::trace
