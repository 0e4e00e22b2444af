#include "run/in_place_cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/scratch.hpp"

namespace cornerturn::running {
namespace {

using planning::in_place_step;

// A workspace up to this size is kept for the next call in the same thread. 20 batches of squares with sides of 3 to 8: 0.38 of
// a copy without, 0.42 with it; two threads 0.66, 0.83 (Zen 4, 2026-11-25).
constexpr std::int64_t kept_workspace_bytes = std::int64_t{1} << 20;

void run(const kernels::offer& how, const kernels::arrays& all, const executor& parallel) {
  struct team {
    const kernels::offer& how;
    const kernels::arrays& all;
  } together{how, all};
  const auto body = [](void* argument, std::int64_t begin, std::int64_t end) {
    const team& mine = *static_cast<team*>(argument);
    mine.how.row->run(mine.how.args, mine.all, begin, end);
  };
  base::parallel_for(parallel, how.threads, how.units, body, &together);
}

// Repeats [begin, end) of a program.
void run_repeats(const planning::in_place_choice& chosen, const planning::in_place_program& program, std::int64_t begin,
                 std::int64_t end, std::byte* data, std::byte* workspace, const executor& parallel) {
  kernels::cpu::odometer at(program.repeat, 1, begin, false);
  for (std::int64_t repeat = begin; repeat < end; ++repeat, at.next()) {
    std::byte* const array = data + program.begin + at.src();
    for (const in_place_step& step : program.steps) {
      const kernels::offer& how = chosen.moves[static_cast<std::size_t>(step.move)];
      if (step.flags_bytes > 0) {
        std::byte* const flags = workspace + step.flags_at;
        std::memset(flags + (-reinterpret_cast<std::uintptr_t>(flags) & 7), 0,
                    static_cast<std::size_t>(step.flags_bytes));
      }
      run(how,
          {.src = (step.from_workspace ? workspace : array) + step.from,
           .dst = (step.to_workspace ? workspace : array) + step.to,
           .workspace = workspace},
          parallel);
    }
  }
}

void run_programs(const planning::in_place_choice& chosen, std::byte* data, std::byte* workspace,
                  const executor& parallel) {
  for (const planning::in_place_program& program : chosen.programs) {
    if (program.threads == 1) {
      run_repeats(chosen, program, 0, program.repeat.total, data, workspace, parallel);
      continue;
    }
    // A unit is a workspace. Its thread claims repeats until none is left, so a unit that begins late does no work.
    struct team {
      const planning::in_place_choice& chosen;
      const planning::in_place_program& program;
      std::byte* data;
      std::byte* workspace;
      std::int64_t at_once;
      std::atomic<std::int64_t> next{0};
    } together{chosen, program, data, workspace, base::ceil_div(program.repeat.total, 8 * program.threads)};
    const auto body = [](void* argument, std::int64_t begin, std::int64_t end) {
      team& mine = *static_cast<team*>(argument);
      const std::int64_t all = mine.program.repeat.total;
      for (std::int64_t unit = begin; unit < end; ++unit) {
        std::byte* const room = mine.workspace + unit * mine.program.workspace_bytes;
        for (std::int64_t k = mine.next.fetch_add(mine.at_once); k < all; k = mine.next.fetch_add(mine.at_once)) {
          run_repeats(mine.chosen, mine.program, k, std::min(all, k + mine.at_once), mine.data, room, {});
        }
      }
    };
    base::parallel_for(parallel, program.threads, program.threads, body, &together);
  }
}

}  // namespace

void run_in_place(const planning::in_place_choice& chosen, std::byte* data, std::span<std::byte> workspace,
                  const executor& parallel) {
  const std::int64_t wanted = chosen.workspace_bytes;
  if (!workspace.empty() || wanted == 0) return run_programs(chosen, data, workspace.data(), parallel);
  // An executor may start another call in this thread before this call ends. The pool does not.
  if (wanted <= kept_workspace_bytes && parallel.run == nullptr) {
    if (std::byte* const kept = kernels::cpu::item_buffer(wanted); kept != nullptr) {
      return run_programs(chosen, data, kept, parallel);
    }
  }
  struct release {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  // Uninitialized: the threads that use the pages touch them first. Pages of 2 MiB come faster, but no call was faster by them
  // (12 rectangles, Zen 4, 2026-11-25).
  const std::unique_ptr<std::byte, release> own(
      static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(base::ceil_div(wanted, 4096) * 4096))));
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory for a workspace of " + std::to_string(wanted) + " bytes");
  }
  run_programs(chosen, data, own.get(), parallel);
}

}  // namespace cornerturn::running
