// The canonical problem. Problems that copy equal bytes in equal axis order have one canonical form.
//   1. an extent of 0 makes the problem empty, of rank 0
//   2. axes of extent 1 are dropped
//   3. an element size that is not a power of two up to 16 bytes is split into words
//      - a word is the largest power of two that divides the element size
//      - a trailing unit-stride axis counts the words of an element
//   4. axes are ordered by the magnitude of their dst stride, largest first
//   5. an axis is flipped if its stride of smaller magnitude is negative (of equal strides: the dst stride). Where it continues a run
//      of dst that is shorter than line_bytes and no multiple of 16 bytes, the dst stride decides, so that the run goes on. Not in place
//   6. adjacent axes that are contiguous in both src and dst are folded into one axis
//   7. an innermost axis that is contiguous on both sides is widened into larger words, up to max_word_bytes
// With arithmetic a word is an element: 3 and 7 are skipped, and 6 also requires contiguous axes in the second array.
// If beta applies to dst, the second array is dst.
// Without a second array its strides are 0.
#pragma once

#include <array>
#include <cstdint>

#include "cornerturn/problem.hpp"

namespace cornerturn::map {

inline constexpr int max_axes = max_rank + 1;  // one more for the words inside an element
// Of a cache. 13 x N backwards of 6 and 8 bytes have 0.99 and 1.01 of a copy on a GPU with 128, 0.46 and 0.72 with 64 (H200,
// 2026-11-29). In the cache of a CPU 100 rows of bytes take 1.9 times as long with 128 (Intel Xeon, model 207).
inline constexpr std::int64_t cpu_line_bytes = 64, gpu_line_bytes = 128;

struct canonical {
  std::int64_t word_bytes = 1;      // 1, 2, 4, 8 or 16; strides and offsets count words
  std::int64_t dst_word_bytes = 1;  // differs from word_bytes only for conversions; also of the second array
  int rank = 0;
  bool empty = false;
  std::array<axis, max_axes> axes{};  // outermost in dst first
  std::int64_t src_offset = 0;        // from the caller's pointer to the word of index 0
  std::int64_t dst_offset = 0;
  std::int64_t second_offset = 0;
  friend bool operator==(const canonical&, const canonical&) = default;
};

// The bytes that one side accesses, relative to the caller's pointer: [lo, hi).
struct byte_span {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

// Requires  a problem that api/check.cpp accepts: products and spans fit 63 bits
[[nodiscard]] canonical canonicalize(const problem& what, std::int64_t max_word_bytes = 16,
                                     std::int64_t line_bytes = cpu_line_bytes) noexcept;

[[nodiscard]] std::int64_t words(const canonical& form) noexcept;  // total number of words; 0 if empty
[[nodiscard]] byte_span src_span(const canonical& form) noexcept;
[[nodiscard]] byte_span dst_span(const canonical& form) noexcept;
[[nodiscard]] byte_span second_span(const canonical& form) noexcept;

// True if math changes no element and writes no second array: a copy of bits computes the result.
[[nodiscard]] bool only_moves(const problem& what) noexcept;

// The word offsets of the linear index i (last axis fastest), 0 <= i < words(form).
struct offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t second = 0;
};
[[nodiscard]] offsets at(const canonical& form, std::int64_t i) noexcept;

}  // namespace cornerturn::map
