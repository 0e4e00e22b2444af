// Plans between ranks that are threads: random layouts, every byte of every block compared, and faults of one rank.
#include "dist/staged.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "../api/expect_error.hpp"
#include "random_layouts.hpp"
#include "thread_ranks.hpp"

namespace cornerturn::testing {
namespace {

TEST(dist_staged, random_layouts_arrive_by_messages) {
  dice any(146);
  std::int64_t messages = 0;
  for (int round = 0; round < 300; ++round) {
    const int ranks = static_cast<int>(1 + any.below(8));
    const dist::problem what = random_problem(any, ranks);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    dist::options how;
    how.local.threads = 1;
    how.seconds = 60;
    how.chunk_bytes = what.element_bytes * (2 + any.below(300));
    thread_ranks all(ranks);
    std::mutex counted;
    all.run([&](int rank) {
      dist::problem mine = what;
      mine.src_strides = strides_of(what.src, src, rank);
      mine.dst_strides = strides_of(what.dst, dst, rank);
      const dist::plan plan(mine, all.of(rank), how);
      for (int call = 0; call < 2; ++call) {
        plan.execute(pointers_of<const void*>(what.src, src, rank), pointers_of<void*>(what.dst, dst, rank));
      }
      const std::lock_guard<std::mutex> lock(counted);
      messages += plan.bytes_sent();
    });
    for (std::size_t cell = 0; cell < dst.blocks.size(); ++cell) {
      ASSERT_EQ(dst.blocks[cell], wanted.blocks[cell]) << "round " << round << ", cell " << cell;
    }
  }
  EXPECT_GT(messages, 100000);
}

TEST(dist_staged, a_message_has_at_most_chunk_bytes) {
  dist::problem what{.extents = {512, 512}, .axes = {1, 0}, .element_bytes = 4};
  what.src = what.dst = dist::slabs(what.extents, 0, 2);
  std::vector<std::vector<std::uint32_t>> src(2, std::vector<std::uint32_t>(512 * 256)), dst = src;
  for (std::uint32_t k = 0; k < 512 * 256; ++k) src[0][k] = k, src[1][k] = k + 512 * 256;
  thread_ranks all(2);
  dist::options how;
  how.chunk_bytes = 20000;
  all.run([&](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const dist::plan plan(what, all.of(rank), how);
    EXPECT_EQ(plan.bytes_sent(), 256 * 256 * 4);
    const void* const from = src[mine].data();
    void* const to = dst[mine].data();
    plan.execute({&from, 1}, {&to, 1});
    const std::string text = plan.explain();
    EXPECT_NE(text.find("to rank " + std::to_string(1 - rank) + ": 262144 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("on this rank: 262144 bytes"), std::string::npos) << text;
    // It packs, unpacks and copies 262144 bytes each. In a cache, each may take two thirds of the time of a copy.
    const double copied = number_after(text, "predicted by messages: the time to copy ");
    EXPECT_GT(copied, 2 * 262144);
    EXPECT_LT(copied, 30 * 262144);
    EXPECT_NE(text.find(" bytes here, to send 262144 and to receive 262144\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("predicted by shared memory"), std::string::npos) << text;
  });
  EXPECT_LE(all.longest(), how.chunk_bytes);
  EXPECT_GT(all.longest(), how.chunk_bytes / 2);
  for (std::uint32_t row = 0; row < 512; ++row) {
    for (std::uint32_t col = 0; col < 512; ++col) ASSERT_EQ(dst[row / 256][row % 256 * 512 + col], col * 512 + row);
  }
}

// 12 x 8 words of 4 bytes in slabs of rows, before and after.
dist::problem transpose_of_slabs(int ranks) {
  dist::problem what{.extents = {12, 8}, .axes = {1, 0}, .element_bytes = 4};
  what.src = dist::slabs(what.extents, 0, ranks);
  what.dst = dist::slabs(index_list{8, 12}, 0, ranks);
  return what;
}

// A rank with another problem: every rank gets the sentence.
void expect_on_every_rank(status code, const char* sentence,
                          const std::function<void(int, dist::problem&, dist::options&)>& change) {
  const dist::problem what = transpose_of_slabs(3);
  thread_ranks all(3);
  all.run([&](int rank) {
    dist::problem mine = what;
    dist::options how;
    how.seconds = 30;
    change(rank, mine, how);
    expect_error(code, {sentence}, [&] { const dist::plan plan(mine, all.of(rank), how); });
  });
}

TEST(dist_staged, a_difference_on_one_rank_is_one_sentence_on_every_rank) {
  const index_list other_splits{0, 3, 8, 12};
  expect_on_every_rank(status::invalid_argument, "rank 1 has another layout of src than rank 0",
                       [&](int rank, auto& what, auto&) {
                         if (rank == 1) what.src = dist::slabs(what.extents, 0, other_splits);
                       });
  expect_on_every_rank(status::invalid_argument, "rank 2 has another layout of dst than rank 0",
                       [&](int rank, auto& what, auto&) {
                         if (rank == 2) what.dst.owners = {2, 1, 0};
                       });
  expect_on_every_rank(status::invalid_argument,
                       "rank 1 has another array (extents, axes or bytes of an element) than rank 0",
                       [](int rank, auto& what, auto&) {
                         if (rank > 0) what.element_bytes = 8;
                       });
  expect_on_every_rank(status::invalid_argument,
                       "rank 2 has another chunk_bytes, route or kind of communicator than rank 0",
                       [](int rank, auto&, auto& how) {
                         if (rank == 2) how.chunk_bytes = 1000;
                       });
  expect_on_every_rank(status::invalid_argument, "rank 2: the layout of src: cell 1 has owner 7, wanted a rank below 3",
                       [](int rank, auto& what, auto&) {
                         if (rank == 2) what.src.owners[1] = 7;
                       });
  expect_on_every_rank(status::overlap, "rank 0: dst_strides[0]: axis 0", [](int rank, auto& what, auto&) {
    if (rank == 0) what.dst_strides = {{4, 1}};
  });
  expect_on_every_rank(status::invalid_argument, "rank 1: src_strides has 2 entries, wanted none or 1",
                       [](int rank, auto& what, auto&) {
                         if (rank == 1) what.src_strides = {{8, 1}, {8, 1}};
                       });
  expect_on_every_rank(status::invalid_argument, "rank 0: chunk_bytes is 7, wanted at least two elements of 4 bytes",
                       [](int, auto&, auto& how) { how.chunk_bytes = 7; });
  expect_on_every_rank(status::invalid_argument, "rank 0: chunk_bytes is 2147483648, wanted at most 2147483647",
                       [](int, auto&, auto& how) { how.chunk_bytes = std::int64_t{1} << 31; });
}

TEST(dist_staged, a_rank_that_does_not_come_is_an_error_within_the_time_limit) {
  const dist::problem what = transpose_of_slabs(3);
  dist::options how;
  how.seconds = 0.05;
  thread_ranks all(3);
  all.run([&](int rank) {
    if (rank == 2) return;
    expect_error(status::device_error, {"rank 2 did not answer within 0.05 s"},
                 [&] { const dist::plan plan(what, all.of(rank), how); });
  });
}

TEST(dist_staged, a_rank_that_fails_in_a_call_is_an_error_on_every_rank) {
  const dist::problem what = transpose_of_slabs(3);
  dist::options how;
  how.seconds = 0.2;
  thread_ranks all(3);
  std::vector<std::vector<std::byte>> src(3, std::vector<std::byte>(4 * 8 * 4)),
      dst(3, std::vector<std::byte>(3 * 12 * 4));
  all.run([&](int rank) {
    const dist::plan plan(what, all.of(rank), how);
    const void* const from = rank == 1 ? nullptr : src[static_cast<std::size_t>(rank)].data();
    void* const to = dst[static_cast<std::size_t>(rank)].data();
    expect_error(status::invalid_argument, {"rank 1: src[0] is null, wanted the block of cell 1"}, [&] {
      plan.execute({&from, 1}, {&to, 1});
    });
    expect_error(status::device_error, {"an earlier call of this plan failed"}, [&] {
      plan.execute({&from, 1}, {&to, 1});
    });
  });
}

TEST(dist_staged, messages_of_a_failed_call_arrive_at_no_other_plan) {
  const dist::problem what = transpose_of_slabs(2);
  dist::options how;
  how.seconds = 0.2;
  thread_ranks all(2);
  all.run([&](int rank) {
    std::vector<std::int32_t> src(6 * 8, -1), dst(4 * 12);
    const void* const from = src.data();
    void *const to = dst.data(), *const none = nullptr;
    {
      const dist::plan failing(what, all.of(rank), how);
      expect_error(status::invalid_argument, {"rank 1: dst[0] is null"}, [&] {
        failing.execute({&from, 1}, {rank == 1 ? &none : &to, 1});
      });
    }
    std::iota(src.begin(), src.end(), rank * 6 * 8);
    const dist::plan plan(what, all.of(rank), how);
    plan.execute({&from, 1}, {&to, 1});
    for (int k = 0; k < 4 * 12; ++k) EXPECT_EQ(dst[static_cast<std::size_t>(k)], k % 12 * 8 + rank * 4 + k / 12);
  });
}

TEST(dist_staged, a_record_or_a_verdict_of_an_earlier_agreement_is_an_error) {
  thread_ranks all(2);
  all.run([&](int rank) {
    distributed::record mine;
    mine.ranks = 2;
    const std::uint32_t number = distributed::agree(all.of(rank), mine, 10);
    EXPECT_NE(number, 0U);
    mine.plan = number;
    EXPECT_EQ(distributed::agree(all.of(rank), mine, 10), number);
    mine.plan = number + static_cast<std::uint32_t>(rank);
    expect_error(status::device_error, {"a message is left over from an earlier call that failed"},
                 [&] { static_cast<void>(distributed::agree(all.of(rank), mine, 10)); });
    mine.plan = 0;
    EXPECT_GT(distributed::agree(all.of(rank), mine, 10), number);
  });
}

TEST(dist_staged, one_rank_needs_no_messages) {
  dist::problem what{.extents = {3, 5}, .axes = {1, 0}, .element_bytes = 2};
  what.src = dist::slabs(what.extents, 0, 1);
  what.dst = dist::slabs(index_list{5, 3}, 1, 1);
  thread_ranks alone(1);
  const dist::plan plan(what, alone.of(0));
  std::vector<std::uint16_t> src(15), dst(15);
  std::iota(src.begin(), src.end(), std::uint16_t{0});
  const void* const from = src.data();
  void* const to = dst.data();
  plan.execute({&from, 1}, {&to, 1});
  EXPECT_EQ(plan.bytes_sent(), 0);
  for (std::size_t k = 0; k < 15; ++k) EXPECT_EQ(dst[k], k % 3 * 5 + k / 3);
}

}  // namespace
}  // namespace cornerturn::testing
