#include "kernels/gpu/policy/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"

namespace cornerturn::gpu {

device_costs scaled(const device_costs& one, const kernels::gpu_traits& to) noexcept {
  device_costs made = one;
  if (to.l2_bytes == 0 || one.device.l2_bytes == 0) return made;
  const double l2 = static_cast<double>(to.l2_bytes) / static_cast<double>(one.device.l2_bytes);
  const double multiprocessors = static_cast<double>(to.multiprocessors) / one.device.multiprocessors;
  made.cached_bytes = static_cast<std::int64_t>(static_cast<double>(one.cached_bytes) * l2);
  made.cached_bytes_per_us = one.cached_bytes_per_us * multiprocessors;
  return made;
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

double touched_sectors(const map::canonical& form, std::int64_t axis::*stride, std::int64_t word) noexcept {
  constexpr std::int64_t sector = 32, none = INT64_MAX;
  std::int64_t step = none, next = none, run = 1;  // the two shortest strides; the extent of the shortest
  double repeats = 1;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    const std::int64_t here = base::magnitude(one.*stride);
    if (here == 0) {
      repeats *= static_cast<double>(one.extent);
    } else if (here < step) {
      next = step, step = here, run = one.extent;
    } else {
      next = std::min(next, here);
    }
  }
  if (step == none) return 1 / repeats;
  if (step > 1) return std::min(static_cast<double>(step), std::max(1.0, static_cast<double>(sector / word))) / repeats;
  const bool is_apart = run < sector && next != none && next > run && (next - run) * word < sector;
  return (is_apart ? static_cast<double>(next) / static_cast<double>(run) : 1) / repeats;
}

namespace {

// Sectors of 32 bytes that a warp touches on one side, for each 128 bytes of elements of `word` bytes. Lanes have `each`
// neighbouring elements of the canonical form, whose last axis is the fastest.
double warp_sectors(const map::canonical& form, std::int64_t axis::*stride, std::int64_t word, std::int64_t each,
                    int lanes) noexcept {
  std::array<std::int64_t, 256> sector{};
  const std::int64_t count = std::min({lanes * each, map::words(form), std::int64_t{256}});
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int k = form.rank - 1; k >= 0 && rest > 0; --k) {
      offset += rest % form.axes[k].extent * (form.axes[k].*stride);
      rest /= form.axes[k].extent;
    }
    sector[static_cast<std::size_t>(i)] = (offset * word) >> 5;
  }
  std::sort(sector.begin(), sector.begin() + count);
  const auto different = std::unique(sector.begin(), sector.begin() + count) - sector.begin();
  return static_cast<double>(different) * 128 / static_cast<double>(count * word);
}

// Sets counts and bound. Returns the sum.
double add_up(const counts& parts, const constants& by, kernels::offer& made) noexcept {
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
  double sum = 0, most = 0;
  made.binds = kernels::bound::nothing;
  for (const auto& one : all) {
    sum += one.time;
    if (one.time > most) most = one.time, made.binds = one.limit;
  }
  return sum;
}

void predict_cached(const kernels::facts& known, const device_costs& on, const row_constants& by, const counts& parts,
                    double idle, kernels::offer& made) noexcept {
  const counts of_all = {parts.copy * idle, parts.dram * idle, parts.requests * idle, parts.shared * idle,
                         parts.issue * idle};
  const double copy_us = 2 * static_cast<double>(known.bytes) / on.cached_bytes_per_us;
  const double us = by.latency_us + copy_us * add_up(of_all, by.cached, made);
  if (by.latency_us > us / 2) made.binds = kernels::bound::latency;
  made.time = us / (on.cached_copy_us + copy_us);
}

}  // namespace

double touched_sectors(const map::canonical& form) noexcept {
  if (form.rank == 0) return 1;
  const double src = touched_sectors(form, &axis::src_stride, form.word_bytes);
  const double dst = touched_sectors(form, &axis::dst_stride, form.dst_word_bytes);
  return (src + (dst > 1 ? 2 * dst : dst)) / 2;  // a sector of dst that is written in part is read, too
}

double fetched_again(const map::canonical& form, std::int64_t each, std::int64_t l2_bytes) noexcept {
  constexpr double sector = 32, of_l2 = 0.3;
  const double kept = l2_bytes > 0 ? static_cast<double>(l2_bytes) / 8 : 1e30, near = 128.0 * static_cast<double>(each);
  double from_dram = 1, from_l2 = 1, between = 1;
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    const auto extent = static_cast<double>(one.extent);
    const auto step = static_cast<double>(base::magnitude(one.src_stride)) * static_cast<double>(form.word_bytes);
    if (step < sector) {
      const double shared = step == 0 ? extent : std::min(extent, sector / step);
      if (between * sector > kept) {
        from_dram *= shared;
      } else if (between > near) {
        from_l2 *= shared;
      }
    }
    between *= extent;
  }
  const double touched = touched_sectors(form, &axis::src_stride, form.word_bytes) / 2;
  return touched * (from_dram - 1 + of_l2 * (from_l2 - 1) * from_dram);
}

counts element_counts(const kernels::facts& known, const element_grid& numbers, std::int64_t each, int lanes) noexcept {
  const map::canonical& form = known.form;
  const double sectors = warp_sectors(form, &axis::src_stride, form.word_bytes, each, lanes) +
                         warp_sectors(form, &axis::dst_stride, form.dst_word_bytes, each, lanes);
  const double threads = static_cast<double>(numbers.all_words) * 8 / static_cast<double>(known.bytes);
  counts made;
  made.requests = std::max(0.0, sectors / 4 - 2 * touched_sectors(form));
  made.shared = each > 1 ? threads * static_cast<double>(each * (numbers.row_rank - 1)) : 0;
  made.issue = threads * static_cast<double>(1 + numbers.rank);
  return made;
}

void predict(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
             const counts& of_elements, kernels::offer& made) noexcept {
  counts parts = of_elements;
  parts.copy *= touched_sectors(known.form);
  const auto index = static_cast<std::size_t>(&row - kernels::all().data());
  made.time = add_up(parts, on.gpu->rows[index].usual, made);
  if (made.blocks == 0) return;
  // The last wave of blocks may leave multiprocessors idle. The latencies of a launch and of a block are added to the
  // times of the offer and of the copy, so that they cancel for a large problem. Rows in place: the regret of 684 squares is
  // 1.005 without the last wave, and 1.02 with it (H100).
  const double waves = std::ceil(static_cast<double>(made.blocks) / on.multiprocessors);
  const double idle =
      row.kind == kernels::row_kind::in_place ? 1 : waves * on.multiprocessors / static_cast<double>(made.blocks);
  if (row.kind == kernels::row_kind::move && known.bytes <= on.gpu->cached_bytes) {
    return predict_cached(known, *on.gpu, on.gpu->rows[index], parts, idle, made);
  }
  const double copy_us = 2 * static_cast<double>(known.bytes) / on.copy_bytes_per_us;
  const double latency_us = on.gpu->launch_us + (made.shared_bytes > 0 ? on.gpu->block_us : on.gpu->copy_block_us);
  const double us = latency_us + copy_us * made.time * idle;
  if (copy_us * made.time * (idle - 1) + latency_us > us / 2) made.binds = kernels::bound::latency;
  made.time = us / (on.gpu->launch_us + on.gpu->copy_block_us + copy_us);
}

}  // namespace cornerturn::gpu
