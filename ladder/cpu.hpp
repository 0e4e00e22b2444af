// The ladder of the CPU: each rung adds one idea, from two loops to non-temporal stores of whole cache lines.
// The roof (00_copy) and the library (90_library) are measured with it, but are not in this table.
//
//   10_scattered_store  two loops in the order of src: consecutive stores are to different lines of dst
//   20_scattered_load   two loops in the order of dst: consecutive loads are from different lines of src
//   30_blocked          blocks of one line (64 bytes) per side: a line is used completely while it is in L1
//   40_simd             a block is transposed in registers: loads 16 bytes of a row, stores 16 bytes of a column
//   50_non_temporal     the transposed block is staged in a buffer, and whole lines of dst are stored past the cache
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>

namespace cornerturn::ladder {

struct cpu_matrix {  // leading dimensions in elements
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t src_ld;
  std::int64_t dst_ld;
};

struct cpu_rung {
  const char* name;
  int word_bytes;
  // Minimum number of lines transferred between memory and caches per line of the matrix: src is read, dst is written,
  // and an ordinary store reads its line of dst first. The best copy transfers two.
  int lines;
  void (*run)(const void* src, void* dst, const cpu_matrix& shape);  // on one thread, any shape and alignment
};

// Returns the rungs in order, for elements of 1, 2, 4 and 8 bytes, if this processor has their instructions.
[[nodiscard]] std::span<const cpu_rung> cpu_rungs();

// Checks every rung on every kind of edge, with guard bytes around dst. Writes each failure to `out` and returns their
// number.
int check_cpu_rungs(std::ostream& out, std::span<const cpu_rung> rungs = cpu_rungs());

}  // namespace cornerturn::ladder
