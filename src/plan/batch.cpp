//   1. how much there is, and how many threads that is worth
//   2. a choice for each problem: for one thread, or for all where an item is so large that several will share it
//   3. each thread begins where its share of the bytes does, within an item if it must
#include "plan/batch.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {
namespace {

std::int64_t bytes_of(const map::canonical& form) noexcept { return map::words(form) * form.word_bytes; }

}  // namespace

batch_choice choose_batch(std::span<const map::canonical> forms, std::span<const batch_move> moves, int threads,
                          const base::machine& machine) {
  batch_choice made;
  for (const batch_move& one : moves) {  // 1.
    if (!base::checked_add(made.bytes, bytes_of(forms[one.which]), made.bytes)) made.bytes = INT64_MAX;
  }
  const std::int64_t worth = made.bytes / (tuning_for(machine).thread_bytes / 2);
  threads = static_cast<int>(std::clamp<std::int64_t>(worth, 1, std::max(threads, 1)));

  made.problems.reserve(forms.size());
  made.small.reserve(forms.size());
  // What is turned in a buffer of L2 and written from there; larger ones are written as they are turned. Shares of a
  // copy of float32, one thread of an Intel Xeon with 2 MiB of L2, 2026-11-22: 8 x 8 0.09 as it is turned, 0.56 by
  // ordinary stores, 0.64 so; 31 x 31 0.36, 0.53, 0.74; 8 to 300 0.50, 0.33, 0.56.
  const std::int64_t most_small = machine.l2_bytes / 8;
  const bool streams = made.bytes > cached_limit_bytes(machine);
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
    made.small.push_back(small && !made.problems.back().work.streaming);
  }

  made.begins.push_back({});
  std::int64_t before = 0;                          // bytes of the moves before this one
  for (std::size_t k = 0; k < moves.size(); ++k) {  // 3.
    const std::int64_t bytes = bytes_of(forms[moves[k].which]);
    const std::int64_t units = made.small[moves[k].which] ? 1 : made.problems[moves[k].which].work.units;
    for (auto next = static_cast<std::int64_t>(made.begins.size()); next < threads; ++next) {
      const std::int64_t wanted = made.bytes / threads * next - before;
      if (wanted >= bytes) break;
      const double part = static_cast<double>(std::max<std::int64_t>(wanted, 0)) / static_cast<double>(bytes);
      made.begins.push_back({k, static_cast<std::int64_t>(part * static_cast<double>(units))});
    }
    if (!base::checked_add(before, bytes, before)) before = INT64_MAX;
  }
  while (static_cast<int>(made.begins.size()) <= threads) made.begins.push_back({moves.size(), 0});
  return made;
}

}  // namespace cornerturn::planning
