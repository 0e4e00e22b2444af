// Every tuned number of the GPU engine, one row per architecture, each with its reason.
#pragma once

#include <cstdint>

namespace cornerturn::planning {

struct gpu_tuning {
  const char* name;  // of the row; explain() prints it
  int arch;          // the first compute capability it is for: 90 for sm_90; a device takes the last row it reaches
  std::int64_t run_bytes;     // inner runs from here on are copied without shared memory
  std::int64_t side_bytes;    // of a run and of a line of a box
  std::int64_t box_bytes[5];  // by word size 1, 2, 4, 8, 16: what a box holds
  int tiles_per_sm;           // fewer large tiles than this on each multiprocessor: small tiles
  std::int64_t band_bytes;    // of src that one column of tiles may span before the next column begins; 0: all rows
  std::int64_t piece_words;   // of one inner run that a block moves at most
  std::int64_t small_bytes;   // of one side of a matrix that is moved for its latency, not its traffic
  int panel_tiles_per_sm;     // small matrices of fewer tiles of 128 bytes a side, all of them, do not go in panels
};

[[nodiscard]] const gpu_tuning& gpu_tuning_for(int arch) noexcept;

}  // namespace cornerturn::planning
