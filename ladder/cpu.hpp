// The ladder of a machine without a GPU: one idea a rung, from two loops to whole lines written past the cache.
// The roof below it (00_copy) and the library above it (90_library) are measured beside it; they are not here.
//
//   10_scattered_store  two loops in the order of src: each store goes to another line of dst
//   20_scattered_load   the same loops in the order of dst
//   30_blocked          blocks of one line (64 bytes) a side, so that a line is used up while L1 holds it
//   40_simd             the block goes through registers: 16 bytes of a row in, 16 bytes of a column out
//   50_non_temporal     ... and through a buffer, from which whole lines of dst leave past the cache
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
  // Lines that have to pass between memory and caches for each line of the matrix, at least: src is read, dst is
  // written, and an ordinary store reads its line of dst first. Two of them are what the best copy moves.
  int lines;
  void (*run)(const void* src, void* dst, const cpu_matrix& shape);  // on one thread, any shape and alignment
};

// In their order, for elements of 1, 2, 4 and 8 bytes; those that this processor has the instructions for.
[[nodiscard]] std::span<const cpu_rung> cpu_rungs();

// Every rung on every kind of edge, guards round dst. Returns the number of failures, each of which is written to
// `out`.
int check_cpu_rungs(std::ostream& out, std::span<const cpu_rung> rungs = cpu_rungs());

}  // namespace cornerturn::ladder
