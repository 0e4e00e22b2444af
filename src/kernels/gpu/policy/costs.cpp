#include "kernels/gpu/policy/costs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/lazy.hpp"

namespace cornerturn::gpu {
namespace {

constexpr device_costs table[] = {
    {.name = "H200",
     .arch = 0,
     .device_arch = 90,
     .multiprocessors = 132,
     .shared_bytes = 232448,
     .side_bytes = 256,
     .gather_bytes = {32768, 32768, 32768, 16384, 16384},
     .assemble_bytes = 32768,
     .piece_words = 1024,
     .small_bytes = 10 << 20,
     .copy_bytes_per_us = 4.27e6,
     .launch_us = 1.0,
     .copy_block_us = 0.8,
     .block_us = 1.5},
};

}  // namespace

std::span<const device_costs> all_costs() noexcept { return table; }

device_info info_of(const device_costs& row) {
  return {.name = row.name,
          .arch = row.device_arch,
          .multiprocessors = row.multiprocessors,
          .shared_bytes = row.shared_bytes};
}

const device_costs& costs_for(int arch) noexcept {
  const device_costs* best = &table[0];
  for (const device_costs& row : table) {
    if (row.arch <= arch) best = &row;
  }
  return *best;
}

double sector_waste(std::int64_t run_bytes, std::int64_t alignment) noexcept {
  constexpr double sector = 32;
  const double step = static_cast<double>(std::min<std::int64_t>(alignment, 32));
  const double whole = std::ceil(static_cast<double>(run_bytes) / sector) * sector;
  const double rounded = whole - static_cast<double>(run_bytes);
  // A run begins at a random multiple of `step`. The chance that it spans one sector more is
  // (sector - step - rounded) / sector; times the bytes of a sector, this is the average of the bytes more.
  const double more = std::max(0.0, sector - step - rounded);
  return (rounded + more) / static_cast<double>(run_bytes);
}

namespace {

struct constants {
  float copy = 1, dram = 1, requests = 1, shared = 1, issue = 1;
};

// The table has one entry for each row of the list.
const constants& constants_of(const kernels::kernel& row) noexcept {
  constinit static base::lazy<const std::vector<constants>> costs;
  const std::vector<constants>& all = costs.get([] {
    std::vector<constants> made(kernels::all().size());
    const struct {
      const char* name;
      constants these;
    } known[] = {
#define ROW_COST(name, ...) {#name, {__VA_ARGS__}},
#include "kernels/gpu/policy/costs_h200.inc"
#undef ROW_COST
    };
    for (const auto& one : known) {
      if (const kernels::kernel* const found = kernels::find(one.name); found != nullptr) {
        made[static_cast<std::size_t>(found - kernels::all().data())] = one.these;
      }
    }
    return made;
  });
  return all[static_cast<std::size_t>(&row - kernels::all().data())];
}

}  // namespace

void predict(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row, const counts& parts,
             kernels::offer& made) noexcept {
  const constants& by = constants_of(row);
  const struct {
    double time;
    kernels::bound limit;
  } all[] = {{parts.copy * by.copy + parts.dram * by.dram, kernels::bound::dram},
             {parts.requests * by.requests, kernels::bound::requests},
             {parts.shared * by.shared, kernels::bound::shared},
             {parts.issue * by.issue, kernels::bound::issue}};
  const double all_counts[] = {parts.copy, parts.dram, parts.requests, parts.shared, parts.issue};
  std::transform(std::begin(all_counts), std::end(all_counts), made.counts,
                 [](double one) { return static_cast<float>(one); });
  made.time = 0;
  made.binds = kernels::bound::nothing;
  double most = 0;
  for (const auto& one : all) {
    made.time += one.time;
    if (one.time > most) most = one.time, made.binds = one.limit;
  }
  if (made.blocks == 0) return;
  // The last wave of blocks may leave multiprocessors idle. The latencies of a launch and of a block are added to the
  // times of the offer and of the copy, so that they cancel for a large problem. Rows in place: the regret of 684 squares is
  // 1.005 without the last wave, and 1.02 with it (H100).
  const double waves = std::ceil(static_cast<double>(made.blocks) / on.multiprocessors);
  const double idle =
      row.kind == kernels::row_kind::in_place ? 1 : waves * on.multiprocessors / static_cast<double>(made.blocks);
  const double copy_us = 2 * static_cast<double>(known.bytes) / on.gpu->copy_bytes_per_us;
  const double latency_us = on.gpu->launch_us + (made.shared_bytes > 0 ? on.gpu->block_us : on.gpu->copy_block_us);
  const double us = latency_us + copy_us * made.time * idle;
  if (copy_us * made.time * (idle - 1) + latency_us > us / 2) made.binds = kernels::bound::latency;
  made.time = us / (on.gpu->launch_us + on.gpu->copy_block_us + copy_us);
}

}  // namespace cornerturn::gpu
