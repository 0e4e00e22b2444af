#include "model/access.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace cornerturn::model {
namespace {

using addresses = std::array<std::int64_t, warp_lanes>;

// The addresses of some lanes, in units; returns how many there are.
int units_of(const warp_access& access, std::uint32_t lanes, std::int64_t unit_bytes, addresses& units) noexcept {
  std::size_t count = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::int64_t unit = access.address[static_cast<std::size_t>(lane)] / unit_bytes;
    if (count == 0 || units[count - 1] != unit) units[count++] = unit;  // neighbours often share one
  }
  return static_cast<int>(count);
}

int distinct(addresses& units, int count) noexcept {
  const auto end = units.begin() + count;
  if (!std::is_sorted(units.begin(), end)) std::sort(units.begin(), end);
  return static_cast<int>(std::unique(units.begin(), end) - units.begin());
}

}  // namespace

int sectors(const warp_access& access) noexcept {
  addresses units;
  return distinct(units, units_of(access, access.active, sector_bytes, units));
}

namespace {

// How often the fullest bank has to turn for the active lanes of `phase`. A wide access begins at a multiple of its
// size, so one of its words is as good as all: each lane takes lane_bytes / 4 neighbouring banks, and what meets in one
// of them meets in all.
int turns(const warp_access& access, std::uint32_t phase) noexcept {
  const std::int64_t unit = std::max(access.lane_bytes, bank_bytes);
  const std::int64_t places = banks * bank_bytes / unit;
  addresses units;
  const int count = distinct(units, units_of(access, access.active & phase, unit, units));
  std::array<int, banks> load{};
  int most = 0;
  for (int k = 0; k < count; ++k) {
    most = std::max(most, ++load[static_cast<std::size_t>(units[static_cast<std::size_t>(k)] % places)]);
  }
  return most;
}

}  // namespace

wavefronts shared_wavefronts(const warp_access& access) noexcept {
  wavefronts made;
  const int lanes = phase_lanes(access.lane_bytes);
  for (int first = 0; first < warp_lanes; first += lanes) {
    const int most = turns(access, static_cast<std::uint32_t>(((std::uint64_t{1} << lanes) - 1) << first));
    made.taken += most;
    made.conflicts += std::max(most - 1, 0);
  }
  if (access.lane_bytes == 8 && !access.stores) {
    const int even = turns(access, every_other_pair), odd = turns(access, ~every_other_pair);
    if (even <= 1 && odd <= 1) made.taken = std::min(made.taken, even + odd);
  }
  return made;
}

}  // namespace cornerturn::model
