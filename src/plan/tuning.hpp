// Every tuned number of the CPU engine, one row per kind of machine, each with its reason.
#pragma once

#include <cstdint>

#include "base/machine.hpp"

namespace cornerturn::planning {

struct cpu_tuning {
  const char* name;                  // of the row; explain() prints it
  std::int64_t piece_bytes;          // what one visit writes to a dst run: shorter pieces halve the store rate
  std::int64_t narrow_piece_bytes;   // the same for 1- and 2-byte elements, whose pieces take many rows
  std::int64_t carried_piece_bytes;  // the same where runs do not begin at a line, so that each piece costs a carry
  bool
      whole_pieces;  // where runs begin at lines, pieces of piece_bytes go through panel-inl.hpp and nothing is parked:
                     // AMD EPYC of the 4th generation (L2 of 1 MiB), GB/s read and written, 2026-11-21: float32
                     // 10000 x 6992 17 parked and 24 so, 8192 x 8192 15 and 22; odd pitches lose, 20.8 and 18.2
  // Blocks of whole lines (parked-inl.hpp). Measured on one core of AMD EPYC 3rd generation, 2026-11-21, shares of a
  // copy.
  std::int64_t parked_lines;   // lines of a dst run that are written together where all runs begin in the same slice of
                               // the last-level cache: float32, dst pitch 10 KiB: 1 line 0.33, 2 0.62, 4 0.75, 8 0.58
  std::int64_t carried_lines;  // the same where runs do not begin at lines, so that each piece costs a carry: 9999 x
                               // 7001: 1 line 0.51, 2 or 4 lines 0.60; from 8 bytes on one line is best
  std::int64_t direct_cols;    // dst runs in flight, each with a page of its own, when nothing is parked: 1760 lose a
                               // quarter
  std::int64_t panel_cols;     // the same when lines are parked in L2; half of it where runs are whole pages apart:
                               // 8192 x 8192 0.37 with 512, 0.41 with 256 and half the distance of the scout
  // Strips of blocks of 128 bytes (strips-inl.hpp). Measured on one core of an Intel Xeon (model 143, 2 MiB of L2),
  // 2026-11-22, shares of a copy.
  std::int64_t strip_bytes;        // of a src row that are walked before the next rows; half of it for 1- and 2-byte
                                   // elements and for runs whole pages apart; 0: parked-inl.hpp instead
  std::int64_t strip_ahead_bytes;  // how far ahead in the rows blocks are fetched: none 0.76, 256 to 1024 0.9 to 1.0
  // Few columns (few_columns-inl.hpp). The same machine, shares of a copy.
  std::int64_t few_columns_bytes;      // of a row at most: 100 columns of bytes 0.72, strips 0.47; from 300 on the same
  std::int64_t few_columns_run_bytes;  // of a column at least: runs of 600 bytes 0.37 and 0.27, of 500 no difference
  // Few rows (few_rows-inl.hpp).
  std::int64_t few_rows_bytes;        // of a column at most
  std::int64_t few_rows_run_bytes;    // of a row at least: 5 rows of 2 KB 0.47, as other short runs 0.59
  std::int64_t few_rows_panel_bytes;  // of each row in one go
  std::int64_t scout_bytes;     // how far ahead of the block in work lines are fetched: 2 KiB and 8 KiB lose 5 to 10 %
  std::int64_t panel_bytes;     // of a src row read in one go: the hardware prefetcher wants long runs
  std::int64_t prefetch_bytes;  // software prefetch distance within a src row
  std::int64_t narrow_buffer;   // tile buffer when a panel has few columns: reads and stores overlap only when they
                                // alternate often: float32 8500000 x 2 0.67 with 4 KiB, 0.79 with 2 KiB (the same)
  std::int64_t long_run_bytes;  // dst runs need not be longer where src rows are short: OIHW to HWIO 0.10 without
                                // a limit, 0.45 with it (AMD EPYC 3rd generation, 2026-11-21)
  std::int64_t packed_bytes;    // a dst run up to this long is gathered with its neighbours and written as one
  std::int64_t packed_panel_bytes;  // of such neighbours that are read at a time
  std::int64_t run_ahead_bytes;     // how far ahead inner runs are fetched
  std::int64_t run_bytes;           // inner runs from here on are copied one by one
  std::int64_t near_run_bytes;      // the same where they lie near each other: ViT patches of 64-byte runs 0.39 as wide
                                    // elements, 0.58 one by one; 4096 x 1024 of 64 bytes 0.44 and 0.25 (AMD EPYC 3rd
                                    // generation, 2026-11-21)
  std::int64_t box_bytes;           // of a box of short axes: it stays in half of the L1
  std::int64_t page_scout_bytes;    // src that is read in order for so long at least is fetched page by page; 0: never
  std::int64_t alternate_bytes;     // of dst that inner runs write before those beside them in src; 0: in dst's order
  bool line_tiles;  // in the cache, AVX-512 fills whole lines of dst: 64 x 64 and 512 x 512 bytes 210 ns and 44 us by
                    // blocks, 113 and 13 so, of 4 bytes 340 ns and 257 (Intel Xeon, as above)
  std::int64_t swap_bytes;    // of a row of a tile that trades places with another in place: 10000 x 10000 float32
                              // 0.42 of a rewrite with 256, 0.93 with 1 KiB (Intel Xeon, as above); 2 KiB 0.6
  std::int64_t thread_bytes;  // bytes moved that are worth one more thread: a team costs about 5 us to start
};

[[nodiscard]] const cpu_tuning& tuning_for(const base::machine& machine) noexcept;

// dst up to this size is written with ordinary stores: it stays in the cache, where the next reader finds it.
[[nodiscard]] std::int64_t cached_limit_bytes(const base::machine& machine) noexcept;

}  // namespace cornerturn::planning
