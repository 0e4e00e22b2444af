#include "model/access.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "map/banks.hpp"

namespace cornerturn::model {
namespace {

using addresses = std::array<std::int64_t, most_lanes>;

// Converts the addresses of some lanes to units; returns the number of units.
int units_of(const warp_access& access, lane_mask lanes, std::int64_t unit_bytes, addresses& units) noexcept {
  std::size_t count = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::int64_t unit = access.address[static_cast<std::size_t>(lane)] / unit_bytes;
    if (count == 0 || units[count - 1] != unit) units[count++] = unit;  // adjacent lanes often share a unit
  }
  return static_cast<int>(count);
}

int distinct(addresses& units, int count) noexcept {
  const auto end = units.begin() + count;
  if (!std::is_sorted(units.begin(), end)) std::sort(units.begin(), end);
  return static_cast<int>(std::unique(units.begin(), end) - units.begin());
}

template <int Lanes>
constexpr std::array<lane_mask, most_lanes / Lanes> neighbours() {
  std::array<lane_mask, most_lanes / Lanes> made{};
  constexpr lane_mask first = (lane_mask{1} << Lanes) - 1;
  for (std::size_t k = 0; k < made.size(); ++k) made[k] = first << Lanes * static_cast<int>(k);
  return made;
}
constexpr auto phases_of_32 = neighbours<32>();
constexpr auto phases_of_16 = neighbours<16>();
constexpr auto phases_of_8 = neighbours<8>();

//   lanes of a ds_read_b128   | 0-3 | 4-7 | 8-11 | 12-15 | 16-19 | 20-23 | 24-27 | 28-31 |     and again from 32 on
//   phase                        0     1     2       3       1       0       3       2
constexpr std::array<lane_mask, 8> phases_of_amd_16_byte_loads = {
    0x00f0000full,       0x000f00f0ull,       0xf0000f00ull,       0x0f00f000ull,
    0x00f0000full << 32, 0x000f00f0ull << 32, 0xf0000f00ull << 32, 0x0f00f000ull << 32,
};

constexpr lane_mask every_other_pair = 0x33333333;

}  // namespace

int lines(const warp_access& access, int line_bytes) noexcept {
  addresses units;
  return distinct(units, units_of(access, access.active, line_bytes, units));
}

int used_bytes(const warp_access& access) noexcept {
  return lines(access, access.lane_bytes) * access.lane_bytes;  // natural alignment: accesses are equal or disjoint
}

std::span<const lane_mask> phases_of(int lane_bytes, bool stores, const memory_rules& rules) noexcept {
  const auto lanes = static_cast<std::size_t>(rules.lanes);
  if (lane_bytes <= 4) return std::span(phases_of_32).first(lanes / 32);
  if (lane_bytes == 8) return std::span(phases_of_16).first(lanes / 16);
  if (rules.phases == phase_rule::amd && !stores) return std::span(phases_of_amd_16_byte_loads).first(lanes / 8);
  return std::span(phases_of_8).first(lanes / 8);
}

namespace {

// The cycles for the active lanes of one phase: the number of words that the busiest bank serves. A wide access is
// aligned to its size, so its words are in lane_bytes / 4 adjacent banks. Two accesses share all of these banks or
// none.
int cycles_of(const warp_access& access, lane_mask phase) noexcept {
  const int unit = map::bank_cell_bytes(access.lane_bytes);
  map::bank_counter<> counter(map::lanes_at_once(access.lane_bytes));
  for (lane_mask lanes = access.active & phase; lanes != 0; lanes &= lanes - 1) {
    counter.add(access.address[static_cast<std::size_t>(std::countr_zero(lanes))] / unit);
  }
  return counter.wavefronts();
}

}  // namespace

namespace {

// Does every active lane agree with the lane beside it, or every one with the lane two further? An inactive lane agrees.
bool lanes_agree(const warp_access& access, lane_mask lanes) noexcept {
  const lane_mask active = access.active & lanes;
  for (const int apart : {1, 2}) {
    bool agree = true;
    for (lane_mask rest = active; rest != 0 && agree; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest)),
                 partner = lane ^ static_cast<std::size_t>(apart);
      agree = (active >> partner & 1) == 0 || access.address[lane] == access.address[partner];
    }
    if (agree) return true;
  }
  return false;
}

bool merge(const warp_access& access, lane_mask lanes) noexcept {
  return lanes_agree(access, lanes) && cycles_of(access, lanes) <= 1;
}

// `taken` by the phases of a load of 8 or 16 bytes, or less where phases merge.
int merged_cycles(const warp_access& access, int taken) noexcept {
  if (access.lane_bytes == 8) {
    const int even = cycles_of(access, every_other_pair);
    const int odd = cycles_of(access, every_other_pair << 2);
    if (even <= 1 && odd <= 1) taken = std::min(taken, even + odd);
    return merge(access, phases_of_32[0]) ? std::min(taken, 1) : taken;
  }
  taken = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    const int apart = cycles_of(access, phases_of_8[2 * half]) + cycles_of(access, phases_of_8[2 * half + 1]);
    taken += merge(access, phases_of_16[half]) ? std::min(apart, 1) : apart;
  }
  return taken;
}

}  // namespace

bank_cycles shared_cycles(const warp_access& access, const memory_rules& rules) noexcept {
  bank_cycles made;
  const bool idle_phases_cost = rules.phases == phase_rule::amd && access.active != 0;
  for (const lane_mask phase : phases_of(access.lane_bytes, access.stores, rules)) {
    const int most = cycles_of(access, phase);
    made.taken += idle_phases_cost ? std::max(most, 1) : most;
    made.conflicts += std::max(most - 1, 0);
  }
  if (rules.phases == phase_rule::nvidia && access.lane_bytes >= 8 && !access.stores) {
    made.taken = merged_cycles(access, made.taken);
  }
  return made;
}

}  // namespace cornerturn::model
