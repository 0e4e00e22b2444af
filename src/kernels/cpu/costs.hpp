// Every tuned number of the CPU families: one row per kind of machine, each number with its reason.
//
// Times are relative to a copy of as many bytes: 1 / share. Machines of the measurements:
//   Zen 3  AMD EPYC of the 3rd generation, 512 KiB of L2     Zen 4  AMD EPYC of the 4th, 1 MiB of L2
//   SPR    Intel Xeon, model 143, 2 MiB of L2
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/machine.hpp"
#include "kernels/family.hpp"

namespace cornerturn::kernels::cpu {

// Predicted times of large problems, one thread; the offers add what the geometry costs.
struct cpu_times {
  double copy_runs;          // plus run_overhead_* / bytes of a run
  double near_run_bytes;     // overhead of a run whose neighbour in dst is within a page of src
  double far_run_bytes;      // overhead of any other run
  double register_tile;      // in the cache
  double buffered_in_cache;  // walks through a buffer, where dst fits the cache: copied twice
  double panels;             // stream: runs of dst begin at cache lines
  double panels_carried;     // they do not: each piece leaves part of a line for the next one
  double staged_lines;
  double staged_lines_carried;
  double strips;
  double end_to_end;        // short dst runs, contiguous with their neighbours
  double narrow_rows;       // of elements of a byte, plus so much / rows: blocks of 16 rows have few of them
  double whole_lines;       // they fill cache lines
  double small_matrices;    // a batch of matrices in registers
  double tall_skinny;       // few columns, any number. Zen 4, shares: 5625000 x 5 bytes 0.58, staged lines 0.13; 12
                            // columns of float32 0.82, panels 0.33 (2026-11-23)
  double tall_skinny_many;  // more than 32 columns. Zen 4: 64 columns of bytes 0.33, staged lines 0.64
  double split;             // 2, 3, 4, 8 or 16 columns
  double short_wide;        // few rows, any number. Zen 4, shares: 5 x 5625000 bytes 0.54, packed 0.23 (2026-11-23)
  double short_wide_many;   // more than 16 rows. Zen 4: 24 rows of float32 0.36, packed 0.53
  double join;              // 2, 3, 4 or 8 rows
  double box;               // boxes of short axes
  double gather;            // plus gather_bytes / bytes of an element
  double gather_bytes;
};

struct cpu_costs {
  const char* name;  // of the machine row; explain() prints it
  // Panels (stream, and gather).
  std::int64_t piece_bytes;          // written to a dst run at once: shorter pieces halve the store rate
  std::int64_t narrow_piece_bytes;   // of 1- and 2-byte elements, whose pieces take many rows
  std::int64_t carried_piece_bytes;  // where runs do not begin at a line, so that each piece costs a carry
  std::int64_t panel_bytes;          // of a src row read in one go: the hardware prefetcher needs long runs
  std::int64_t prefetch_bytes;       // software prefetch distance within a src row
  std::int64_t narrow_buffer;        // of a panel with few columns: reads and stores overlap only when they alternate
                                     // often: float32 8500000 x 2 0.67 with 4 KiB, 0.79 with 2 KiB (Zen 4, 2026-11-21)
  // Staged lines. Shares on one core of Zen 3, 2026-11-21.
  std::int64_t staged_lines;   // lines of a dst run that are written together where all runs begin in one slice of the
                               // last-level cache: float32, dst pitch 10 KiB: 1 line 0.33, 2 0.62, 4 0.75, 8 0.58
  std::int64_t carried_lines;  // where runs do not begin at lines: 9999 x 7001: 1 line 0.51, 2 or 4 lines 0.60; from 8
                               // bytes on one line is best
  std::int64_t direct_cols;    // dst runs in flight, each with a page of its own, when one line is staged: 1760 lose a
                               // quarter
  std::int64_t panel_cols;     // dst runs in flight when lines are staged in L2; half of it where runs are whole pages
                               // apart: 8192 x 8192 0.37 with 512, 0.41 with 256 and half the prefetch distance
  std::int64_t lines_ahead_bytes;  // prefetch distance of whole lines: 2 KiB and 8 KiB lose 5 to 10 %
  // Strips. Shares on one core of SPR, 2026-11-22.
  std::int64_t strip_bytes;        // of a src row that are read before the next rows; half of it for 1- and 2-byte
                                   // elements and for runs whole pages apart
  std::int64_t strip_ahead_bytes;  // prefetch distance: none 0.76, 256 to 1024 0.9 to 1.0
  // Tall and skinny, short and wide (SPR).
  std::int64_t tall_skinny_bytes;       // of a row at most: 100 columns of bytes 0.72, strips 0.47; from 300 on no gain
  std::int64_t tall_skinny_run_bytes;   // of a column at least: runs of 600 bytes 0.37 and 0.27, of 500 no difference
  std::int64_t short_wide_bytes;        // of a column at most
  std::int64_t short_wide_run_bytes;    // of a row at least: 5 rows of 2 KB 0.47, end to end 0.59
  std::int64_t short_wide_panel_bytes;  // of each row in one go
  // End to end.
  std::int64_t long_run_bytes;    // dst runs need not be longer where src rows are short: OIHW to HWIO 0.10 without a
                                  // limit, 0.45 with it (Zen 3, 2026-11-21)
  std::int64_t end_to_end_bytes;  // a dst run up to this long is gathered with its neighbours and written as one
  std::int64_t end_to_end_panel_bytes;  // of such neighbours that are read at a time
  // Runs.
  std::int64_t run_ahead_bytes;    // prefetch distance
  std::int64_t tiled_outer_bytes;  // of dst that runs write before the runs beside them in src; 0: in dst's order.
                                   // 8 x 2048 x 32 x 128, 0213, 2 bytes: 0.44 in dst's order, 0.75 with 2 KiB (Zen 4,
                                   // 2026-11-23)
  std::int64_t
      tiled_near_bytes;    // of runs whose neighbours in dst are within a page of src: 8 x 2048 x 32 x 64, 0213, 2
                           // bytes: 0.66 in dst's order, 0.60 tiled (Zen 4, 2026-11-23)
  std::int64_t box_bytes;  // of a box of short axes: it stays in half of the L1
  std::int64_t
      page_prefetch_bytes;  // src that is read in order for so long at least is fetched page by page; 0: never.
                            // Zen 4 loses: 16 x 1062500 float32 0.95 without, 0.59 so (2026-11-23)
  bool line_tiles;  // in the cache, AVX-512 fills whole lines of dst: 64 x 64 and 512 x 512 bytes 210 ns and 44 us by
                    // blocks, 113 and 13 so, of 4 bytes 340 ns and 257 (SPR, 2026-11-22). Zen 4: 251 ns by blocks, 294
                    // so (2026-11-23)
  std::int64_t swap_bytes;    // of a row of a tile that is swapped in place: 10000 x 10000 float32 0.42 of a rewrite
                              // with 256, 0.93 with 1 KiB (SPR); 2 KiB 0.6
  std::int64_t thread_bytes;  // bytes moved that are worth one more thread: a team costs about 5 us to start
  cpu_times times;
};

[[nodiscard]] const cpu_costs& costs_of(const base::machine& machine) noexcept;

// dst up to this size is written with ordinary stores: it stays in the cache, where the next reader finds it.
[[nodiscard]] std::int64_t cached_limit_bytes(const base::machine& machine) noexcept;

// Threads that so many bytes are worth.
[[nodiscard]] inline int threads_for(std::int64_t bytes, int most, const cpu_costs& costs) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(bytes / (costs.thread_bytes / 2), 1, std::max(most, 1)));
}

}  // namespace cornerturn::kernels::cpu
