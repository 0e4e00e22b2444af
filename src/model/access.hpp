// One memory instruction of one warp: which sectors or cache lines of global memory it touches, and how many wavefronts
// shared memory needs for it. Addresses are bytes; a lane's access is naturally aligned, as the hardware demands.
//
//   warp       lanes that execute an instruction together: 32 on NVIDIA. AMD's word is wavefront: 64 lanes on CDNA, 32 on
//              RDNA
//   request    one instruction of one warp with at least one active lane
//   line       the unit of global memory that is counted: NVIDIA's sectors of 32 bytes, AMD's cache lines of 64 or 128
//   bank       shared memory, or LDS, has 32 banks of 4 bytes: bank(address) = address / 4 % 32
//   wavefront  one access cycle of shared memory: each bank serves one word of 4 bytes to every lane that wants that word.
//              Nothing to do with AMD's word: the profiler of NVIDIA calls it so
//   phase      lanes that are served together; lanes of two phases never conflict
//   conflict   a wavefront beyond the one that each phase needs
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cornerturn::model {

inline constexpr int most_lanes = 64;
inline constexpr int banks = 32;
inline constexpr int bank_bytes = 4;

using lane_mask = std::uint64_t;

// NVIDIA: phases are 32, 16 or 8 neighbouring lanes for accesses of up to 4, 8 and 16 bytes. A load of 8 bytes takes two
// wavefronts in place of more where lanes 0, 1, 4, 5, ... and lanes 2, 3, 6, 7, ... are free of conflicts (counted on an
// H200, 2026-11-21).
//
// AMD: as many lanes in a phase, and neighbours too, but for loads of 16 bytes (ds_read_b128): lanes 0-3 with 20-23, 4-7
// with 16-19, 8-11 with 28-31, 12-15 with 24-27, and the same from lane 32 on. Sources: Composable Kernel's page
// "Understanding AMD GPU LDS and bank conflicts" (ds_read_b128 and ds_write_b128, wavefronts of 64 lanes); the LDS
// measurements by AMD's engineers in nod-ai/amd-shark-ai, docs/empirical-lds (ds_read_b32, b64, b128 on gfx942 and
// gfx1100). Not documented, and assumed: phases of ds_write_b32 and b64 are those of the loads; gfx1100 stores 16 bytes as
// gfx942 does; gfx90a is as gfx942.
enum class phase_rule { nvidia, amd };

struct memory_rules {
  int lanes = 32;
  int line_bytes = 32;
  phase_rule phases = phase_rule::nvidia;
};

struct warp_access {
  int lane_bytes = 4;
  bool stores = false;
  lane_mask active = 0;  // a bit for each lane
  std::array<std::int64_t, most_lanes> address{};

  void set(int lane, std::int64_t at) {
    active |= lane_mask{1} << lane;
    address[static_cast<std::size_t>(lane)] = at;
  }
};

// Number of different sectors or cache lines that the active lanes touch.
[[nodiscard]] int lines(const warp_access& access, int line_bytes) noexcept;

struct wavefronts {
  int taken = 0;
  int conflicts = 0;  // beyond one for each phase; a phase without active lanes takes none
};
[[nodiscard]] wavefronts shared_wavefronts(const warp_access& access, const memory_rules& rules = {}) noexcept;

// The phases of an access, a mask of lanes each, in the order of their first lanes.
[[nodiscard]] std::span<const lane_mask> phases_of(int lane_bytes, bool stores, const memory_rules& rules) noexcept;

}  // namespace cornerturn::model
