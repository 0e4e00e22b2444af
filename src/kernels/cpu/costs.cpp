#include "kernels/cpu/costs.hpp"

#include <algorithm>

namespace cornerturn::kernels::cpu {

std::string fault_of(const cpu_costs& one) {
  std::string fault;
  const auto want = [&](const char* name, std::int64_t value, std::int64_t least, std::int64_t most,
                        std::int64_t multiple = 1) {
    if (!fault.empty() || (value >= least && value <= most && value % multiple == 0)) return;
    fault = std::string(name) + ' ' + std::to_string(value) + ", wanted " + std::to_string(least) + " to " +
            std::to_string(most);
    if (multiple > 1) fault += ", a multiple of " + std::to_string(multiple);
  };
  // policy/line_stores-inl.hpp: a piece that is not the last of its run must not end before the first line does.
  want("piece_bytes", one.piece_bytes, 128, 4096, 64);
  want("narrow_piece_bytes", one.narrow_piece_bytes, 128, 4096, 64);
  want("carried_piece_bytes", one.carried_piece_bytes, 128, 4096, 64);
  want("panel_bytes", one.panel_bytes, 1024, 16384);  // a tile stays in a second-level cache
  want("prefetch_bytes", one.prefetch_bytes, 0, 1 << 16, 64);
  want("wide_ahead_bytes", one.wide_ahead_bytes, 0, 1 << 16, 64);
  want("narrow_buffer", one.narrow_buffer, one.piece_bytes, 32 << 10);  // it stays in the smallest L1
  // stream/staged_lines-inl.hpp has a walk for each of these.
  const auto want_lines = [&](const char* name, std::int64_t value) {
    if (fault.empty() && value != 1 && value != 2 && value != 4)
      fault = std::string(name) + ' ' + std::to_string(value) + ", wanted 1, 2 or 4";
  };
  want_lines("staged_lines", one.staged_lines);
  want_lines("carried_lines", one.carried_lines);
  want("direct_cols", one.direct_cols, 64, 4096, 64);
  want("panel_cols", one.panel_cols, 64, 4096, 64);
  want("lines_ahead_bytes", one.lines_ahead_bytes, 0, 1 << 16, 64);
  want("strip_bytes", one.strip_bytes, 256, 1 << 16, 256);  // whole blocks, of 1- and 2-byte elements too
  want("strip_ahead_bytes", one.strip_ahead_bytes, 0, 1 << 16, 64);
  want("tall_skinny_bytes", one.tall_skinny_bytes, 0, 256);
  want("short_wide_bytes", one.short_wide_bytes, 0, one.end_to_end_bytes);        // few rows are short runs
  want("short_wide_panel_bytes", one.short_wide_panel_bytes, 128, 1 << 20, 128);  // whole groups
  // packed_rows of blocking.hpp, for 1-byte elements
  want("end_to_end_bytes", one.end_to_end_bytes, 0, 1024);
  want("narrow_end_to_end_bytes", one.narrow_end_to_end_bytes, 0, 1024);
  want("long_rows_end_to_end_bytes", one.long_rows_end_to_end_bytes, 0, 1024);
  want("end_to_end_panel_bytes", one.end_to_end_panel_bytes, 64, 1 << 16);
  want("run_ahead_bytes", one.run_ahead_bytes, 0, 1 << 16, 64);
  want("tiled_outer_bytes", one.tiled_outer_bytes, 0, 1 << 16, 64);
  want("tiled_near_bytes", one.tiled_near_bytes, 0, 1 << 16, 64);
  want("step_ahead_bytes", one.step_ahead_bytes, 0, 1 << 16, 64);
  want("step_back_ahead_bytes", one.step_back_ahead_bytes, 0, 1 << 16, 64);
  want("step_gap_ahead_bytes", one.step_gap_ahead_bytes, 0, 1 << 16, 64);
  want("box_bytes", one.box_bytes, 1024, 64 << 10);
  want("swap_bytes", one.swap_bytes, 64, 4096, 64);
  want("thread_bytes", one.thread_bytes, 4096, 1 << 24);
  return fault;
}

// Arrays of 500 KiB to 1 MiB that are transposed again and again take 0.35 to 0.6 of the time with ordinary stores. From memory they take
// up to 2.3 times as long with them (Intel Xeon with 1 MiB of L2, 2026-11-28).
std::int64_t cached_limit_bytes(const base::machine& machine) noexcept {
  constexpr std::int64_t small_l2_bytes = 1 << 20;
  return std::max(machine.l2_bytes / 2, std::min(machine.l2_bytes, small_l2_bytes));
}

bool fits_cache(const facts& known, const target& on) noexcept {
  // Dst may take the bytes of the L2 that src does not: nearly all beside a broadcast.
  const std::int64_t l2 = on.cpu->l2_bytes;
  std::int64_t src_bytes = known.form.word_bytes, left = l2 - src_bytes;
  for (int k = 0; k < known.form.rank && left > 0; ++k) {
    const axis& one = known.form.axes[k];
    if (one.src_stride == 0) continue;
    left = one.extent > l2 / src_bytes ? 0 : l2 - src_bytes * one.extent;
    src_bytes = l2 - left;
  }
  const std::int64_t limit = std::max(cached_limit_bytes(*on.cpu), left);
  return known.bytes <= std::max<std::int64_t>(limit - known.beside_bytes, 0);
}

}  // namespace cornerturn::kernels::cpu
