// The tuned numbers of the CPU families that differ by machine, each with its reason. kernels/machine has them: a file for each
// kind of machine. Numbers that hold for all machines are in the offer.cpp that adds them.
//
// A time is relative to a copy of equal size: 2.0 means half the speed of the copy. A share is its inverse: 0.5. Machines of
// the measurements:
//   Zen 3  AMD EPYC of the 3rd generation, 512 KiB of L2     Zen 4  AMD EPYC of the 4th, 1 MiB of L2
//   SPR    Intel Xeon, model 143, 2 MiB of L2
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/machine.hpp"
#include "kernels/family.hpp"

namespace cornerturn::kernels::cpu {

// Predicted times of large problems on one thread. The offers add the costs of the geometry.
struct cpu_times {
  double copy_runs;       // the offer adds near_run_bytes or far_run_bytes, divided by the bytes of a run
  double near_run_bytes;  // overhead of a run whose neighbour in dst is within a page of src
  double far_run_bytes;   // overhead of any other run
  double register_tile;   // dst fits the cache
  double past_cache;  // register tiles, added if dst does not fit the cache: each line of dst is fetched before it is
                      // written, and again after its eviction
  double past_cache_bytes;   // added too, divided by the bytes of a word
  double buffered_in_cache;  // added to walks through a buffer when dst fits the cache: they copy twice
  double panels;             // stream, panels: runs of dst begin at cache lines
  double panels_carried;     // runs begin inside lines, so each piece leaves part of a line for the next one
  double panels_src_bytes;   // added, divided by the bytes of a src run: 408 bytes 0.31, staged lines 0.46 (Zen 4)
  double staged_lines;       // stream, staged lines: runs of dst begin at cache lines
  double staged_lines_carried;
  // Added, divided by the columns: 204628 x 2 of 16 bytes takes 8.8 times a copy's time, 25144 x 38 1.45 (Zen 4).
  double staged_lines_cols;
  double strips;
  // Words of 8 bytes; 0: as other words. Not where src rows are a multiple of 2 KiB apart: 2048 x 2048 0.58, panels 0.71 (Zen 4,
  // 2026-11-25).
  double strips_b8;
  // Added to strips_b8, divided by the bytes of a src run: with few columns staged lines are faster.
  double strips_b8_src_bytes;
  // Added to words of 8 bytes, divided by the bytes of a dst run: 20 x 44093 takes 4.0 times a copy's time, end to end 1.6; from 72 rows on
  // 1.5 (Intel Xeon, model 207, 2026-11-30).
  double strips_b8_dst_bytes;
  double elements;
  double elements_bytes;      // added, divided by the bytes of an element
  double elements_run_bytes;  // added, divided by the bytes of a dst run: no run is put together with its neighbours
  // Added to words of 4 bytes whose src rows are 80 to 128 bytes, or whose dst runs are up to 256 bytes in whole lines.
  // 193552 x 32: 0.68, tall_skinny 0.48; 60 x 32 x 3264: 0.85, end_to_end 0.51 (Zen 4, 2026-11-25). 239449 x 43: 0.67, tall_skinny
  // 0.88; 16 x 67 x 8470, axes 210: 0.81, strips 0.94 (Intel Xeon, model 207, 2026-11-25).
  double elements_few_b4;
  // Added to words of 16 bytes and even rows of less than 2 KiB: 61167 x 17 0.69, strips 0.86; 18819 x 61 0.70 and 0.94 (Intel Xeon,
  // model 207, 2026-11-25). 20 to 120 columns 0.48, strips 0.45, staged lines 0.7 (Zen 4, 2026-11-30).
  double elements_short_b16_rows;
  double strips_short_b16_rows;  // to strips of such words and rows
  double strips_b16;   // words of 16 bytes take no shuffle: 150830 x 9 0.59, staged lines 0.31 (Zen 4, 2026-11-23)
  double end_to_end;   // short dst runs, contiguous with their neighbours
  double narrow_rows;  // added for 1-byte elements, divided by the rows: few rows leave blocks of 16 rows part empty
  double whole_lines;  // short dst runs that fill cache lines
  double whole_lines_rows;  // added for 32 rows or more of words of 4 bytes or more
  double small_matrices;    // a batch of matrices in registers
  double tall_skinny;  // few columns, any number: 5625000 x 5 bytes 0.58 of a copy, staged lines 0.13; 12 columns of
                       // float32 0.82, panels 0.33 (Zen 4, 2026-11-23)
  double tall_skinny_many;  // more than 32 columns: 64 columns of bytes 0.33 of a copy, staged lines 0.64 (Zen 4)
  double split;             // 2, 3, 4, 8 or 16 columns
  double short_wide;        // few rows, any number: 5 x 5625000 bytes 0.54 of a copy, packed 0.23 (Zen 4, 2026-11-23)
  double short_wide_many;   // more than 16 rows of 4 or 8 bytes: 24 rows of float32 0.36 of a copy, packed 0.53 (Zen 4)
  double join;              // 2, 3, 4 or 8 rows
  double shuffle;           // byte shuffles of small blocks
  // Added, times the pairs of a chunk of dst and a chunk of src that a block has, divided by its bytes.
  double shuffle_pair_bytes;
  double shuffle_block_bytes;  // added, divided by the bytes of a block
  double shuffle_lines;        // whole lines by byte shuffles
  double shuffle_window;       // added for each window of a line
  // Added to walks over panels, divided by the bytes of a matrix that is one unit; 3 times for bytes, 4 times for words of 16.
  // 302088 x 16 x 3 float32 takes 5.7 times a copy, 195250 x 19 x 8 2.7 times, 50000 x 11 x 7 of 16 bytes 5.6 times (Zen 4,
  // 2026-11-24)
  double unit_bytes;
  double box;        // boxes of short axes
  double box_bytes;  // added, divided by the bytes of an element
  double box_parts;  // added where dst runs are no whole lines: they are stored through the cache
  double gather;     // the offer adds gather_bytes, divided by the bytes of an element
  double gather_bytes;
  double packed;             // short dst runs that are put together, of elements that are copied one by one
  double packed_bytes;       // added, divided by the bytes of an element
  double step;               // views: factor of the lines that a view touches, where a copy of its elements is 1
  double step_window_bytes;  // added for each window of a block, divided by the bytes of a block
  double step_word_bytes;    // added where words are moved one by one, divided by the bytes of a word
  double step_run_bytes;     // added, divided by the bytes of a run
  double step_strips;        // added where views are transposed, by strips
  double step_packed;        // added where short dst runs of a transposed view are put together
  double step_panels;        // added where views are transposed by panels
};

struct cpu_costs {
  const char* name;    // of the machine file; explain() prints these three
  const char* date;    // of its measurement
  const char* origin;  // "built in", or its path
  // One for each row of the list: `cornerturn calibrate` found that its predicted times are so many times too short. Null: all are 1.
  const float* factors;
  const float* cached_factors;  // of problems whose dst fits the cache
  // Panels (stream, and gather).
  std::int64_t piece_bytes;          // bytes written to a dst run at once: shorter pieces halve the store rate
  std::int64_t narrow_piece_bytes;   // piece_bytes for 1- and 2-byte elements, whose pieces take many rows
  std::int64_t carried_piece_bytes;  // piece_bytes when runs begin inside a line, so that each piece costs a carry
  std::int64_t panel_bytes;          // bytes of a src row read in one go: the hardware prefetcher needs long runs
  std::int64_t prefetch_bytes;       // software prefetch distance within a src row
  std::int64_t
      wide_ahead_bytes;        // prefetch_bytes for elements of more than 16 bytes. 24 bytes: 0.28 of a copy without,
                               // 0.37 with it (Zen 3, 2026-11-25); 18160 x 49: 0.18 and 0.42 (Zen 4, 2026-11-25); 0.29
                               // without, 0.19 with it (Intel Xeon, model 207, 2026-11-24)
  std::int64_t narrow_buffer;  // buffer of a panel with few columns. Loads and stores overlap only when they
                               // alternate often: float32 8500000 x 2 reaches 0.67 with 4 KiB and 0.79 with 2 KiB
                               // (Zen 4, 2026-11-21)
  // Staged lines. Shares of a copy on one core of Zen 3, 2026-11-21.
  std::int64_t staged_lines;   // lines of a dst run that are written together when all runs begin in one slice of the
                               // last-level cache: float32, dst pitch 10 KiB: 1 line 0.33, 2 0.62, 4 0.75, 8 0.58
  std::int64_t carried_lines;  // lines that are written together when runs begin inside lines: 9999 x 7001: 1 line
                               // 0.51, 2 or 4 lines 0.60. For elements of 8 bytes or more one line is best
  std::int64_t direct_cols;    // dst runs that are written side by side when one line is staged; each has its own page:
                               // 1760 runs are a quarter slower
  std::int64_t panel_cols;     // dst runs that are written side by side when lines are staged in L2. Half of them when
                               // runs are whole pages apart: 8192 x 8192 0.37 with 512, 0.41 with 256 and half the
                               // prefetch distance
  std::int64_t lines_ahead_bytes;  // prefetch distance of whole lines: 2 KiB and 8 KiB are 5 to 10 % slower
  // Strips. Shares of a copy on one core of SPR, 2026-11-22.
  std::int64_t strip_bytes;  // bytes of a src row that are read before the next rows. Half of them for 1- and 2-byte
                             // elements and for runs that are whole pages apart
  std::int64_t strip_ahead_bytes;  // prefetch distance: none 0.76, 256 to 1024 bytes 0.9 to 1.0
  // Tall and skinny, short and wide. Shares of a copy (SPR).
  std::int64_t tall_skinny_bytes;  // most bytes of a row: 100 columns of bytes 0.72, strips 0.47; no gain from 300 on
  std::int64_t tall_skinny_run_bytes;   // fewest bytes of a column: 0.37 instead of 0.27 for 600 bytes, no gain for
                                        // 500
  std::int64_t short_wide_bytes;        // most bytes of a column
  std::int64_t short_wide_run_bytes;    // fewest bytes of a row: 5 rows of 2 KB 0.47, end_to_end 0.59
  std::int64_t short_wide_panel_bytes;  // bytes of each row that are read in one go
  // End to end.
  std::int64_t long_run_bytes;    // dst runs of this length are long enough when src rows are short: OIHW to HWIO
                                  // reaches 0.10 without this limit and 0.45 with it (Zen 3, 2026-11-21). split.cpp
                                  // has another limit for the shortest src rows
  std::int64_t end_to_end_bytes;  // a dst run up to this long is gathered with its neighbours, and they are written
                                  // as one
  std::int64_t narrow_end_to_end_bytes;  // this limit for 1- and 2-byte elements: 80 rows of 2 bytes 0.14, panels 0.28
                                         // (Zen 4, 2026-11-23)
  std::int64_t
      long_rows_end_to_end_bytes;       // this limit if more than 40 src rows are long and end_to_end_row_bytes is more
                                        // than a line: 304 x 103719 bytes 0.43, strips 0.26 (Zen 3, 2026-11-25)
  std::int64_t end_to_end_panel_bytes;  // bytes of such neighbours that are read at a time
  std::int64_t end_to_end_row_bytes;  // fewest bytes of a src row of them, if more than 40 rows are long: 72 x 55224 of
                                      // 12 bytes 0.26 with a line, 0.59 with 256 bytes (Zen 3, 2026-11-25)
  // Runs.
  std::int64_t run_ahead_bytes;    // prefetch distance
  std::int64_t tiled_outer_bytes;  // bytes of consecutive dst runs that are copied before the runs beside them in
                                   // src; 0: no tiles, the order of dst. 8 x 2048 x 32 x 128, 0213, 2 bytes: 0.44 of
                                   // a copy in the order of dst, 0.75 with 2 KiB (Zen 4, 2026-11-23)
  std::int64_t tiled_near_bytes;   // tiled_outer_bytes for runs whose neighbours in dst are within a page of src: 8 x
                                   // 2048 x 32 x 64, 0213, 2 bytes: 0.66 in the order of dst, 0.60 tiled (Zen 4,
                                   // 2026-11-23)
  // Views. Prefetch distance in src: 8 steps, against NumPy: 1.26 without, 1.59 with it (Intel Xeon, model 207, 2026-11-27); 24 steps:
  // 1.10 without, 0.92 with it (Zen 4, 2026-11-29). 0: none.
  std::int64_t step_ahead_bytes;
  // Least prefetch distance in a src that is read backwards, or in short rows with gaps behind them. 12 flips of 16 to 64 MiB 0.68 of
  // the roof without, 0.78 with it; 12 steps without rows 0.53 without, 0.48 with it (Intel Xeon, model 207, 2026-11-27). Rows: 7 views
  // of 4 to 24 MiB take 0.64 of the time with it (Zen 4, 2026-11-29).
  std::int64_t step_back_ahead_bytes;
  // Prefetch distance in a dst with gaps. 48 of each 64 bytes of dst: 37 ms without, 31 ms with it (Intel Xeon, model 207, 2026-11-27); 24 steps,
  // against NumPy: 1.20 without, 1.12 with it (Zen 4, 2026-11-29).
  std::int64_t step_gap_ahead_bytes;
  std::int64_t box_bytes;            // size of a box of short axes: it stays in half of the L1
  std::int64_t page_prefetch_bytes;  // a src that is read in order is prefetched four pages at a time from this size
                                     // on; 0: never. Zen 4 loses: 16 x 1062500 float32 0.95 without, 0.59 with it
                                     // (2026-11-23)
  bool line_tiles;  // when dst fits the cache, AVX-512 tiles fill whole lines of dst: 64 x 64 float32 257 ns, with
                    // blocks 340 ns; 64 x 64 bytes 113 ns, with blocks 210 ns (SPR, 2026-11-22). Zen 4 loses: 294 ns,
                    // with blocks 251 ns (2026-11-23)
  std::int64_t swap_bytes;  // bytes of a row of a tile that is swapped in place: 10000 x 10000 float32 0.42 of a
                            // rewrite with 256, 0.93 with 1 KiB, 0.6 with 2 KiB (SPR)
  bool cycles_through_l2;   // in place: items of rectangles are prefetched six places ahead into L2, else two into L1.
                            // Items of 1 to 4 KB: 28 to 36 GB/s, and 20 into L1 (Zen 4, 2026-11-25)
  std::int64_t thread_bytes;  // bytes moved that are worth one more thread: a team costs about 5 us to start
  cpu_times times;
};

// Returns the constants of the nearest machine (kernels/machine/known.hpp).
// Cost    a search; target::costs has them for offers
[[nodiscard]] const cpu_costs& costs_of(const base::machine& machine) noexcept;
[[nodiscard]] inline const cpu_costs& costs_of(const target& on) noexcept { return *on.costs; }

// Returns the first number that the kernels cannot serve, as "panel_bytes 12, wanted 1024 to 1048576"; "": there is none.
[[nodiscard]] std::string fault_of(const cpu_costs& one);

// A dst up to this size is written with ordinary stores: it stays in the cache for the next reader.
[[nodiscard]] std::int64_t cached_limit_bytes(const base::machine& machine) noexcept;
[[nodiscard]] bool fits_cache(const facts& known, const target& on) noexcept;

}  // namespace cornerturn::kernels::cpu
