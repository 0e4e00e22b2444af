// plan::explain(): prints the problem, its canonical form and every offer.
// For the CPU it also prints the blocking of the cheapest offer, for a GPU the launch of each variant.
#include <algorithm>
#include <ostream>
#include <vector>

#include "api/apply.hpp"
#include "api/explain.hpp"
#include "api/plan_state.hpp"
#include "base/numbers.hpp"
#include "base/text_stream.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "map/lines.hpp"

namespace cornerturn::detail {
namespace {

template <class Axes>
void print_axes(std::ostream& out, const Axes& axes, int rank, bool has_second) {
  for (int k = 0; k < rank; ++k) {
    out << "    " << axes[k].extent << "  src stride " << axes[k].src_stride << ", dst stride " << axes[k].dst_stride;
    if (has_second) out << ", second stride " << axes[k].second_stride;
    out << '\n';
  }
}

void print_fused_axes(std::ostream& out, const char* name, const kernels::fused_axes& one, const char* meaning) {
  if (one.rank == 0) return;
  out << "  " << name << " " << one.total;
  if (one.rank > 1) {
    out << " =";
    for (int k = one.rank - 1; k >= 0; --k) out << ' ' << one.axes[k].extent << (k > 0 ? " x" : "");
  }
  out << "  " << meaning << '\n';
}

// Of a CPU or a GPU.
template <class Costs>
void print_costs(std::ostream& out, const Costs& these) {
  out << "costs of \"" << these.name << "\", " << these.origin << ", " << these.date << '\n';
}

void print_cpu_blocking(std::ostream& out, const kernels::cpu::blocking& work, const base::machine& on) {
  print_costs(out << "blocking   ", kernels::cpu::costs_of(on));
  print_fused_axes(out, "rows", work.rows, "contiguous in dst");
  print_fused_axes(out, "cols", work.cols,
                   work.src_col_bytes == work.element_bytes ? "contiguous in src" : "strided in src");
  print_fused_axes(out, "outer", work.outer, "one iteration each");
  out << "  panel " << work.panel << " columns, group " << work.group << " rows, "
      << (work.streaming ? "non-temporal" : "ordinary") << " stores\n";
}

// The roof of a view: lines of src once; lines of dst once if they are written whole, else read too; a second array as its math says.
void print_lines(std::ostream& out, const map::canonical& form, const kernels::op& math, std::int64_t line) {
  if (form.empty) return;
  const auto touched = [&](std::int64_t axis::*stride, std::int64_t word_bytes) {
    std::vector<map::stepped_axis> axes;
    for (int k = 0; k < form.rank; ++k) axes.push_back({form.axes[k].extent, form.axes[k].*stride});
    return map::lines_of(axes, word_bytes, line);
  };
  const map::lines src = math.reads_src() ? touched(&axis::src_stride, form.word_bytes) : map::lines{};
  const map::lines dst = touched(&axis::dst_stride, form.dst_word_bytes);
  // Sums of several arrays may need more than 63 bits.
  const auto bytes = [&](std::int64_t count) { return static_cast<double>(line) * static_cast<double>(count); };
  const double written = bytes(dst.all), read_again = math.sums_into_dst ? written : written - bytes(dst.whole);
  double second = 0;
  if (math.second != second_array::none && !math.sums_into_dst) {
    const map::lines other = touched(&axis::second_stride, form.dst_word_bytes);
    second = math.reads_second() ? bytes(other.all) : 2 * bytes(other.all) - bytes(other.whole);
  }
  const std::int64_t arrays = math.second != second_array::none ? 2 : 1;  // of dst's elements
  const std::int64_t bytes_of_word = (math.reads_src() ? form.word_bytes : 0) + arrays * form.dst_word_bytes;
  const double needed = static_cast<double>(map::words(form)) * static_cast<double>(bytes_of_word);
  const double moved = bytes(src.all) + written + read_again + second;
  const double roof = needed / moved;
  if (roof > 0.98 || moved - needed <= bytes(8)) return;
  out << "lines      " << base::fixed(bytes(src.all), 0) << " bytes of src, " << base::fixed(written, 0) << " of dst";
  if (read_again > 0) out << " and " << base::fixed(read_again, 0) << " of dst read before";
  if (second > 0) out << ", " << base::fixed(second, 0) << " of the second array";
  out << ": the roof is " << base::fixed(roof, 3) << " of a copy of the elements\n";
}

void print_gpu_program(std::ostream& out, const planning::gpu_rectangle& all) {
  for (const planning::gpu_program& program : all.programs) {
    out << "program    " << program.repeat.total << (program.repeat.total == 1 ? " time\n" : " times\n");
    for (std::size_t k = 0, next = 0; k < program.steps.size(); k = next) {
      const planning::gpu_step& step = program.steps[k];
      while (next < program.steps.size() && program.steps[next].move == step.move) ++next;
      const planning::gpu_move& move = all.moves[static_cast<std::size_t>(step.move)];
      const kernels::offer& chosen = move.chosen;
      out << "  step     ";
      if (next - k > 1) out << next - k << " x ";
      out << chosen.row->name << (step.from_workspace ? " from the workspace" : "")
          << (step.to_workspace ? " to the workspace" : "") << ", " << chosen.blocks
          << (chosen.blocks == 1 ? " block" : " blocks") << "\n           " << chosen.row->describe(chosen);
    }
  }
  out << "passes     " << all.passes << " over the array\n";
  out << "workspace  " << all.workspace_bytes << " bytes\n";
}

void print_measurement(std::ostream& out, const running::self_measurement& of) {
  const auto time_of = [&](const kernels::offer& one) {
    return base::fixed(1e-3 * static_cast<double>(of.time_of(one)), 1) + " us";
  };
  const auto all = of.offers();
  const kernels::offer* const found = of.settled();
  if (found == nullptr) {
    const std::size_t calls = all.size() + running::self_measurement::finalists;
    out << "measures   the first " << calls << " calls of this plan run " << all.size()
        << " kernels, and the fastest one stays\n";
    return;
  }
  const auto timed = std::count_if(all.begin(), all.end(), [&](const auto& one) { return of.time_of(one) != 0; });
  if (of.time_of(*found) == 0) {
    out << "measured   no call: each overlapped another call of this plan\n";
    return;
  }
  out << "measured   " << found->row->name << " in " << time_of(*found) << ", the fastest of " << timed << " kernels";
  if (found != &all.front()) out << "; by prediction " << all.front().row->name << ", " << time_of(all.front());
  out << '\n';
}

}  // namespace

void print_offers(std::ostream& out, const std::vector<kernels::offer>& all, const kernels::kernel* chosen,
                  bool with_reasons) {
  out << "offers     predicted time, 1 = a copy of the same bytes; the limit of the kernel\n";
  for (const kernels::offer& one : all) {
    std::string limit = kernels::name(one.binds);
    limit.resize(std::max<std::size_t>(limit.size(), 13), ' ');
    out << "  " << base::fixed(one.time, 2, 6) << "  " << limit << ' ' << one.row->name;
    if (one.row == chosen) {
      out << "  (chosen)";
    } else if (one.time > all[0].time && all[0].time > 0) {
      out << "  (" << base::fixed(one.time / all[0].time, 2) << " times the fastest)";
    }
    if (with_reasons) out << ": " << one.reason;
    out << '\n';
  }
}

std::string explain(const running::work& what, const running::gpu_plan& plan, const gpu::device_info& on) {
  base::text_stream out;
  const kernels::target target = planning::target_of(on.traits);
  constexpr std::int64_t sector_bytes = 32;
  out << "device     " << on.name << ", " << on.arch << ", " << on.traits.multiprocessors << " multiprocessors, ";
  print_costs(out, *target.gpu);
  if (!what.in_place) print_lines(out, what.form, what.math, sector_bytes);
  for (const running::gpu_variant& variant : plan.variants) {
    const kernels::offer& chosen = variant.chosen;
    out << "pointers   multiples of " << variant.alignment << (variant.alignment == 1 ? " byte" : " bytes")
        << (&variant == &plan.aligned() ? "\n" : " only\n");
    if (chosen.row == nullptr) {
      out << "kernel     none: the row that was asked for cannot move it\n";
      continue;
    }
    out << "kernel     " << chosen.row->name << ": " << chosen.row->note << '\n';
    if (variant.tuned) out << "tuned      measured to be the fastest of all rows here\n";
    out << "reason     " << chosen.reason << '\n';
    if (variant.rectangle != nullptr) {
      print_gpu_program(out, *variant.rectangle);
      continue;
    }
    print_offers(out, running::offers_of(what, variant, target), variant.chosen.row, false);
    if (chosen.blocks == 0) continue;
    out << chosen.row->describe(chosen);
    out << "grid       " << chosen.blocks << (chosen.blocks == 1 ? " block, " : " blocks, ") << chosen.shared_bytes
        << " bytes of shared memory each, of " << on.traits.shared_bytes << " that a block may have\n";
  }
  return out.str();
}

void plan_state::explain_gpu_plans(std::ostream& out) const {
  for (int device = 0; device < gpu::most_devices; ++device) {
    const running::gpu_plan* known = gpu_plans_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
    if (known != nullptr) out << "for pointers to GPU memory\n" << detail::explain(what_, *known, gpu::info(device));
  }
}

std::string plan_state::explain() const {
  base::text_stream out;
  out << "problem    " << what_.element_bytes << "-byte elements, rank " << what_.rank << '\n';
  const bool has_second = what_.math.second != second_array::none;
  print_axes(out, what_.axes, what_.rank, has_second);
  if (computes_) out << "math       " << api::text_of(what_.math) << '\n';
  if (form_.empty) {
    out << "canonical  empty\n";
  } else {
    out << "canonical  " << form_.word_bytes << "-byte words";
    if (form_.dst_word_bytes != form_.word_bytes) out << " to " << form_.dst_word_bytes << "-byte words";
    out << ", rank " << form_.rank << " (largest dst stride first)\n";
    print_axes(out, form_.axes, form_.rank, has_second);
  }
  if (in_place_) {
    out << "kernel     " << in_place_->kernel->name << ": " << in_place_->kernel->note << '\n';
    out << "in place   " << in_place_->reason << '\n' << api::explain(*in_place_);
    out << "bytes      " << bytes_moved() << " (each pass reads once and writes once)\n";
    explain_gpu_plans(out);
    return out.str();
  }
  if (on_gpu_only()) {
    const running::gpu_plan& known = *gpu_plans_[device_].load(std::memory_order_acquire);
    out << detail::explain(what_, known, gpu::info(device_));
    out << "bytes      " << bytes_moved()
        << (known.aligned().rectangle != nullptr ? " (each pass reads once and writes once)\n"
                                                 : " (read once, written once)\n");
    return out.str();
  }
  const kernels::offer& chosen = this->chosen();
  out << "kernel     " << chosen.row->name << ": " << chosen.row->note << '\n';
  if (measured_ != nullptr) print_measurement(out, *measured_);
  if (tuned_) out << "tuned      the fastest of all rows by measurement\n";
  if (!kernel_.empty()) out << "forced     by options.kernel\n";
  out << "reason     " << chosen.reason << '\n';
  print_offers(out,
               planning::offers(
                   form_, {.threads = chosen.threads, .kernel = kernel_, .math = computes_ ? &math_ : nullptr}, cpu_),
               chosen.row, true);
  if (const auto* work = kernels::cpu::blocking_of(chosen); work != nullptr) print_cpu_blocking(out, *work, cpu_);
  out << "threads    " << chosen.threads << " over " << chosen.units
      << (chosen.units == 1 ? " unit of work\n" : " units of work\n");
  out << "bytes      " << bytes_moved() << " (read once, written once)\n";
  constexpr std::int64_t line_bytes = 64;
  print_lines(out, form_, math_, line_bytes);
  explain_gpu_plans(out);
  return out.str();
}

}  // namespace cornerturn::detail
