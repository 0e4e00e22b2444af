#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

constexpr cpu_tuning generic = {.name = "generic",
                                .piece_bytes = 128,
                                .narrow_piece_bytes = 128,
                                .carried_piece_bytes = 256,
                                .whole_pieces = false,
                                .parked_lines = 4,
                                .carried_lines = 2,
                                .direct_cols = 704,
                                .panel_cols = 512,
                                .strip_bytes = 0,
                                .strip_ahead_bytes = 0,
                                .few_columns_bytes = 0,
                                .few_columns_run_bytes = 0,
                                .few_rows_bytes = 0,
                                .few_rows_run_bytes = 0,
                                .few_rows_panel_bytes = 0,
                                .scout_bytes = 4096,
                                .panel_bytes = 2048,
                                .prefetch_bytes = 256,
                                .narrow_buffer = 2048,
                                .long_run_bytes = 512,
                                .packed_bytes = 256,
                                .packed_panel_bytes = 2048,
                                .run_ahead_bytes = 4096,
                                .run_bytes = 256,
                                .near_run_bytes = 64,
                                .box_bytes = 16 << 10,
                                .page_scout_bytes = 0,
                                .alternate_bytes = 0,
                                .line_tiles = false,
                                .swap_bytes = 256,
                                .thread_bytes = 256 << 10};

constexpr cpu_tuning amd = {.name = "amd",
                            .piece_bytes = 256,
                            .narrow_piece_bytes = 128,
                            .carried_piece_bytes = 512,
                            .whole_pieces = false,
                            .parked_lines = 4,
                            .carried_lines = 2,
                            .direct_cols = 704,
                            .panel_cols = 512,
                            .strip_bytes = 0,
                            .strip_ahead_bytes = 0,
                            .few_columns_bytes = 0,
                            .few_columns_run_bytes = 0,
                            .few_rows_bytes = 0,
                            .few_rows_run_bytes = 0,
                            .few_rows_panel_bytes = 0,
                            .scout_bytes = 4096,
                            .panel_bytes = 1536,
                            .prefetch_bytes = 192,
                            .narrow_buffer = 2048,
                            .long_run_bytes = 512,
                            .packed_bytes = 256,
                            .packed_panel_bytes = 2048,
                            .run_ahead_bytes = 4096,
                            .run_bytes = 256,
                            .near_run_bytes = 64,
                            .box_bytes = 16 << 10,
                            .page_scout_bytes = 0,
                            .alternate_bytes = 0,
                            .line_tiles = false,
                            .swap_bytes = 256,
                            .thread_bytes = 256 << 10};

// From the 4th generation on.
constexpr cpu_tuning amd_with_larger_l2 = [] {
  cpu_tuning row = amd;
  row.name = "amd, 1 MiB of L2";
  row.whole_pieces = true;
  row.panel_bytes = 4096;
  return row;
}();

constexpr cpu_tuning larger_l2 = [] {
  cpu_tuning row = generic;
  row.name = "generic, 2 MiB of L2";
  row.strip_bytes = 8192;
  row.strip_ahead_bytes = 512;
  row.few_columns_bytes = 256;
  row.few_columns_run_bytes = 512;
  row.few_rows_bytes = 128;
  row.few_rows_run_bytes = 8192;
  row.few_rows_panel_bytes = 16 << 10;
  row.packed_bytes = 128;
  row.page_scout_bytes = 64 << 10;
  row.alternate_bytes = 2048;
  row.line_tiles = true;
  row.narrow_buffer = 4096;
  row.swap_bytes = 1024;
  return row;
}();

}  // namespace

const cpu_tuning& tuning_for(const base::machine& machine) noexcept {
  if (!machine.amd) return machine.l2_bytes < 2 << 20 ? generic : larger_l2;
  return machine.l2_bytes < 1 << 20 ? amd : amd_with_larger_l2;
}

std::int64_t cached_limit_bytes(const base::machine& machine) noexcept { return machine.l2_bytes / 2; }

}  // namespace cornerturn::planning
