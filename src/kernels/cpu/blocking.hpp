// How a problem is cut for the walks over rows and columns: the arguments that all of these walks share.
//
//   rows   axes that are contiguous in dst: rows.axes[0] has dst stride 1 element. A walk writes runs of rows
//   cols   axes of one pitch in src, contiguous unless elements are gathered. A walk reads runs of columns
//   outer  all remaining axes; the last one is the fastest
//
// A unit of work is one outer index, one panel of columns and one chunk of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu {

struct blocking {
  static constexpr bool is_blocking = true;  // also of structs that begin with it
  std::int64_t word_bytes = 1;               // strides count words
  std::int64_t element_bytes = 1;            // size of one (row, column): a word, or a whole inner run
  fused_axes rows;
  fused_axes cols;
  fused_axes outer;
  std::int64_t src_col_bytes = 1;   // from one column to the next in src
  std::int64_t panel = 1;           // columns of one unit: dst runs that a thread writes side by side
  std::int64_t group = 1;           // rows that are read before the panel is written
  std::int64_t row_chunk = 1;       // rows of one unit
  std::int64_t prefetch_bytes = 0;  // distance of the software prefetch; 0: none
  std::int64_t src_end_bytes = 0;   // end of the bytes that src spans, from the word of index 0
  bool streaming = false;           // non-temporal stores
  bool prefetches_pages = false;    // src is read in order: see page_prefetcher.hpp

  [[nodiscard]] std::int64_t panels() const noexcept { return base::ceil_div(cols.total, panel); }
  [[nodiscard]] std::int64_t row_chunks() const noexcept { return base::ceil_div(rows.total, row_chunk); }
  [[nodiscard]] std::int64_t units() const noexcept { return outer.total * panels() * row_chunks(); }
};

// For columns that are contiguous in dst one after another: a whole panel is one dst run.
struct packed_blocking : blocking {
  fused_axes read_order;         // the axes of outer, in the order of the prefetcher
  std::int64_t ahead_units = 1;  // how many units the prefetcher is ahead
};

inline constexpr std::int64_t packed_rows = 1024;         // most rows of such a panel
inline constexpr std::int64_t packed_ahead_bytes = 8192;  // prefetch distance

}  // namespace cornerturn::kernels::cpu
