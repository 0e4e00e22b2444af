// Problems in place on the CPU: the check of their permutation, the call and the programs.
#include "api/in_place.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "api/plan_state.hpp"
#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"
#include "kernels/cpu/cycles/args.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/scratch.hpp"

namespace cornerturn::api {
namespace {

using planning::in_place_step;

std::string extents_and_strides(const axis& one) {
  return "extent " + std::to_string(one.extent) + ", src stride " + std::to_string(one.src_stride) +
         " and dst stride " + std::to_string(one.dst_stride);
}

bool has_partner(const problem& what, int k) {
  const axis wanted{what.axes[k].extent, what.axes[k].dst_stride, what.axes[k].src_stride};
  return std::find(what.axes.begin(), what.axes.begin() + what.rank, wanted) != what.axes.begin() + what.rank;
}

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

}  // namespace

void check_in_place(const problem& what, const map::in_place_form& permutation) {
  if (permutation.kind != map::in_place_kind::impossible) return;
  const std::string wanted =
      ". Wanted: pairs of axes with equal extents and swapped strides, or a packed matrix of any shape";
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (one.extent <= 1 || one.src_stride == one.dst_stride || has_partner(what, k)) continue;
    throw error(status::invalid_argument, "in_place is set, but axis " + std::to_string(k) + " has " +
                                              extents_and_strides(one) + ", and no axis has these strides swapped" +
                                              wanted);
  }
  throw error(status::invalid_argument, "in_place is set, but src and dst do not cover equal addresses" + wanted);
}

namespace {

// Repeats [begin, end) of a program.
void run_repeats(const planning::in_place_choice& chosen, const planning::in_place_program& program, std::int64_t begin,
                 std::int64_t end, std::byte* data, std::byte* workspace, const executor& parallel) {
  kernels::cpu::odometer at(program.repeat, 1, begin, false);
  for (std::int64_t repeat = begin; repeat < end; ++repeat, at.next()) {
    std::byte* const array = data + program.begin + at.src();
    for (const in_place_step& step : program.steps) {
      const kernels::offer& how = chosen.moves[static_cast<std::size_t>(step.move)];
      if (how.row->family == std::string_view("cycles")) {
        const auto& work = how.as<kernels::cpu::cycles::args>();
        std::memset(kernels::cpu::cycle_flags(work, workspace), 0,
                    static_cast<std::size_t>(kernels::cpu::cycle_flags_bytes(work)));
      }
      run(how,
          {.src = (step.from_workspace ? workspace : array) + step.from,
           .dst = (step.to_workspace ? workspace : array) + step.to,
           .workspace = workspace},
          parallel);
    }
  }
}

}  // namespace

void run_in_place(const planning::in_place_choice& chosen, std::byte* data, std::byte* workspace,
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

std::string explain(const planning::in_place_choice& chosen) {
  base::text_stream out;
  for (const planning::in_place_program& program : chosen.programs) {
    out << "program    " << program.repeat.total << (program.repeat.total == 1 ? " time" : " times");
    if (program.threads > 1) out << ", shared by " << program.threads << " threads";
    out << "\n";
    for (std::size_t k = 0; k < program.steps.size();) {
      const in_place_step& step = program.steps[k];
      std::size_t times = 1;
      while (k + times < program.steps.size() && program.steps[k + times].move == step.move) ++times;
      const kernels::offer& how = chosen.moves[static_cast<std::size_t>(step.move)];
      out << "  step     ";
      if (times > 1) out << times << " x ";
      out << how.row->name;
      if (how.row->kind == kernels::row_kind::move) {
        out << (step.from_workspace ? " from the workspace" : "") << (step.to_workspace ? " to the workspace" : "");
      }
      out << ", " << how.threads << (how.threads == 1 ? " thread over " : " threads over ") << how.units << " units\n";
      k += times;
    }
  }
  out << "passes     " << chosen.passes << " over the array\n";
  out << "workspace  " << chosen.workspace_bytes << " bytes\n";
  return out.str();
}

}  // namespace cornerturn::api

namespace cornerturn::detail {

void plan_state::execute_in_place(void* data, std::span<std::byte> workspace) const {
  const std::int64_t wanted = in_place_->workspace_bytes;
  std::byte* const at = static_cast<std::byte*>(data) + dst_start_;
  check_workspace_of(workspace, wanted, data);
  if (!workspace.empty() || wanted == 0) return api::run_in_place(*in_place_, at, workspace.data(), parallel_);
  // An executor may start another call in this thread before this call ends. The pool does not.
  if (wanted <= api::kept_workspace_bytes && parallel_.run == nullptr) {
    if (std::byte* const kept = kernels::cpu::item_buffer(wanted); kept != nullptr) {
      return api::run_in_place(*in_place_, at, kept, parallel_);
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
  api::run_in_place(*in_place_, at, own.get(), parallel_);
}

}  // namespace cornerturn::detail
