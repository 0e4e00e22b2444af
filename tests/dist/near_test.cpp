// Plans between ranks that are threads and share memory: blocks are stored directly, in the right order, and mixed with messages.
#include "dist/near.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "../api/expect_error.hpp"
#include "random_layouts.hpp"
#include "thread_ranks.hpp"

namespace cornerturn::testing {
namespace {

using distributed::data_kind;

TEST(dist_near, random_layouts_arrive_in_shared_and_in_other_memory) {
  dice any(246);
  int addresses = 0, data = 0;
  for (int round = 0; round < 300; ++round) {
    const int ranks = static_cast<int>(1 + any.below(8));
    const dist::problem what = random_problem(any, ranks);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    thread_ranks all(ranks, static_cast<int>(1 + any.below(ranks)));
    // Of a rank, all blocks are shared, or none, or some.
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t kind = any.below(3);
      for (const std::int64_t cell : distributed::cells_of(what.dst, rank)) {
        if (kind == 0 || (kind == 1 && any.one_in(2))) all.share(dst.blocks[static_cast<std::size_t>(cell)]);
      }
    }
    dist::options how;
    how.local.threads = 1;
    how.seconds = 60;
    how.chunk_bytes = what.element_bytes * (2 + any.below(300));
    all.run([&](int rank) {
      dist::problem mine = what;
      mine.src_strides = strides_of(what.src, src, rank);
      mine.dst_strides = strides_of(what.dst, dst, rank);
      const dist::plan plan(mine, all.of(rank), how);
      for (int call = 0; call < 2; ++call) {
        plan.execute(pointers_of<const void*>(what.src, src, rank), pointers_of<void*>(what.dst, dst, rank));
      }
    });
    addresses += all.addresses();
    data += all.sent(data_kind);
    for (std::size_t cell = 0; cell < dst.blocks.size(); ++cell) {
      ASSERT_EQ(dst.blocks[cell], wanted.blocks[cell]) << "round " << round << ", cell " << cell;
    }
  }
  EXPECT_GT(addresses, 300);
  EXPECT_GT(data, 1000);
}

// 64 x 48 elements of 4 bytes in slabs of rows on both sides.
struct slabs {
  explicit slabs(int ranks) {
    what.src = dist::slabs(what.extents, 0, ranks);
    what.dst = dist::slabs(index_list{48, 64}, 0, ranks);
    how.local.threads = 1;
    for (int rank = 0; rank < ranks; ++rank) {
      src.emplace_back(static_cast<std::size_t>(dist::blocks_of(what.src, rank).front()[0] * 48 * 4));
      dst.emplace_back(static_cast<std::size_t>(dist::blocks_of(what.dst, rank).front()[0] * 64 * 4));
    }
  }
  void fill(int rank, std::byte value) { std::fill(src_of(rank).begin(), src_of(rank).end(), value); }
  void execute(const dist::plan& plan, int rank) {
    const void* const from = src_of(rank).data();
    void* const to = dst_of(rank).data();
    plan.execute({&from, 1}, {&to, 1});
  }
  [[nodiscard]] bool is_filled(int rank, std::byte value) const {
    const std::vector<std::byte>& all = dst[static_cast<std::size_t>(rank)];
    return std::all_of(all.begin(), all.end(), [&](std::byte one) { return one == value; });
  }
  std::vector<std::byte>& src_of(int rank) { return src[static_cast<std::size_t>(rank)]; }
  std::vector<std::byte>& dst_of(int rank) { return dst[static_cast<std::size_t>(rank)]; }

