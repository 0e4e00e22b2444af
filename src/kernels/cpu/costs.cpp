// The tables of costs.hpp, which says what each number is and why.
#include "kernels/cpu/costs.hpp"

namespace cornerturn::kernels::cpu {
namespace {

constexpr cpu_costs generic = {.name = "generic",
                               .piece_bytes = 128,
                               .narrow_piece_bytes = 128,
                               .carried_piece_bytes = 256,
                               .panel_bytes = 2048,
                               .prefetch_bytes = 256,
                               .wide_ahead_bytes = 0,
                               .narrow_buffer = 2048,
                               .staged_lines = 4,
                               .carried_lines = 2,
                               .direct_cols = 704,
                               .panel_cols = 512,
                               .lines_ahead_bytes = 4096,
                               .strip_bytes = 4096,
                               .strip_ahead_bytes = 512,
                               .tall_skinny_bytes = 256,
                               .tall_skinny_run_bytes = 512,
                               .short_wide_bytes = 128,
                               .short_wide_run_bytes = 8192,
                               .short_wide_panel_bytes = 16 << 10,
                               .long_run_bytes = 512,
                               .end_to_end_bytes = 256,
                               .narrow_end_to_end_bytes = 256,
                               .long_rows_end_to_end_bytes = 256,
                               .end_to_end_panel_bytes = 2048,
                               .end_to_end_row_bytes = 64,
                               .run_ahead_bytes = 4096,
                               .tiled_outer_bytes = 0,
                               .tiled_near_bytes = 0,
                               .box_bytes = 32 << 10,
                               .page_prefetch_bytes = 0,
                               .line_tiles = false,
                               .swap_bytes = 256,
                               .cycles_through_l2 = false,
                               .thread_bytes = 256 << 10,
                               .times = {.copy_runs = 1.0,
                                         .near_run_bytes = 48,
                                         .far_run_bytes = 160,
                                         .register_tile = 1.0,
                                         .past_cache = 5,
                                         .past_cache_bytes = 0,
                                         .buffered_in_cache = 2.0,
                                         .panels = 2.0,
                                         .panels_carried = 2.2,
                                         .panels_src_bytes = 0,
                                         .staged_lines = 1.5,
                                         .staged_lines_carried = 1.7,
                                         .staged_lines_src_bytes = 0,
                                         .strips = 2.6,
                                         .strips_b8 = 0,
                                         .strips_b8_src_bytes = 0,
                                         .elements = 1.4,
                                         .elements_bytes = 3,
                                         .elements_run_bytes = 550,
                                         .elements_few_b4 = 0.6,
                                         .elements_short_b16_rows = 0,
                                         .strips_b16 = 2.6,
                                         .end_to_end = 1.4,
                                         .narrow_rows = 14,
                                         .whole_lines = 1.2,
                                         .whole_lines_rows = 0.1,
                                         .small_matrices = 1.1,
                                         .tall_skinny = 1.45,
                                         .tall_skinny_many = 2.8,
                                         .split = 1.3,
                                         .short_wide = 1.38,
                                         .short_wide_many = 2.6,
                                         .join = 1.25,
                                         .shuffle = 1.6,
                                         .shuffle_pair_bytes = 4,
                                         .shuffle_block_bytes = 64,
                                         .shuffle_lines = 0.7,
                                         .shuffle_window = 0.68,
                                         .unit_bytes = 0,
                                         .box = 1.8,
                                         .box_bytes = 10,
                                         .box_parts = 1.9,
                                         .gather = 1.6,
                                         .gather_bytes = 16,
                                         .gather_packed = -0.05,
                                         .step = 1.05,
                                         .step_window_bytes = 4,
                                         .step_word_bytes = 3,
                                         .step_run_bytes = 24,
                                         .step_strips = 0.7,
                                         .step_packed = 0.9,
                                         .step_panels = 1.5}};

constexpr cpu_costs zen3 = [] {
  cpu_costs row = generic;
  row.name = "zen3";
  row.piece_bytes = 256;
  row.carried_piece_bytes = 512;
  row.panel_bytes = 1536;
  row.prefetch_bytes = row.wide_ahead_bytes = 192;
  row.end_to_end_row_bytes = 256;
  row.long_rows_end_to_end_bytes = 1024;
  // In place, 1469 x 1469 of 16 bytes: 0.55 of a rewrite with 256 bytes, 0.91 with 512. 7972 x 7972 of 1 byte: 0.43, 0.46,
  // and 0.38 with 1 KiB (2026-11-25).
  row.swap_bytes = 512;
  row.cycles_through_l2 = true;  // 50 rectangles 0.32 of a copy, 0.38 with it (Zen 4, 2026-11-25)
  // Fitted to 640 random problems of 16 to 48 MiB, one thread: the chosen kernel takes 1.06 times the time of the fastest
  // one in the mean, 1.14 before (2026-11-25).
  row.end_to_end_bytes = 384;
  row.times.past_cache = 1.3;
  row.times.past_cache_bytes = 2.5;
  row.times.panels = 1.8;
  row.times.staged_lines_src_bytes = 64;
  // The fit says 1.81, but 12 columns of 2 bytes take 2.1 times a copy, panels 2.7 (two threads 0.59, 0.43; 2026-11-25).
  row.times.tall_skinny = 1.7;
  row.times.short_wide = 1.1;
  row.times.unit_bytes = 480;
  return row;
}();

// Panels with pieces of 256 bytes win when runs begin at cache lines: float32 10000 x 6992 runs at 24 GB/s, and at 17 with
// staged lines (2026-11-21). With odd pitches panels lose: 18.2 GB/s, and 20.8 with staged lines. Strips of up to 4-byte
// words lose everywhere: float32 10000 x 7000 reaches 0.33 of a copy, another walk 0.55 (2026-11-23).
constexpr cpu_costs zen4 = [] {
  cpu_costs row = zen3;
  row.name = "zen4";
  // 150 random problems of 16 to 48 MiB: 0.458 of a copy without wide_ahead_bytes and with shorter end_to_end_bytes and
  // end_to_end_row_bytes than Zen 3, 0.475 with Zen 3's (2026-11-25).
  row.panel_bytes = 4096;    // with 8192, float32 10000 x 7000 takes 1.08 times as long (2026-11-25)
  row.long_run_bytes = 256;  // 150 + 150 random problems: 1.01 times as fast as with 512 (2026-11-25)
  row.times = generic.times;
  row.tiled_outer_bytes = 2048;
  row.narrow_end_to_end_bytes = 128;
  // 126 x 19094 of 8 bytes: 0.38 of a copy with 1024, 0.47 now. 27 x 24 x 1947 x 28 bytes, axes 2301, loses: 0.38 and 0.31.
  // 600 random problems are 1.003 times as fast (2026-11-25).
  row.long_rows_end_to_end_bytes = 640;
  row.times.panels = 1.8;
  row.times.panels_carried = 2.4;
  row.times.panels_src_bytes = 400;
  row.times.staged_lines = 2.5;
  row.times.staged_lines_carried = 2.1;
  row.times.elements = 1.1;
  row.times.elements_few_b4 = -0.8;
  // 360 random ranks, batches and odd elements: the chosen row takes 1.064 times the time of the fastest one, 1.069 with -0.05
  // (2026-11-25).
  row.times.gather_packed = -0.65;
  row.times.box_bytes = 6;
  // 32 x 531250 of 4 bytes: 0.55, by elements 0.85, packed 0.64; 16 x 1062500: 1.08, packed 0.69 (2026-11-25).
  row.times.whole_lines_rows = 0.5;
  row.times.strips = 3.0;
  // 256 x 37235: 0.71, panels 0.45 (2026-11-23). 12 matrices of 512 to 7040 rows 0.73, panels and staged lines 0.61 (2026-11-25).
  row.times.strips_b8 = 1.65;
  row.times.strips_b8_src_bytes = 1200;
  row.times.strips_b16 = 1.6;
  row.times.unit_bytes = 700;
  row.times.shuffle = 1.9;  // 150 random problems: 0.502 of a copy, with 1.6 0.500 (2026-11-25)
  return row;
}();

constexpr cpu_costs spr = [] {
  cpu_costs row = generic;
  row.name = "sapphire_rapids";
  row.strip_bytes = 8192;
  row.end_to_end_bytes = row.narrow_end_to_end_bytes = 128;
  row.page_prefetch_bytes = 64 << 10;
  row.tiled_outer_bytes = row.tiled_near_bytes = 2048;
  row.line_tiles = true;
  row.narrow_buffer = 4096;

  // Times of elements, gather, strips_b16, end_to_end and staged_lines_carried: 1298 random problems on model 207, one thread. The
  // chosen row takes 1.036 times the time of the fastest one; 1.073 times with the times of `generic` (2026-11-25).
  row.times.elements = 0.95;
  row.times.elements_bytes = 1.5;
  row.times.elements_run_bytes = 275;
  row.times.elements_short_b16_rows = 0.4;
  row.times.gather = 2.2;
  row.times.gather_bytes = 12;
  row.times.gather_packed = -1;
  row.times.box_bytes = 6;
  row.times.box_parts = 1.2;
  row.times.end_to_end = 1.2;
  row.times.strips = 1.1;
  row.times.strips_b16 = 1.3;
  row.times.staged_lines = 2.6;
  row.times.staged_lines_carried = 3.2;
  row.times.panels_carried = 2.7;
  row.times.panels = 2.7;
  row.times.whole_lines = 1.05;
  row.times.tall_skinny = row.times.tall_skinny_many = 1.1;
  row.times.split = 1.25;
  row.times.short_wide = row.times.short_wide_many = 1.02;
  row.times.small_matrices = 1.0;
  // 54927 x 64 x 6 bytes takes 10.9 times a copy end to end, 2.6 by items (model 207, 2026-11-25).
  row.times.unit_bytes = 400;
  return row;
}();

// Caches as `cornerturn doctor` shows them on the machines of the measurements; of the Graviton2 as its documentation has them.
using base::simd_target;
constexpr cpu_machine machines[] = {
    {"zen3", "AMD EPYC of the 3rd generation", true, simd_target::avx2, 32 << 10, 512 << 10, 32 << 20},
    {"zen4", "AMD EPYC of the 4th generation", true, simd_target::avx512_vbmi, 32 << 10, 1 << 20, 32 << 20},
    {"sapphire_rapids", "Intel Xeon of the 4th generation", false, simd_target::avx512_vbmi, 48 << 10, 2 << 20,
     105 << 20},
    {"generic", "a CPU with AVX2 and 256 KiB of L2", false, simd_target::avx2, 32 << 10, 256 << 10, 8 << 20},
    {"neoverse_n1", "AWS Graviton2", false, simd_target::neon, 64 << 10, 1 << 20, 32 << 20},
};

}  // namespace

std::span<const cpu_machine> all_machines() noexcept { return machines; }

base::machine machine_of(const cpu_machine& one) {
  return {.cpu_model = one.what,
          .part = "",
          .amd = one.amd,
          .simd = one.simd,
          .l1d_bytes = one.l1d_bytes,
          .l2_bytes = one.l2_bytes,
          .l3_bytes = one.l3_bytes,
          .page_bytes = 4096};
}

const cpu_costs& costs_of(const base::machine& machine) noexcept {
  if (!machine.amd) return machine.l2_bytes < 2 << 20 ? generic : spr;
  return machine.l2_bytes < 1 << 20 ? zen3 : zen4;
}

std::int64_t cached_limit_bytes(const base::machine& machine) noexcept { return machine.l2_bytes / 2; }

}  // namespace cornerturn::kernels::cpu
