// A packed box is copied by rows on the host, as a copy engine does it, and compared with a direct copy.
#include "dist/rows.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "cornerturn/transpose.hpp"
#include "random_layouts.hpp"

namespace cornerturn::testing {
namespace {

using namespace distributed;

TEST(dist_rows, rows_put_packed_boxes_of_random_overlays_to_their_place) {
  dice any(246);
  std::int64_t copies = 0, long_rows = 0;
  for (int round = 0; round < 400; ++round) {
    const dist::problem what = random_problem(any, 2);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    const overlay all(what);
    const piece_size size{.elements = 1 + any.below(400), .row = 1 + any.below(40), .src_axis = 0};
    const std::int64_t bytes = what.element_bytes;
    for (const int rank : {0, 1}) {
      for (const link& one : all.sent_by(rank)) {
        const auto from = static_cast<std::size_t>(one.src_cell), to = static_cast<std::size_t>(one.dst_cell);
        strides src_along{}, dst_along{};
        for (std::size_t k = 0; k < what.axes.size(); ++k) {
          src_along[k] = src.strides[from][static_cast<std::size_t>(what.axes[k])];
          dst_along[k] = dst.strides[to][k];
        }
        for_each_entry(one, all.rank(), [&](const entry& part) {
          box whole = box_of(part);
          order_by(dst_along, whole);
          for_each_piece(whole, size, [&](const box& piece) {
            std::vector<std::byte> packed(static_cast<std::size_t>(piece.elements() * bytes));
            const placed at = place(piece, bytes, &src_along, nullptr);
            execute(at.what, src.blocks[from].data() + at.src_offset * bytes, packed.data());
            const row_copies rows = rows_of(piece, dst_along);
            ASSERT_EQ(rows.row * rows.rows * static_cast<std::int64_t>(rows.dst_offsets.size()), piece.elements());
            const std::byte* next = packed.data();
            std::byte* const first =
                dst.blocks[to].data() + place(piece, bytes, nullptr, &dst_along).dst_offset * bytes;
            for (const std::int64_t offset : rows.dst_offsets) {
              for (std::int64_t row = 0; row < rows.rows; ++row, next += rows.row * bytes) {
                std::memcpy(first + (offset + row * rows.pitch) * bytes, next,
                            static_cast<std::size_t>(rows.row * bytes));
              }
              ++copies;
              if (rows.row > 1) ++long_rows;
            }
          });
        });
      }
    }
    for (std::size_t cell = 0; cell < dst.blocks.size(); ++cell)
      ASSERT_EQ(dst.blocks[cell], wanted.blocks[cell]) << "round " << round;
  }
  EXPECT_GT(copies, 2000);
  EXPECT_GT(long_rows, 500);
}

TEST(dist_rows, a_matrix_is_one_copy_of_rows) {
  box one;
  one.rank = 2;
  one.dimensions[0] = {.axis = 0, .extent = 7};
  one.dimensions[1] = {.axis = 1, .extent = 100};
  const row_copies rows = rows_of(one, {1000, 1});
  EXPECT_EQ(rows.row, 100);
  EXPECT_EQ(rows.rows, 7);
  EXPECT_EQ(rows.pitch, 1000);
  EXPECT_EQ(rows.dst_offsets, std::vector<std::int64_t>{0});
  EXPECT_EQ(rows_of(one, {100, 1}).row, 700) << "whole rows are contiguous";
}

}  // namespace
}  // namespace cornerturn::testing
