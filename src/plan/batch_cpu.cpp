// Shares of a batch on the CPU:
//   1. how much there is, and how many threads that is worth
//   2. a choice for each problem: for one thread, or for all where an item is so large that several will share it
//   3. each share begins where its part of the bytes does, within an item if it must
#include "plan/batch_cpu.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "kernels/cpu/costs.hpp"

namespace cornerturn::planning {
namespace {

std::int64_t bytes_of(const map::canonical& form) noexcept { return map::words(form) * form.word_bytes; }

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
  made.beside.reserve(forms.size());
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
    made.beside.push_back(beside);
    made.problems.push_back(
        choose(form, {.threads = shared ? threads : 1, .kernel = {}, .beside_bytes = beside}, machine));
    made.small.push_back(small && !goes_past_cache(bytes, beside, machine));
    const kernels::item_traits& item = made.problems.back().item;
    made.panels.push_back(made.small.back() ? item.panel_bytes : 0);
    made.strips.push_back(by_strips && made.panels.back() > 0 && item.takes_strips);
    made.copies.push_back(item.is_run);
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
