// Overlays of random layouts: each entry is copied as an ordinary problem, and every element of every block is compared.
#include "dist/layout.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "../api/expect_error.hpp"
#include "cornerturn/transpose.hpp"
#include "dist/boxes.hpp"
#include "random_layouts.hpp"

namespace cornerturn::testing {
namespace {

using namespace distributed;

strides in_order_of_dst(const dist::problem& what, const index_list& src) {
  strides made{};
  for (std::size_t k = 0; k < what.axes.size(); ++k) made[k] = src[static_cast<std::size_t>(what.axes[k])];
  return made;
}

TEST(dist_layout, two_thousand_random_overlays_move_every_element_once) {
  dice any(46);
  const int rounds = 2000 / thinner();
  std::int64_t entries = 0, elements = 0;
  for (int round = 0; round < rounds; ++round) {
    const int ranks = static_cast<int>(1 + any.below(8));
    const dist::problem what = random_problem(any, ranks);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    const overlay all(what);
    std::int64_t moved = 0;
    const piece_size size{.elements = any.one_in(2) ? std::int64_t{1} << 40 : 1 + any.below(500),
                          .row = 1 + any.below(40),
                          .src_axis = static_cast<int>(any.below(3)) - 1};
    const bool in_order = any.one_in(2);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const link& one : all.sent_by(rank)) {
        ASSERT_EQ(one.src_rank, rank);
        const auto from = static_cast<std::size_t>(one.src_cell), to = static_cast<std::size_t>(one.dst_cell);
        const strides src_strides = in_order_of_dst(what, src.strides[from]);
        strides dst_strides{};
        std::copy(dst.strides[to].begin(), dst.strides[to].end(), dst_strides.begin());
        std::int64_t of_link = 0;
        for_each_entry(one, all.rank(), [&](const entry& part) {
          of_link += part.elements();
          box whole = box_of(part);
          ASSERT_EQ(whole.elements(), part.elements());
          if (in_order) order_by(dst_strides, whole);
          for_each_piece(whole, size, [&](const box& piece) {
            ASSERT_LE(piece.elements(), size.elements);
            moved += piece.elements();
            ++entries;
            const placed at = place(piece, what.element_bytes, &src_strides, &dst_strides);
            execute(at.what, src.blocks[from].data() + at.src_offset * what.element_bytes,
                    dst.blocks[to].data() + at.dst_offset * what.element_bytes);
          });
        });
        ASSERT_EQ(of_link, one.elements);
      }
    }
    std::int64_t total = 1;
    for (const std::int64_t extent : what.extents) total *= extent;
    ASSERT_EQ(moved, total) << "round " << round;
    for (std::size_t cell = 0; cell < dst.blocks.size(); ++cell) {
      ASSERT_EQ(dst.blocks[cell], wanted.blocks[cell]) << "round " << round << ", cell " << cell;
    }
    elements += total;
  }
  EXPECT_GT(entries, 10 * rounds);
  EXPECT_GT(elements, 100 * rounds);
}

TEST(dist_layout, receivers_know_the_links_of_senders) {
  dice any(47);
  for (int round = 0; round < 300; ++round) {
    const int ranks = static_cast<int>(1 + any.below(8));
    const dist::problem what = random_problem(any, ranks);
    const overlay all(what);
    std::set<std::pair<std::int64_t, std::int64_t>> sent, received;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const link& one : all.sent_by(rank)) ASSERT_TRUE(sent.emplace(one.src_cell, one.dst_cell).second);
      for (const link& one : all.received_by(rank)) {
        ASSERT_EQ(one.dst_rank, rank);
        ASSERT_TRUE(received.emplace(one.src_cell, one.dst_cell).second);
      }
    }
    ASSERT_EQ(sent, received);
  }
}

// ScaLAPACK's block-cyclic layouts are a few entries for each pair of ranks, however many blocks there are.
TEST(dist_layout, block_cyclic_axes_are_few_progressions) {
  const auto cyclic = [](std::int64_t block, std::int32_t ranks) {
    return dist::block_cyclic({.rows = 9600, .cols = 1, .row_block = block, .process_rows = ranks});
  };
  dist::problem what{.extents = {9600, 1}, .axes = {1, 0}, .element_bytes = 4, .src = cyclic(64, 2), .dst = {}};
  what.dst = dist::block_cyclic({.rows = 1, .cols = 9600, .col_block = 96, .process_cols = 3});
  const overlay all(what);
  std::int64_t entries = 0;
  for (int rank = 0; rank < 2; ++rank) {
    for (const link& one : all.sent_by(rank)) for_each_entry(one, 2, [&](const entry&) { ++entries; });
  }
  EXPECT_LE(entries, 40) << "there are 200 segments";
}