  dist::problem what{.extents = {64, 48}, .axes = {1, 0}, .element_bytes = 4};
  dist::options how;
  std::vector<std::vector<std::byte>> src, dst;
};

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// Each rank is the slow one in turn: it stores to other ranks' blocks after they have all that they wait for, and it reads its own
// block when the others may store to it again.
TEST(dist_near, stores_come_after_the_owners_loads_and_before_its_next_ones) {
  for (const int ranks : {2, 3, 4}) {
    slabs all(ranks);
    thread_ranks threads(ranks, ranks);
    for (auto& block : all.dst) threads.share(block);
    threads.run([&](int rank) {
      const dist::plan plan(all.what, threads.of(rank), all.how);
      for (int call = 1; call <= 2 * ranks; ++call) {
        const bool is_slow = call % ranks == rank;
        all.fill(rank, std::byte{static_cast<unsigned char>(call)});
        if (is_slow) pause();
        all.execute(plan, rank);
        if (is_slow) pause();
        EXPECT_TRUE(all.is_filled(rank, std::byte{static_cast<unsigned char>(call)})) << "call " << call;
      }
    });
    EXPECT_EQ(threads.sent(data_kind), 0);
  }
}

TEST(dist_near, no_message_fills_a_shared_block_and_messages_fill_the_others) {
  slabs all(3);
  thread_ranks threads(3, 2);  // rank 2 is on a host of its own
  threads.share(all.dst_of(0));
  threads.share(all.dst_of(2));
  threads.run([&](int rank) {
    const dist::plan plan(all.what, threads.of(rank), all.how);
    all.fill(rank, std::byte{7});
    all.execute(plan, rank);
    EXPECT_TRUE(all.is_filled(rank, std::byte{7}));
    const std::string text = plan.explain();
    EXPECT_EQ(text.find("If its blocks are shared memory: 1 boxes") != std::string::npos, rank < 2) << text;
    const double messages = number_after(text, "predicted by messages: the time to copy ");
    const double shared = number_after(text, "predicted by shared memory: the time to copy ");
    EXPECT_GT(messages, 0);
    EXPECT_TRUE(rank < 2 ? shared > 0 && shared < messages : shared == 0) << text;
  });
  EXPECT_EQ(threads.sent(data_kind), 5);  // all but from rank 1 to rank 0
}

TEST(dist_near, route_messages_stores_to_no_shared_block) {
  slabs all(2);
  all.how.route = dist::route::messages;
  thread_ranks threads(2, 2);
  for (auto& block : all.dst) threads.share(block);
  threads.run([&](int rank) {
    const dist::plan plan(all.what, threads.of(rank), all.how);
    all.fill(rank, std::byte{7});
    all.execute(plan, rank);
    EXPECT_TRUE(all.is_filled(rank, std::byte{7}));
  });
  EXPECT_EQ(threads.sent(data_kind), 2);
  EXPECT_EQ(threads.addresses(), 0);
}

TEST(dist_near, a_block_without_an_address_is_an_error_on_every_rank) {
  slabs all(3);
  all.how.seconds = 5;
  thread_ranks threads(3, 3);
  for (auto& block : all.dst) threads.share(block);
  threads.lose(1);
  threads.run([&](int rank) {
    const dist::plan plan(all.what, threads.of(rank), all.how);
    expect_error(status::device_error, {"rank 0: the shared memory of rank 1 has no address on rank 0"},
                 [&] { all.execute(plan, rank); });
  });
}

TEST(dist_near, functions_of_shared_memory_are_given_together_and_by_every_rank) {
  slabs all(2);
  all.how.seconds = 5;
  thread_ranks with(2, 2);
  dist::communicator half = with.of(0);
  half.place_of = nullptr;
  expect_error(status::invalid_argument, {"is_near, place_of or address_of is null, wanted all three or none"},
               [&] { const dist::plan plan(all.what, half, all.how); });
  with.run([&](int rank) {
    dist::communicator mine = with.of(rank);
    if (rank == 1) mine.is_near = nullptr, mine.place_of = nullptr, mine.address_of = nullptr;
    expect_error(status::invalid_argument,
                 {"rank 1 has another chunk_bytes, route or kind of communicator than rank 0"},
                 [&] { const dist::plan plan(all.what, mine, all.how); });
  });
}

}  // namespace
}  // namespace cornerturn::testing
