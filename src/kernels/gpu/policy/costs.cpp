#include "kernels/gpu/policy/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"

namespace cornerturn::gpu {
namespace {

constexpr std::int64_t sector_bytes = 32;

// That DRAM moves at once: the regret of 680 views is 1.078 with it, 1.085 with sectors (H200).
constexpr std::int64_t dram_bytes = 64;

}  // namespace

device_costs scaled(const device_costs& one, const kernels::gpu_traits& to) noexcept {
  device_costs made = one;
  if (to.l2_bytes == 0 || one.device.l2_bytes == 0) return made;
  const double l2 = static_cast<double>(to.l2_bytes) / static_cast<double>(one.device.l2_bytes);
  const double multiprocessors = static_cast<double>(to.multiprocessors) / one.device.multiprocessors;
  made.cached_bytes = static_cast<std::int64_t>(static_cast<double>(one.cached_bytes) * l2);
  made.cached_bytes_per_us = one.cached_bytes_per_us * multiprocessors;
  return made;
}

double sector_waste(std::int64_t run_bytes, std::int64_t alignment, std::int64_t line) noexcept {
  const auto sector = static_cast<double>(line);
  const double step = static_cast<double>(std::min(alignment, line));
  const double whole = std::ceil(static_cast<double>(run_bytes) / sector) * sector;
  const double rounded = whole - static_cast<double>(run_bytes);
  // A run begins at a random multiple of `step`. The chance that it spans one sector more is
  // (sector - step - rounded) / sector; times the bytes of a sector, this is the average of the bytes more.
  const double more = std::max(0.0, sector - step - rounded);
  return (rounded + more) / static_cast<double>(run_bytes);
}

touched touched_of(const map::canonical& form, std::int64_t axis::*stride, std::int64_t word,
                   std::int64_t line) noexcept {
  struct step {
    std::int64_t bytes, extent;
  } steps[map::max_axes];
  int rank = 0;
  double repeats = 1;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent == 1) continue;
    if (one.*stride == 0) {
      repeats *= static_cast<double>(one.extent);
    } else {
      steps[rank++] = {base::magnitude(one.*stride) * word, one.extent};
    }
  }
  std::sort(steps, steps + rank, [](const step& a, const step& b) { return a.bytes < b.bytes; });
  // A block of elements without a gap of a line: its elements, and what it spans.
  double elements = static_cast<double>(word), span = elements;
  int k = 0;
  for (; k < rank && static_cast<double>(steps[k].bytes) - span < static_cast<double>(line); ++k) {
    elements *= static_cast<double>(steps[k].extent);
    span += static_cast<double>(steps[k].extent - 1) * static_cast<double>(steps[k].bytes);
  }
  const bool is_dense = span == elements;
  if (k == rank) return {span / elements / repeats, is_dense ? 0 : span / elements / repeats};
  std::int64_t bits = line;
  for (; k < rank; ++k) bits |= steps[k].bytes;
  const auto alignment = bits & -bits;
  const double all = span * (1 + sector_waste(static_cast<std::int64_t>(span), alignment, line)) / elements / repeats;
  if (!is_dense) return {all, all};
  // Lines that the block fills, on average over all multiples of `alignment`; they have `places` beginnings in a line.
  const std::int64_t places = line / alignment, filled = static_cast<std::int64_t>(span) / alignment - places + 1;
  const double whole = static_cast<double>(std::max<std::int64_t>(filled, 0)) / static_cast<double>(places);
  return {all, all - whole * static_cast<double>(line) / elements / repeats};
}

double touched_sectors(const map::canonical& form, std::int64_t axis::*stride, std::int64_t word) noexcept {
  return touched_of(form, stride, word, sector_bytes).all;
}

namespace {

// Counts different sectors; reorders them.
std::int64_t different(std::int64_t* sector, std::int64_t count) noexcept {
  std::sort(sector, sector + count);
  return std::unique(sector, sector + count) - sector;
}

// Sectors of src that a warp reads, relative to its elements' bytes. Lanes have `each` neighbouring elements of the canonical form,
// whose last axis is the fastest.
double read_sectors(const map::canonical& form, std::int64_t each, int lanes) noexcept {
  std::array<std::int64_t, 256> sector{};
  const std::int64_t count = std::min({lanes * each, map::words(form), std::int64_t{256}});
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int k = form.rank - 1; k >= 0 && rest > 0; --k) {
      offset += rest % form.axes[k].extent * form.axes[k].src_stride;
      rest /= form.axes[k].extent;
    }
    sector[static_cast<std::size_t>(i)] = (offset * form.word_bytes) >> 5;
  }
  return static_cast<double>(different(sector.data(), count)) * 32 / static_cast<double>(count * form.word_bytes);
}