TEST(dist_layout, a_million_squared_on_ten_thousand_ranks_takes_less_than_a_second) {
  constexpr std::int64_t side = 1000000;
  dist::problem what{.extents = {side, side}, .axes = {1, 0}, .element_bytes = 8};
  what.src = dist::block_cyclic(
      {.rows = side, .cols = side, .row_block = 64, .col_block = 64, .process_rows = 100, .process_cols = 100});
  what.dst = dist::slabs(what.extents, 0, 10000);
  const auto before = std::chrono::steady_clock::now();
  const overlay all(what);
  std::int64_t elements = 0;
  for (const link& one : all.sent_by(4321)) {
    for_each_entry(one, 2, [&](const entry& part) { elements += part.elements(); });
  }
  for (const link& one : all.received_by(4321)) elements += one.elements;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const auto mine = dist::blocks_of(what.src, 4321).front(), theirs = dist::blocks_of(what.dst, 4321).front();
  EXPECT_EQ(elements, mine[0] * mine[1] + theirs[0] * theirs[1]);
  EXPECT_LT(seconds, 1.0);
}

TEST(dist_layout, progressions_have_the_elements_of_their_segments) {
  dice any(48);
  for (int round = 0; round < 2000; ++round) {
    std::vector<progression> segments;
    std::int64_t src = any.below(5), dst = any.below(5);
    const std::int64_t count = any.below(40), period = 1 + any.below(4);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t length = any.one_in(15) ? 1 : 1 + k % period;
      segments.push_back({1, length, src, 0, dst, 0});
      src += length + k % 2;
      dst += length + 1 + k % period;
    }
    std::set<std::pair<std::int64_t, std::int64_t>> wanted, found;
    for (const progression& one : segments) {
      for (std::int64_t i = 0; i < one.length; ++i) wanted.emplace(one.src_at + i, one.dst_at + i);
    }
    for (const progression& one : compressed(segments)) {
      for (std::int64_t k = 0; k < one.count; ++k) {
        for (std::int64_t i = 0; i < one.length; ++i) {
          ASSERT_TRUE(found.emplace(one.src_at + k * one.src_step + i, one.dst_at + k * one.dst_step + i).second);
        }
      }
    }
    ASSERT_EQ(found, wanted) << "round " << round;
  }
}

TEST(dist_layout, contradictions_are_named) {
  const dist::layout good = dist::slabs(index_list{10, 20}, 0, 2);
  const auto expect = [&](const char* sentence, auto change) {
    dist::layout bad = good;
    change(bad);
    expect_error(status::invalid_argument, {sentence}, [&] {
      check_layout(bad, index_list{10, 20}, "the layout of src");
    });
  };
  expect("the layout of src: axis 0 has splits from 0 to 11, wanted 0 to 10",
         [](auto& one) { one.axes[0].splits.back() = 11; });
  expect("the layout of src: axis 0 has split 3 after 5, wanted splits that never decrease", [](auto& one) {
    one.axes[0] = {{0, 5, 3, 10}, {0, 1, 0}, 2};
  });
  expect("the layout of src: axis 0 has coordinate 2, wanted 0 <= coordinate < 2",
         [](auto& one) { one.axes[0].coordinates[1] = 2; });
  expect("the layout of src: axis 1 has 2 splits and 0 coordinates, wanted one coordinate for each interval",
         [](auto& one) { one.axes[1].coordinates.clear(); });
  expect("the layout of src has 1 owners, wanted one for each of 2 cells", [](auto& one) { one.owners.pop_back(); });
  expect("the layout of src: cell 1 has owner -3, wanted a rank >= 0", [](auto& one) { one.owners[1] = -3; });
  expect("the layout of src has 1 axes, wanted 2", [](auto& one) { one.axes.pop_back(); });
}

}  // namespace
}  // namespace cornerturn::testing
