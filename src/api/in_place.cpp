// Problems in place on the CPU: the check of their permutation, the call and the text of their programs.
#include "api/in_place.hpp"

#include <algorithm>

#include "api/plan_state.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"
#include "run/in_place_cpu.hpp"

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
  check_workspace_of(workspace, in_place_->workspace_bytes, data);
  running::run_in_place(*in_place_, static_cast<std::byte*>(data) + dst_start_, workspace, parallel_);
}

}  // namespace cornerturn::detail
