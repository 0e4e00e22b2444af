// One instruction of one warp: which 32-byte sectors of global memory it touches, how often shared memory has to turn
// for it. Addresses are bytes; a lane's access is naturally aligned, as the hardware demands.
//
//   request    one instruction with at least one active lane
//   sector     32 aligned bytes of global memory, the unit between L1, L2 and DRAM
//   bank       shared memory has 32 of 4 bytes: bank(address) = address / 4 % 32
//   wavefront  one turn of shared memory: each bank gives one word of 4 bytes to whoever wants that word
//   phase      8-byte accesses are served by half-warps, 16-byte ones by quarter-warps; 8-byte loads by every other two
//              lanes, 0, 1, 4, 5, ... and 2, 3, 6, 7, ..., where those meet no conflict and take fewer turns (counted
//              on an H200, 2026-11-21)
//   conflict   a wavefront beyond the one that each phase needs anyway
#pragma once

#include <array>
#include <cstdint>

namespace cornerturn::model {

inline constexpr int warp_lanes = 32;
inline constexpr int sector_bytes = 32;
inline constexpr int banks = 32;
inline constexpr int bank_bytes = 4;

struct warp_access {
  int lane_bytes = 4;
  bool stores = false;
  std::uint32_t active = 0;  // a bit for each lane
  std::array<std::int64_t, warp_lanes> address{};

  void set(int lane, std::int64_t at) {
    active |= std::uint32_t{1} << lane;
    address[static_cast<std::size_t>(lane)] = at;
  }
};

// How many different sectors the active lanes touch.
[[nodiscard]] int sectors(const warp_access& access) noexcept;

struct wavefronts {
  int taken = 0;
  int conflicts = 0;  // taken beyond one a phase; a phase without active lanes takes none
};
[[nodiscard]] wavefronts shared_wavefronts(const warp_access& access) noexcept;

// Lanes that are served together: 32, 16 or 8.
[[nodiscard]] constexpr int phase_lanes(int lane_bytes) noexcept { return lane_bytes <= 4 ? 32 : 32 * 4 / lane_bytes; }
inline constexpr std::uint32_t every_other_pair = 0x33333333;

}  // namespace cornerturn::model
