// The register blocks that every SIMD target offers, by word size: how many rows x columns one of them takes at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::kernels::cpu {

// Rows of src that are read side by side: more than 16 streams halve what a Zen 4 core reads (29 -> 14 GB/s with 32
// streams, AMD EPYC 4th generation, 2026-11-21), more than 32 what a Granite Rapids core reads.
inline constexpr int strip_rows = 16;

[[nodiscard]] constexpr int block_rows(std::int64_t word_bytes) noexcept {
  return word_bytes == 1 ? 16 : word_bytes == 2 ? 8 : static_cast<int>(32 / word_bytes);
}
[[nodiscard]] constexpr int block_cols(std::int64_t word_bytes) noexcept {
  return word_bytes <= 2 ? static_cast<int>(32 / word_bytes) : static_cast<int>(16 / word_bytes);
}

// The same for line_tile-inl.hpp.
[[nodiscard]] constexpr std::int64_t line_tile_rows(std::int64_t word_bytes) noexcept { return 64 / word_bytes; }
[[nodiscard]] constexpr std::int64_t line_tile_cols(std::int64_t word_bytes) noexcept {
  return word_bytes == 4 ? 8 : 16 / word_bytes;
}

// The same for strips-inl.hpp.
[[nodiscard]] constexpr std::size_t rows_of_strip(std::size_t word_bytes) noexcept {
  return word_bytes <= 4 ? 32 : 128 / word_bytes;
}
// The same where a second array is summed, whose pieces are streams too. Means of 5000 x 6992, 4999 x 6001 and 4096 x 4096
// on one thread and two, two processes each: float32 with beta 0.61 of the copy by 32 rows, 0.64 by 16, with a second
// source 0.46 and 0.50 (Intel Xeon with 2 MiB of L2, 2026-11-23).
[[nodiscard]] constexpr std::size_t rows_of_summed_strip(std::size_t word_bytes) noexcept {
  return word_bytes == 4 ? 16 : rows_of_strip(word_bytes);
}
inline constexpr std::int64_t strip_block_bytes = 128;  // of each row, that are read together

// Columns of a matrix that goes by item_strips-inl.hpp, at most: two lines of each are staged.
inline constexpr std::int64_t item_strip_cols = 1024;

// Of each of few columns, transposed together: see tall_skinny/tall_skinny-inl.hpp.
inline constexpr std::int64_t column_group_bytes = 128;

// Of each of few rows: see short_wide/short_wide-inl.hpp.
inline constexpr std::int64_t row_group_bytes = 128;

// Of a dst run that is summed at a time with an array that lies as dst does. That array is read by such pieces, and the
// core's prefetchers follow none that is shorter: pieces of 128 to 640 bytes, read and written, go at 12 GB/s, of 768 to
// 1024 at 26 to 30, where a copy has 23, whatever is fetched ahead (Intel Xeon, 2 MiB of L2, 2026-11-22).
inline constexpr std::int64_t summed_piece_bytes = 1024;

}  // namespace cornerturn::kernels::cpu
