//   1. how much there is, and how many threads that is worth
//   2. a choice for each problem: for one thread, or for all where an item is so large that several will share it
//   3. each share begins where its part of the bytes does, within an item if it must
#include "plan/batch.hpp"

#include <algorithm>
#include <string_view>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/cpu/register_tile/args.hpp"

namespace cornerturn::planning {
namespace {

std::int64_t bytes_of(const map::canonical& form) noexcept { return map::words(form) * form.word_bytes; }

// Of a small item that are turned in the L1 before they are written. 8 to 300 float32 0.55 of a copy with 4, 8 and 16 KiB,
// 0.43 with all of the item (Intel Xeon with 2 MiB of L2, one thread, 2026-11-22).
constexpr std::int64_t panel_bytes = 8 << 10;

const kernels::cpu::register_tile::args* matrix_of(const kernels::offer& one) noexcept {
  if (std::string_view(one.row->family) != "register_tile") return nullptr;
  const auto& work = one.as<kernels::cpu::register_tile::args>();
  return work.outer.total == 1 ? &work : nullptr;
}

// The bytes of the panels in which a matrix goes, the last one no narrower than a block; 0 for what is none.
std::int64_t panel_of(const kernels::offer& one) noexcept {
  const auto* const work = matrix_of(one);
  if (work == nullptr) return 0;
  const std::int64_t block = kernels::cpu::block_cols(work->word_bytes);
  const std::int64_t cols = work->cols;
  const std::int64_t column = work->rows * work->word_bytes;
  const std::int64_t blocks = std::max({panel_bytes / column / block, 64 / work->word_bytes / block, std::int64_t{1}});
  std::int64_t panel = std::min(cols, blocks * block);
  while (panel < cols && (cols - 1) % panel + 1 < block) panel = std::min(cols, panel + block);
  return panel * column;
}

// More than a line of each of some columns. Bytes lose: 8 to 300 0.40, in panels 0.42; float32 0.65 and 0.55 (Intel Xeon
// with 2 MiB of L2, one thread, 2026-11-23).
bool goes_by_strips(const kernels::offer& one) noexcept {
  const auto* const work = matrix_of(one);
  return work != nullptr && work->word_bytes > 1 && work->rows * work->word_bytes > 64 &&
         work->cols >= kernels::cpu::line_tile_cols(work->word_bytes) && work->cols <= kernels::cpu::item_strip_cols;
}

// Whether dst does not fit the cache beside what else the call writes, so that the row stores past it.
bool goes_past_cache(std::int64_t bytes, std::int64_t beside, const base::machine& machine) noexcept {
  return bytes > std::max<std::int64_t>(kernels::cpu::cached_limit_bytes(machine) - beside, 0);
}

}  // namespace

batch_choice choose_batch(std::span<const map::canonical> forms, std::span<const batch_move> moves, int threads,
                          const base::machine& machine) {
  batch_choice made;
  for (const batch_move& one : moves) {  // 1.
    if (!base::checked_add(made.bytes, bytes_of(forms[one.which]), made.bytes)) made.bytes = INT64_MAX;
  }
  const std::int64_t worth = made.bytes / (kernels::cpu::costs_of(machine).thread_bytes / 2);
  threads = static_cast<int>(std::clamp<std::int64_t>(worth, 1, std::max(threads, 1)));
  made.threads = threads;

  made.problems.reserve(forms.size());
  made.small.reserve(forms.size());
  made.panels.reserve(forms.size());
  made.strips.reserve(forms.size());
  made.copies.reserve(forms.size());
  // Items of up to most_small bytes are transposed into a buffer and written from there. Larger items are stored while they
  // are transposed. float32 31 x 31 reaches 0.74 of a copy through the buffer, and 0.36 without it (Intel Xeon, 2 MiB of L2,
  // one thread, 2026-11-22). Strips raise the limit: float32 301 x 301 reaches 0.68 by strips, and 0.48 when it is stored
  // while it is transposed (2026-11-23).
  const bool by_strips = kernels::cpu::costs_of(machine).line_tiles;
  const std::int64_t most_small = machine.l2_bytes / (by_strips ? 4 : 8);
  const bool streams = made.bytes > kernels::cpu::cached_limit_bytes(machine);
  for (const map::canonical& form : forms) {  // 2.
    const std::int64_t bytes = bytes_of(form);
    const map::byte_span span = map::dst_span(form);
    const bool shared = bytes > made.bytes / threads / 4;
    // dst is one run, and index 0 is where it begins.
    const bool one_run = span.lo == form.dst_offset * form.word_bytes && span.hi - span.lo == bytes;
    const bool small = streams && !shared && bytes <= most_small && one_run;
    const std::int64_t beside = small ? 0 : std::max<std::int64_t>(made.bytes - bytes, 0);
    made.problems.push_back(
        choose(form, {.threads = shared ? threads : 1, .kernel = {}, .beside_bytes = beside}, machine));
    made.small.push_back(small && !goes_past_cache(bytes, beside, machine));
    made.panels.push_back(made.small.back() ? panel_of(made.problems.back()) : 0);
    made.strips.push_back(by_strips && made.panels.back() > 0 && goes_by_strips(made.problems.back()));
    made.copies.push_back(std::string_view(made.problems.back().row->name) == "cpu_copy");
  }

  const std::int64_t shares = threads == 1 ? 1 : std::int64_t{base::ranges_per_thread} * threads;
  made.begins.push_back({});
  std::int64_t before = 0;                          // bytes of the moves before this one
  for (std::size_t k = 0; k < moves.size(); ++k) {  // 3.
    const std::int64_t bytes = bytes_of(forms[moves[k].which]);
    const std::int64_t units = made.small[moves[k].which] ? 1 : made.problems[moves[k].which].units;
    for (auto next = static_cast<std::int64_t>(made.begins.size()); next < shares; ++next) {
      const std::int64_t wanted = made.bytes / shares * next - before;
      if (wanted >= bytes) break;
      const double part = static_cast<double>(std::max<std::int64_t>(wanted, 0)) / static_cast<double>(bytes);
      made.begins.push_back({k, static_cast<std::int64_t>(part * static_cast<double>(units))});
    }
    if (!base::checked_add(before, bytes, before)) before = INT64_MAX;
  }
  while (made.shares() < shares) made.begins.push_back({moves.size(), 0});
  return made;
}

}  // namespace cornerturn::planning
