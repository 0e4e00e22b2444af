// Counts one memory instruction of one warp: the sectors or cache lines of global memory that it accesses, and the
// cycles of shared memory. Addresses are bytes. A lane's access is naturally aligned, as the hardware requires.
//
//   warp      lanes that execute an instruction together: 32 on NVIDIA. AMD: a wavefront, 64 lanes on CDNA, 32 on RDNA
//   request   one instruction of one warp with at least one active lane
//   line      the counted unit of global memory: NVIDIA's sector of 32 bytes, AMD's cache line of 64 or 128 bytes
//   bank      shared memory, AMD's LDS, has 32 banks of 4 bytes: bank(address) = address / 4 % 32
//   cycle     an access cycle of shared memory: each bank serves one word of 4 bytes to every lane that accesses it.
//             NVIDIA's profiler calls it a wavefront
//   phase     the lanes that shared memory serves together. Lanes of two phases never conflict
//   conflict  a cycle beyond the one that each phase needs
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cornerturn::model {

inline constexpr int most_lanes = 64;
inline constexpr int banks = 32;
inline constexpr int bank_bytes = 4;

using lane_mask = std::uint64_t;

// NVIDIA: a phase has 32, 16 or 8 adjacent lanes, for accesses of up to 4, 8 and 16 bytes. A phase without active lanes
// takes no cycle. Wide loads without conflicts are served in fewer cycles (counted on an H200, 2026-11-21 and 2026-11-23):
//   8 bytes   the whole warp is one phase if each lane reads the address of lane ^ 1, or if each reads the address of
//             lane ^ 2. An inactive lane has any address
//   16 bytes  a half-warp is one phase on the same condition
//   8 bytes   lanes 0, 1, 4, 5, ... and lanes 2, 3, 6, 7, ... may be the two phases
//
// AMD: a phase also has 32, 16 or 8 lanes. They are adjacent, except in 16-byte loads (ds_read_b128): lanes 0-3 with
// 20-23, 4-7 with 16-19, 8-11 with 28-31, 12-15 with 24-27. Lanes 32 to 63 repeat this. A phase without active lanes
// takes a cycle. Sources:
//   ds_read_b128 and ds_write_b128: Composable Kernel, "Understanding AMD GPU LDS and bank conflicts".
//   ds_write_b32: nod-ai/amd-shark-ai, docs/amdgpu_kernel_optimization_guide.md.
//   Loads of 4, 8 and 16 bytes, measured on gfx942 and gfx1100: nod-ai/amd-shark-ai, docs/empirical-lds.
//   Phases without lanes: ROCm Compute Profiler, "LDS examples" (MI250, loads).
// Assumed: ds_write_b64 has the phases of ds_read_b64; gfx1030 and gfx1100 store 16 bytes as gfx942 does; gfx90a is as
// gfx942, and gfx1030 as gfx1100. Not covered: gfx950 has 64 banks, gfx12 loads 16 bytes by adjacent lanes.
enum class phase_rule { nvidia, amd };

struct memory_rules {
  int lanes = 32;
  int line_bytes = 32;
  phase_rule phases = phase_rule::nvidia;
};

struct warp_access {
  int lane_bytes = 4;
  bool stores = false;
  lane_mask active = 0;  // one bit per lane
  std::array<std::int64_t, most_lanes> address{};

  void set(int lane, std::int64_t at) {
    active |= lane_mask{1} << lane;
    address[static_cast<std::size_t>(lane)] = at;
  }
};

// Returns the number of different sectors or cache lines that the active lanes access.
[[nodiscard]] int lines(const warp_access& access, int line_bytes) noexcept;

// Returns the number of different bytes that the active lanes access: a byte that two lanes load counts once.
[[nodiscard]] int used_bytes(const warp_access& access) noexcept;

struct bank_cycles {
  int taken = 0;
  int conflicts = 0;  // cycles beyond one per phase
};
[[nodiscard]] bank_cycles shared_cycles(const warp_access& access, const memory_rules& rules = {}) noexcept;

// Returns one mask of lanes for each phase, ordered by first lane.
[[nodiscard]] std::span<const lane_mask> phases_of(int lane_bytes, bool stores, const memory_rules& rules) noexcept;

}  // namespace cornerturn::model
