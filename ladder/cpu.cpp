#include "cpu.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace cornerturn::ladder {
namespace {

constexpr int line_bytes = 64;

// 10
template <class Word>
void scattered_store(const Word* src, Word* dst, const cpu_matrix& m) {
  for (std::int64_t row = 0; row < m.rows; ++row) {
    for (std::int64_t col = 0; col < m.cols; ++col) dst[col * m.dst_ld + row] = src[row * m.src_ld + col];
  }
}

// 20
template <class Word>
void scattered_load(const Word* src, Word* dst, const cpu_matrix& m) {
  for (std::int64_t col = 0; col < m.cols; ++col) {
    for (std::int64_t row = 0; row < m.rows; ++row) dst[col * m.dst_ld + row] = src[row * m.src_ld + col];
  }
}

// Calls block(src, dst) for each block of one line per side. The rest at the edges is copied element by element.
template <class Word, class Block>
void in_blocks(const Word* src, Word* dst, const cpu_matrix& m, const Block& block) {
  constexpr std::int64_t side = line_bytes / sizeof(Word);
  for (std::int64_t row = 0; row < m.rows; row += side) {
    for (std::int64_t col = 0; col < m.cols; col += side) {
      const Word* const from = src + row * m.src_ld + col;
      Word* const to = dst + col * m.dst_ld + row;
      const std::int64_t rows = std::min(side, m.rows - row), cols = std::min(side, m.cols - col);
      if (rows == side && cols == side) {
        block(from, to);
      } else {
        scattered_load(from, to, {rows, cols, m.src_ld, m.dst_ld});
      }
    }
  }
}

// 30
template <class Word>
void blocked(const Word* src, Word* dst, const cpu_matrix& m) {
  constexpr std::int64_t side = line_bytes / sizeof(Word);
  in_blocks(src, dst, m, [&](const Word* from, Word* to) {
    scattered_load(from, to, {side, side, m.src_ld, m.dst_ld});
  });
}

template <class Word>
using row_piece [[gnu::vector_size(16)]] = Word;

// Interleaves the lower (Half = 0) or upper (Half = 1) halves of a and b.
template <int Half, class Word, std::size_t... I>
row_piece<Word> zipped(row_piece<Word> a, row_piece<Word> b, std::index_sequence<I...>) {
  constexpr int count = sizeof...(I);
  return __builtin_shufflevector(a, b,
                                 (static_cast<int>(I) % 2 * count + Half * count / 2 + static_cast<int>(I) / 2)...);
}

// Transposes a block of 16 bytes per side in registers. Each of log2(count) rounds interleaves row i with row
// i + count / 2. dst is the matrix or, in 50, the buffer.
template <class Word>
void in_registers(const Word* src, std::int64_t src_ld, Word* dst, std::int64_t dst_ld) {
  constexpr int count = 16 / sizeof(Word);
  constexpr auto each = std::make_index_sequence<count>();
  row_piece<Word> row[count], next[count];
  for (int i = 0; i < count; ++i) std::memcpy(&row[i], src + i * src_ld, 16);
  for (int round = 1; round < count; round *= 2) {
    for (int i = 0; i < count / 2; ++i) {
      next[2 * i] = zipped<0, Word>(row[i], row[i + count / 2], each);
      next[2 * i + 1] = zipped<1, Word>(row[i], row[i + count / 2], each);
    }
    std::copy_n(next, count, row);
  }
  for (int i = 0; i < count; ++i) std::memcpy(dst + i * dst_ld, &row[i], 16);
}

template <class Word>
void line_block(const Word* src, std::int64_t src_ld, Word* dst, std::int64_t dst_ld) {
  constexpr int side = line_bytes / sizeof(Word), step = 16 / sizeof(Word);
  for (int col = 0; col < side; col += step) {
    for (int row = 0; row < side; row += step) {
      in_registers(src + row * src_ld + col, src_ld, dst + col * dst_ld + row, dst_ld);
    }
  }
}

// 40
template <class Word>
void simd(const Word* src, Word* dst, const cpu_matrix& m) {
  in_blocks(src, dst, m, [&](const Word* from, Word* to) { line_block(from, m.src_ld, to, m.dst_ld); });
}

#if defined(__x86_64__)
// 50. A line of dst that is not aligned to 64 bytes is stored as in 40.
template <class Word>
void non_temporal(const Word* src, Word* dst, const cpu_matrix& m) {
  constexpr int side = line_bytes / sizeof(Word);
  in_blocks(src, dst, m, [&](const Word* from, Word* to) {
    alignas(line_bytes) Word buffer[side * side];
    line_block(from, m.src_ld, buffer, side);
    for (int col = 0; col < side; ++col) {
      const auto* const line = reinterpret_cast<const __m128i*>(buffer + col * side);
      auto* const target = reinterpret_cast<__m128i*>(to + col * m.dst_ld);
      const bool whole = reinterpret_cast<std::uintptr_t>(target) % line_bytes == 0;
      for (int i = 0; i < 4; ++i) {
        whole ? _mm_stream_si128(target + i, line[i]) : _mm_storeu_si128(target + i, line[i]);
      }
    }
  });
  _mm_sfence();
}
#endif

template <class Word, void (*Run)(const Word*, Word*, const cpu_matrix&)>
void typed(const void* src, void* dst, const cpu_matrix& shape) {
  Run(static_cast<const Word*>(src), static_cast<Word*>(dst), shape);
}

template <class Word>
void add(std::vector<cpu_rung>& table) {
  constexpr int bytes = sizeof(Word);
  table.push_back({"10_scattered_store", bytes, 3, &typed<Word, scattered_store<Word>>});
  table.push_back({"20_scattered_load", bytes, 3, &typed<Word, scattered_load<Word>>});
  table.push_back({"30_blocked", bytes, 3, &typed<Word, blocked<Word>>});
  table.push_back({"40_simd", bytes, 3, &typed<Word, simd<Word>>});
#if defined(__x86_64__)
  table.push_back({"50_non_temporal", bytes, 2, &typed<Word, non_temporal<Word>>});
#endif
}

}  // namespace

std::span<const cpu_rung> cpu_rungs() {
  static const std::vector<cpu_rung> table = [] {
    std::vector<cpu_rung> made;
    add<std::uint8_t>(made);
    add<std::uint16_t>(made);
    add<std::uint32_t>(made);
    add<std::uint64_t>(made);
    return made;
  }();
  return table;
}

}  // namespace cornerturn::ladder
