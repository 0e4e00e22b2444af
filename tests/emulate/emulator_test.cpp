// The emulator itself: it must find every planted mistake, and none in a kernel without a mistake.
#include "emulate/emulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "move.hpp"
#include "planted.hpp"

namespace cornerturn::testing::emulator_test {
namespace {

using emulated::order;

constexpr int blocks = 3;
constexpr order orders[] = {order::forward, order::backward, order::shuffled};

struct result {
  std::string fault;
  bool moved = false;
  bool stayed_inside = false;
  emulated::session session;
};

result run(mistake made, order threads, std::uint64_t seed = 1, int thread = 5, int wavefront = 0,
           emulated::session running = {}) {
  constexpr std::size_t size = blocks * planted_block_bytes;
  // Spare bytes before and behind each array, so that stray accesses of a mistake do no harm.
  std::vector<unsigned char> memory(6 * size);
  unsigned char* const src = memory.data() + size;
  unsigned char* const dst = memory.data() + 4 * size;
  for (std::size_t k = 0; k < size; ++k) src[k] = static_cast<unsigned char>(k * 7 + k / 256);
  const std::vector<unsigned char> before(src, src + size);
  running.threads = threads;
  running.wavefront = wavefront;
  running.seed = seed;
  running.src = {src, src + size};
  running.dst = {dst, dst + size};
  const planted_args args{src, dst, made, thread};
  const char* const message = launch_planted(&args, blocks, planted_shared_bytes, &running);
  EXPECT_EQ(message == nullptr, running.fault.empty());
  result found{running.fault, true, dst[-1] == 0, running};
  for (int word = 0; word < blocks * planted_threads; ++word) {
    const int from = word / planted_threads * planted_threads + planted_threads - 1 - word % planted_threads;
    found.moved = found.moved && std::memcmp(dst + 4 * word, before.data() + 4 * from, 4) == 0;
  }
  return found;
}

void expect_found(mistake made, const std::string& words, bool plainly = false) {
  for (const order threads : orders) {
    if (plainly && !emulated::sees_every_access()) continue;
    EXPECT_NE(run(made, threads).fault.find(words), std::string::npos)
        << "found instead: \"" << run(made, threads).fault << '"';
  }
}

TEST(emulator, a_kernel_without_mistakes_moves_in_any_order) {
  for (const order threads : orders) {
    for (std::uint64_t seed = 1; seed < 5; ++seed) {
      const result found = run(mistake::none, threads, seed);
      EXPECT_EQ(found.fault, "");
      EXPECT_TRUE(found.moved);
    }
  }
}

TEST(emulator, wavefronts_change_the_order_and_nothing_else) {
  for (const int wavefront : {32, 64}) {
    for (const order threads : orders) {
      const result found = run(mistake::none, threads, 1, 5, wavefront);
      EXPECT_EQ(found.fault, "");
      EXPECT_TRUE(found.moved);
    }
  }
}

// Thread 5 and its neighbour write one word. Thread 31 and its neighbour are in one wavefront of 64 lanes, but in two
// of 32.
TEST(emulator, says_whether_lockstep_may_hide_a_race) {
  if (!emulated::sees_every_access()) GTEST_SKIP() << "this compiler is not asked to tell of loads and stores";
  const std::string hidden = "both are lanes of one wavefront", race = "no barrier was between";
  const auto message = [](int thread, int wavefront) {
    return run(mistake::two_writers, order::forward, 1, thread, wavefront).fault;
  };
  for (const auto& [thread, wavefront, hides] :
       {std::tuple{5, 32, true}, {31, 32, false}, {31, 64, true}, {5, 0, false}}) {
    EXPECT_NE(message(thread, wavefront).find(race), std::string::npos);
    EXPECT_EQ(message(thread, wavefront).find(hidden) != std::string::npos, hides) << thread << ", " << wavefront;
  }
}

TEST(emulator, finds_what_leaves_its_array) {
  expect_found(mistake::past_src, "outside of src, at byte -4 of src");
  expect_found(mistake::past_dst, "outside of dst, at byte -1 of dst");
  expect_found(mistake::past_shared, "outside of shared memory, at byte 256 of shared memory");
}

TEST(emulator, ends_loops_that_a_fault_made_endless) { expect_found(mistake::endless, "outside of src"); }

TEST(emulator, names_the_place_of_a_fault) {
  for (const order threads : orders) {
    const emulated::session found = run(mistake::past_src, threads).session;
    ASSERT_EQ(found.fault_places.size(), 1u);
    EXPECT_EQ(found.fault_places[0].what, emulated::access::global_load);
    EXPECT_EQ(found.fault_places[0].thread, 5);
    EXPECT_NE(found.fault_places[0].from, nullptr);
    EXPECT_EQ(found.fault_bytes.end - found.fault_bytes.begin, 4u);
    const emulated::session waits = run(mistake::two_barriers, threads).session;
    ASSERT_EQ(waits.fault_places.size(), 2u);
    EXPECT_NE(waits.fault_places[0].from, waits.fault_places[1].from);
  }
}

// The arrays of the second run have other addresses. Offsets in shared memory stay.
TEST(emulator, a_second_run_finds_the_other_access_of_a_race) {
  if (!emulated::sees_every_access()) GTEST_SKIP() << "this compiler is not asked to tell of loads and stores";
  for (const order threads : orders) {
    for (const mistake made : {mistake::no_barrier, mistake::no_second_barrier, mistake::two_writers}) {
      const emulated::session found = run(made, threads).session;
      ASSERT_EQ(found.fault_places.size(), 2u);
      EXPECT_EQ(found.fault_places[1].from, nullptr);
      ASSERT_TRUE(found.fault_bytes.shared);
      emulated::session how;
      how.stop_at_fault = true;
      how.watches = found.fault_bytes;
      const std::vector<emulated::touch> touches = run(made, threads, 1, 5, 0, how).session.touches;
      ASSERT_GE(touches.size(), 2u);
      EXPECT_EQ(touches.back().from, found.fault_places[0].from);
      EXPECT_EQ(touches.back().thread, found.fault_places[0].thread);
      EXPECT_TRUE(std::any_of(touches.begin(), touches.end() - 1, [&](const emulated::touch& one) {
        return one.thread != touches.back().thread && one.from != nullptr;
      }));
    }
  }
}

TEST(emulator, stops_before_the_faulty_access_if_asked) {
  emulated::session how;
  how.stop_at_fault = true;
  for (const order threads : orders) {
    EXPECT_FALSE(run(mistake::past_dst_plainly, threads).stayed_inside);
    if (!emulated::sees_every_access()) continue;
    EXPECT_TRUE(run(mistake::past_dst_plainly, threads, 1, 5, 0, how).stayed_inside);
    EXPECT_NE(run(mistake::endless_plainly, threads, 1, 5, 0, how).fault.find("does not end"), std::string::npos);
  }
}

TEST(emulator, finds_loads_of_shared_memory_that_no_thread_stored_if_asked) {
  emulated::session how;
  how.refuse_unwritten = true;
  for (const order threads : orders) {
    if (!emulated::sees_every_access()) continue;
    EXPECT_EQ(run(mistake::none, threads, 1, 5, 0, how).fault, "");
    EXPECT_NE(run(mistake::unwritten, threads, 1, 5, 0, how).fault.find("which no thread wrote"), std::string::npos);
    EXPECT_EQ(run(mistake::unwritten, threads).fault, "");
  }
}

TEST(emulator, finds_misaligned_words) {
  expect_found(mistake::misaligned_load, "8 bytes is misaligned, at byte");
  expect_found(mistake::misaligned_store, "4 bytes is misaligned, at byte");
  expect_found(mistake::misaligned_copy, "16 bytes is misaligned, at byte");
}

TEST(emulator, finds_barriers_that_not_all_threads_reach) {
  expect_found(mistake::early_exit, "thread 5 has ended, thread 63 waits at the barrier");
  expect_found(mistake::two_barriers, "at the barrier of line");
  expect_found(mistake::lane_apart, "waits for the values of all lanes");
}

TEST(emulator, finds_copies_that_nobody_waited_for) {
  for (const order threads : orders) {
    EXPECT_NE(run(mistake::no_wait_at_all, threads, 1, 6).fault, "");
    EXPECT_FALSE(run(mistake::no_wait, threads).moved) << "the copy landed before its thread waited for it";
  }
  expect_found(mistake::no_wait, "has started a copy that it did not wait for", true);
}

TEST(emulator, finds_accesses_ahead_of_the_wait_for_earlier_launches) {
  expect_found(mistake::early_access, "before it waits for earlier launches");
}

TEST(emulator, finds_bytes_of_dst_that_are_written_twice) {
  expect_found(mistake::written_twice, "writes what was written before", true);
}

TEST(emulator, finds_races_in_shared_memory) {
  expect_found(mistake::no_barrier, "no barrier was between", true);
  expect_found(mistake::no_second_barrier, "no barrier was between", true);
  expect_found(mistake::two_writers, "no barrier was between", true);
}

TEST(emulator, sees_accesses_that_do_not_go_through_its_functions) {
  if (!emulated::sees_every_access()) GTEST_SKIP() << "this compiler is not asked to tell of loads and stores";
  expect_found(mistake::before_src_plainly, "outside of every array, at byte -1 of src");
  expect_found(mistake::src_written, "writes to src, at byte");
  expect_found(mistake::dst_read, "reads dst, at byte");
}

TEST(emulator, without_a_barrier_the_order_of_threads_shows) {
  EXPECT_FALSE(run(mistake::no_barrier, order::forward).moved);
  EXPECT_FALSE(run(mistake::no_barrier, order::backward).moved);
}

TEST(emulator, sees_ordinary_stores_past_shared_memory) {
  if (address_sanitizer && !emulated::sees_every_access()) {  // the allocation is exactly as large as shared memory
    EXPECT_DEATH(run(mistake::past_shared_plainly, order::forward), "AddressSanitizer: heap-buffer-overflow");
  } else {
    expect_found(mistake::past_shared_plainly, "outside of every array, at byte 256 of shared memory", true);
  }
}

}  // namespace
}  // namespace cornerturn::testing::emulator_test
