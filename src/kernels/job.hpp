// What every kernel is handed: the canonical problem, and how the plan cut it up.
//
//   dst side   `rows` is a chain of axes that is contiguous in dst: rows[0] has dst stride 1, each next one continues
//              where the last ended. A kernel writes runs of consecutive rows.
//   src side   `cols` is a chain that is contiguous in src in the same way (or, for gathers, one axis of any stride).
//              A kernel reads runs of consecutive columns.
//   the rest   `outer`, odometer order, last one fastest.
//
// Work is counted in units, one (outer index, column panel, row chunk) each; a kernel runs any range of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/op.hpp"
#include "map/canonical.hpp"

namespace cornerturn::kernels {

// Axes walked as one: index i is split with axes[0] fastest.
struct chain {
  std::array<axis, map::max_axes> axes{};
  int rank = 0;
  std::int64_t total = 1;
};

// What the family `cycles` moves. Places are numbered in the order of addresses, so many in a row. The item at place
// x * inner + y, y < inner and x < outer, goes to place Y * outer + X, where X = x + turned_outer modulo outer and
// Y = y + turned_inner modulo inner. Some places in a row are away: their items are read, or written, in the workspace,
// end to end.
struct item_cycles {
  std::int64_t row_bytes = 0;  // from one row of places to the next; items of a row lie end to end
  std::int64_t row_places = 1;
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  std::int64_t turned_inner = 0;
  std::int64_t turned_outer = 0;
  std::int64_t first_away = 0;
  std::int64_t count_away = 0;
  bool writes_away = false;   // else it reads
  std::int64_t away_at = 0;   // in the workspace
  std::int64_t flags_at = 0;  // the same; all 0 before the first unit moves
};

struct job {
  map::canonical form;
  std::int64_t element_bytes = 1;  // what one (row, column) is: a word, or a whole inner run
  chain rows;
  chain cols;
  chain outer;
  std::int64_t src_col_bytes = 1;   // from one column to the next in src
  std::int64_t panel = 1;           // columns that are in flight at once: dst runs that a thread keeps open
  std::int64_t group = 1;           // rows moved before the panel is written out
  std::int64_t parked = 1;          // lines of a dst run that are written together; a power of two. 0: whole groups
  std::int64_t row_lines = 1;       // lines of a src row that are read together where lines are parked
  std::int64_t row_chunk = 1;       // rows of one unit
  bool packed = false;              // the columns of a panel lie end to end in dst: written as one run
  bool few_columns = false;         // all columns of some rows are turned together: few_columns-inl.hpp
  bool few_rows = false;            // so are all rows of some columns: few_rows-inl.hpp
  bool line_tiles = false;          // in the cache, whole lines of dst at a time: line_tile-inl.hpp
  bool streaming = false;           // non-temporal stores
  std::int64_t prefetch_bytes = 0;  // how far ahead in a row; 0: leave it to the hardware
  bool by_pages = false;            // src is read from its begin to its end, and fetched as kernels/cpu/pages.hpp says
  bool alternates = false;          // the last two axes of outer follow each other in src the other way round
  std::int64_t src_hi_bytes = 0;    // end of the bytes that src spans, from the pointer of index 0
  std::int64_t units = 1;
  item_cycles cycles{};
  op math{};  // of the family `apply`
  bool along_src =
      false;  // its elements are computed in runs of columns before they are turned, not of rows afterwards

  [[nodiscard]] std::int64_t panels() const noexcept { return base::ceil_div(cols.total, panel); }
  [[nodiscard]] std::int64_t row_chunks() const noexcept { return base::ceil_div(rows.total, row_chunk); }
};

// Effect  moves units [begin, end) of the job; src and dst point at the word of index 0 on either side
// Alias   two calls on disjoint ranges write disjoint bytes
using kernel_function = void (*)(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                                 std::int64_t end) noexcept;

// Effect  moves units [begin, end) of a job whose src is its dst; `data` points at the word of index 0
// Shape   `workspace` has as many bytes as the plan says, contents unspecified; kernels that need none ignore it
// Alias   calls on disjoint ranges touch disjoint bytes of both, or agree about them by flags in the workspace
using in_place_function = void (*)(const job& work, std::byte* data, std::byte* workspace, std::int64_t begin,
                                   std::int64_t end) noexcept;

// The arrays of a job with math, each at the word of index 0.
struct arrays {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  const std::byte* second =
      nullptr;                      // where math.second is source; dst itself, with its strides, where beta wants that
  std::byte* second_dst = nullptr;  // where it is destination
  float scale = 1;
};

// Effect  dst = math(src, second) for units [begin, end) of the job
// Alias   two calls on disjoint ranges write disjoint bytes. Where second is dst, each element is read before it is
//         written and by the call that writes it
using apply_function = void (*)(const job& work, const arrays& all, std::int64_t begin, std::int64_t end) noexcept;

}  // namespace cornerturn::kernels