// Sectors of dst that the stores of a warp touch, relative to its elements' bytes: one instruction stores the whole words, and one
// each element of the words that an end of a row cuts (element/kernel.cuh).
double stored_sectors(const map::canonical& form, const element_grid& numbers, std::int64_t each, int lanes) noexcept {
  constexpr int most_lanes = 64, most_each = 16;
  const std::int64_t word = form.dst_word_bytes;
  std::array<std::array<std::int64_t, most_lanes>, most_each + 1> sector{};
  std::array<std::int64_t, most_each + 1> count{};
  const auto add = [&](std::int64_t instruction, std::int64_t offset) {
    const auto of = static_cast<std::size_t>(instruction);
    sector[of][static_cast<std::size_t>(count[of]++)] = offset >> 5;
  };
  std::int64_t elements = 0;
  for (std::int64_t number = 0; number < std::min<std::int64_t>({lanes, most_lanes, numbers.all_words}); ++number) {
    std::int64_t rest = number / numbers.words.divisor, offset = 0;
    for (int k = 0; k < numbers.rank; ++k) {
      offset += rest % numbers.outer[k].extent * numbers.outer[k].dst_bytes;
      rest /= numbers.outer[k].extent;
    }
    const std::int64_t index = number % numbers.words.divisor;
    const std::int64_t first = index * each - (each == 1 ? 0 : (offset / word % each + each) % each);
    const bool is_whole = first >= 0 && first + each <= numbers.row_elements;
    if (is_whole) add(0, offset + first * (each == 1 ? numbers.dst_bytes : word)), elements += each;
    for (std::int64_t k = 0; k < each && !is_whole; ++k) {
      if (first + k >= 0 && first + k < numbers.row_elements) add(1 + k, offset + (first + k) * word), ++elements;
    }
  }
  std::int64_t all = 0;
  for (std::size_t k = 0; k < count.size(); ++k) all += different(sector[k].data(), count[k]);
  return static_cast<double>(all * 32) / static_cast<double>(std::max<std::int64_t>(elements, 1) * word);
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
                    kernels::offer& made) noexcept {
  const double copy_us = 2 * static_cast<double>(known.bytes) / on.cached_bytes_per_us;
  const double us = by.latency_us + copy_us * add_up(parts, by.cached, made);
  if (by.latency_us > us / 2) made.binds = kernels::bound::latency;
  made.time = us / (on.cached_copy_us + copy_us);
}

counts operator*(const counts& of, double by) noexcept {
  return {of.copy * by,   {of.again.from_dram * by, of.again.from_l2 * by},
          of.dram * by,   of.requests * by,
          of.shared * by, of.issue * by};
}

}  // namespace

double touched_lines(const map::canonical& form, std::int64_t line) noexcept {
  if (form.rank == 0) return 1;
  const touched src = touched_of(form, &axis::src_stride, form.word_bytes, line);
  const touched dst = touched_of(form, &axis::dst_stride, form.dst_word_bytes, line);
  return (src.all + dst.all + dst.in_part) / 2;
}

double waste_beyond_view(const map::canonical& form, double waste) noexcept {
  return std::max(0.0, waste - 2 * std::max(0.0, touched_lines(form, dram_bytes) - 1));
}

refetched fetched_again(const map::canonical& form, const std::array<std::int64_t, map::max_axes>& tile, double near,
                        std::int64_t l2_bytes) noexcept {
  constexpr auto line = static_cast<double>(dram_bytes);
  const double kept = l2_bytes > 0 ? static_cast<double>(l2_bytes) / 8 : 1e30;
  double from_dram = 1, from_l2 = 1;
  map::canonical between = form;  // the elements of a block, and then of all blocks before its next one along an axis
  for (int k = 0; k < form.rank; ++k) between.axes[k].extent = tile[k];
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    const auto blocks = static_cast<double>(base::ceil_div(one.extent, tile[k]));
    const auto words = static_cast<double>(base::magnitude(one.src_stride)) * static_cast<double>(tile[k]);
    const double step = words * static_cast<double>(form.word_bytes);
    if (step < line) {
      const double shared = step == 0 ? blocks : std::min(blocks, line / step);
      const auto elements = static_cast<double>(map::words(between));
      const double bytes = elements * static_cast<double>(form.word_bytes) *
                           touched_of(between, &axis::src_stride, form.word_bytes, dram_bytes).all;
      if (bytes > kept) {
        from_dram *= shared;
      } else if (elements > near) {
        from_l2 *= shared;
      }
    }
    between.axes[k].extent = one.extent;
  }
  const double once = touched_of(form, &axis::src_stride, form.word_bytes, dram_bytes).all / 2;
  return {(from_dram - 1) * once, (from_l2 - 1) * from_dram * once};
}

refetched fetched_again_by_elements(const map::canonical& form, double near, std::int64_t l2_bytes) noexcept {
  std::array<std::int64_t, map::max_axes> one{};
  one.fill(1);
  return fetched_again(form, one, near, l2_bytes);
}

