#include "plan/gpu_tuning.hpp"

namespace cornerturn::planning {
namespace {

constexpr gpu_tuning rows[] = {
    {.name = "generic",
     .arch = 0,
     .run_bytes = 64,
     .side_bytes = 256,
     .box_bytes = {32768, 32768, 32768, 16384, 16384},
     .tiles_per_sm = 4,
     .band_bytes = 0,
     .piece_words = 1024,
     .small_bytes = 10 << 20,
     .panel_tiles_per_sm = 8},
};

}  // namespace

const gpu_tuning& gpu_tuning_for(int arch) noexcept {
  const gpu_tuning* best = &rows[0];
  for (const gpu_tuning& row : rows) {
    if (row.arch <= arch) best = &row;
  }
  return *best;
}

}  // namespace cornerturn::planning
