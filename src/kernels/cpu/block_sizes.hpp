// Sizes of the register blocks by word size: the largest number of rows and columns over all SIMD targets. Sizes of the
// strips and pieces that several walks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cornerturn::kernels::cpu {

// Rows of src that are loaded side by side. 32 rows instead of 16 halve the load rate of one core from 29 to 14 GB/s
// (AMD EPYC 4th generation, 2026-11-21). An Intel Xeon (model 143) follows up to 32 rows.
inline constexpr int strip_rows = 16;

[[nodiscard]] constexpr int block_rows(std::int64_t word_bytes) noexcept {
  return word_bytes == 1 ? 16 : word_bytes == 2 ? 8 : static_cast<int>(32 / word_bytes);
}
[[nodiscard]] constexpr int block_cols(std::int64_t word_bytes) noexcept {
  return word_bytes <= 2 ? static_cast<int>(32 / word_bytes) : static_cast<int>(16 / word_bytes);
}

// Rows and columns of the smallest block.
[[nodiscard]] constexpr std::int64_t small_block_side(std::int64_t word_bytes) noexcept { return 16 / word_bytes; }

// Rows and columns of one tile of line_tile-inl.hpp.
[[nodiscard]] constexpr std::int64_t line_tile_rows(std::int64_t word_bytes) noexcept { return 64 / word_bytes; }
[[nodiscard]] constexpr std::int64_t line_tile_cols(std::int64_t word_bytes) noexcept {
  return word_bytes == 4 ? 8 : 16 / word_bytes;
}

// Rows of one strip of strips-inl.hpp.
[[nodiscard]] constexpr std::size_t rows_of_strip(std::size_t word_bytes) noexcept {
  return word_bytes <= 4 ? 32 : 128 / word_bytes;
}
// Rows of one strip when a second array is summed. The pieces of that array are streams too, so fewer rows are better:
// float32 with beta reaches 0.61 of the copy with 32 rows and 0.64 with 16 (Intel Xeon, 2 MiB of L2, 2026-11-23).
[[nodiscard]] constexpr std::size_t rows_of_summed_strip(std::size_t word_bytes) noexcept {
  return word_bytes == 4 ? 16 : rows_of_strip(word_bytes);
}
inline constexpr std::int64_t strip_block_bytes = 128;  // bytes of each row of a strip that one block loads

// Bytes of the elements that policy/element_block-inl.hpp takes.
using block_elements = std::index_sequence<3, 4, 6, 8, 12, 16, 24, 32>;
template <std::size_t... Bytes>
[[nodiscard]] constexpr bool is_listed(std::int64_t bytes, std::index_sequence<Bytes...> /*all*/) noexcept {
  return ((bytes == static_cast<std::int64_t>(Bytes)) || ...);
}

// Rows and columns of a block of them, which are 48 or 64 bytes.
[[nodiscard]] constexpr std::size_t element_block_side(std::size_t element_bytes) noexcept {
  return element_bytes <= 4 ? 16 : element_bytes <= 8 ? 8 : element_bytes <= 16 ? 4 : 2;
}
// Blocks of rows whose columns are stored together. Words of 4 bytes: blocks of 16 rows in registers; 64 rows that wait in L2 are
// slower (Zen 4, 2026-11-25).
[[nodiscard]] constexpr std::size_t element_window_pieces(std::size_t element_bytes) noexcept {
  return element_bytes == 4 ? 1 : element_bytes == 8 ? 2 : 4;
}
// Rows of a strip of them. Elements of 6 bytes with 32 rows, so that no piece waits: 0.50 of a copy, 0.56 with 16 (Zen 4,
// 2026-11-25).
[[nodiscard]] constexpr std::size_t element_strip_rows(std::size_t element_bytes) noexcept {
  const std::size_t window = element_window_pieces(element_bytes) * element_block_side(element_bytes);
  return window < 16 ? window : 16;
}

// Most columns of a matrix that item_strips-inl.hpp takes: it stages two lines of each column.
inline constexpr std::int64_t item_strip_cols = 1024;

// Bytes of each column that tall_skinny/tall_skinny-inl.hpp transposes as one group.
inline constexpr std::int64_t column_group_bytes = 128;

// Bytes of each row that short_wide/short_wide-inl.hpp transposes as one group.
inline constexpr std::int64_t row_group_bytes = 128;

// Bytes of a dst run that are summed together with a second array of the same strides as dst. The second array is loaded
// in pieces of this length. The hardware prefetchers do not follow shorter pieces: 128 to 640 bytes run at 12 GB/s, 768 to
// 1024 bytes at 26 to 30 GB/s (Intel Xeon, 2 MiB of L2, 2026-11-22).
inline constexpr std::int64_t summed_piece_bytes = 1024;

}  // namespace cornerturn::kernels::cpu