counts element_counts(const kernels::facts& known, const kernels::target& on, const element_grid& numbers,
                      std::int64_t each) noexcept {
  const map::canonical& form = known.form;
  const double threads = static_cast<double>(numbers.all_words) * 8 / static_cast<double>(known.bytes);
  counts made;
  const double stored = touched_sectors(form, &axis::dst_stride, form.dst_word_bytes);
  const double read = touched_sectors(form, &axis::src_stride, form.word_bytes);
  made.again = fetched_again_by_elements(form, 128.0 * static_cast<double>(each), on.l2_bytes);
  made.dram = std::max(0.0, stored_sectors(form, numbers, each, on.lanes) - stored);
  made.requests = std::max(0.0, read_sectors(form, each, on.lanes) - read);
  made.shared = each > 1 ? threads * static_cast<double>(each * (numbers.row_rank - 1)) : 0;
  made.issue = threads * static_cast<double>(1 + numbers.rank);
  return made;
}

counts several_counts(const kernels::facts& known, const kernels::target& on, const several_grid& numbers) noexcept {
  constexpr double issue_of_element = 0.3;  // instructions of an element, divided by a thread's
  constexpr int most_lanes = 64;
  const map::canonical& form = known.form;
  const std::int64_t apart = std::int64_t{1} << numbers.apart_log2, word = form.word_bytes;
  std::int64_t src_sectors = 0, dst_sectors = 0, elements = 0;
  for (int k = 0; k < elements_of_thread; ++k) {  // an instruction of a warp
    std::array<std::int64_t, most_lanes> src{}, dst{};
    std::int64_t count = 0;
    for (std::int64_t number = 0; number < std::min<std::int64_t>({on.lanes, most_lanes, numbers.all_words});
         ++number) {
      const std::int64_t place = number % numbers.words.divisor, along = place & (apart - 1);
      const std::int64_t index = (place - along) * elements_of_thread + along + k * apart;
      if (index >= numbers.row_elements) continue;
      std::int64_t rest = number / numbers.words.divisor;
      std::int64_t from = index * numbers.src_bytes, to = index * numbers.dst_bytes;
      for (int outer = 0; outer < numbers.rank; ++outer) {
        from += rest % numbers.outer[outer].extent * numbers.outer[outer].src_bytes;
        to += rest % numbers.outer[outer].extent * numbers.outer[outer].dst_bytes;
        rest /= numbers.outer[outer].extent;
      }
      src[static_cast<std::size_t>(count)] = from >> 5, dst[static_cast<std::size_t>(count)] = to >> 5;
      ++count;
    }
    elements += count;
    src_sectors += different(src.data(), count), dst_sectors += different(dst.data(), count);
  }
  const double bytes = static_cast<double>(std::max<std::int64_t>(elements, 1) * word) / 32;
  const double all = static_cast<double>(map::words(form)) * 8 / static_cast<double>(known.bytes);
  counts made;
  made.again = fetched_again_by_elements(form, 128.0 * elements_of_thread, on.l2_bytes);
  made.dram = std::max(
      0.0, static_cast<double>(dst_sectors) / bytes - touched_sectors(form, &axis::dst_stride, form.dst_word_bytes));
  made.requests =
      std::max(0.0, static_cast<double>(src_sectors) / bytes - touched_sectors(form, &axis::src_stride, word));
  made.issue = static_cast<double>(numbers.all_words) * 8 / static_cast<double>(known.bytes) *
                   static_cast<double>(1 + numbers.rank) +
               issue_of_element * all;
  return made;
}

void predict(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
             const counts& of_elements, kernels::offer& made) noexcept {
  const bool is_cached = row.kind == kernels::row_kind::move && known.bytes <= on.gpu->cached_bytes;
  counts parts = of_elements;
  parts.copy *= touched_lines(known.form, is_cached ? sector_bytes : dram_bytes);
  parts.copy += parts.again.from_dram, parts.requests += parts.again.from_l2;
  const row_constants& by = on.gpu->rows[&row - kernels::all().data()];
  if (made.blocks == 0) {
    made.time = add_up(parts, by.usual, made);
    return;
  }
  // The last wave of blocks may leave multiprocessors idle. The latencies of a launch and of a block are added to the
  // times of the offer and of the copy, so that they cancel for a large problem. Rows in place: the regret of 684 squares is
  // 1.005 without the last wave, and 1.02 with it (H100).
  const double waves = std::ceil(static_cast<double>(made.blocks) / on.multiprocessors);
  const double idle =
      row.kind == kernels::row_kind::in_place ? 1 : waves * on.multiprocessors / static_cast<double>(made.blocks);
  if (is_cached) return predict_cached(known, *on.gpu, by, parts * idle, made);
  const double copy_us = 2 * static_cast<double>(known.bytes) / on.copy_bytes_per_us;
  const double latency_us = on.gpu->launch_us + (made.shared_bytes > 0 ? on.gpu->block_us : on.gpu->copy_block_us);
  const double work_us = copy_us * add_up(parts * idle, by.usual, made), us = latency_us + work_us;
  if (work_us * (1 - 1 / idle) + latency_us > us / 2) made.binds = kernels::bound::latency;
  made.time = us / (on.gpu->launch_us + on.gpu->copy_block_us + copy_us);
}

}  // namespace cornerturn::gpu
