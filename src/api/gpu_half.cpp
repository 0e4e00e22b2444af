#include "api/gpu_half.hpp"

#include <algorithm>
#include <sstream>
#include <variant>

#include "cornerturn/error.hpp"
#include "plan/apply_gpu.hpp"
#include "plan/in_place_gpu.hpp"

namespace cornerturn::detail {
namespace {

int element_alignment(const problem& what) noexcept {
  const std::int64_t bytes = std::max(what.element_bytes, map::only_moves(what) ? 1 : bytes_of(what.math.dst));
  return static_cast<int>(std::min<std::int64_t>(bytes & -bytes, 16));
}

}  // namespace

gpu_way prepare(const problem& what, const gpu::device_info& on, int alignment, std::string_view kernel) {
  // A row that is asked for by name gets words of its own size where the problem has longer ones.
  const kernels::kernel* const forced = kernel.empty() ? nullptr : kernels::find(kernel);
  std::int64_t word = alignment;
  if (forced != nullptr && forced->element_bytes > 0) word = std::min<std::int64_t>(word, forced->element_bytes);
  gpu_way way;
  way.alignment = alignment;
  way.form = map::canonicalize(what, word);
  const planning::gpu_request wanted = {
      .multiprocessors = on.multiprocessors, .shared_bytes = on.shared_bytes, .alignment = alignment, .kernel = kernel};
  const planning::gpu_tuning& tuned = planning::gpu_tuning_for(on.arch);
  map::in_place_form places;
  if (what.in_place) places = map::in_place(way.form);
  if (places.kind == map::in_place_kind::rectangle) {
    auto made =
        std::make_shared<const planning::gpu_rectangle>(planning::choose_rectangle(way.form, places, wanted, tuned));
    way.chosen.kernel = made->kernel;
    way.chosen.line = made->line;
    way.chosen.reason = made->reason;
    way.rectangle = std::move(made);
  } else if (!map::only_moves(what)) {
    way.chosen = planning::choose_apply(way.form, kernels::op_of(what.math, what.element_bytes), wanted);
  } else {
    way.chosen =
        what.in_place ? planning::choose_in_place(way.form, places, wanted) : planning::choose(way.form, wanted, tuned);
  }
  return way;
}

gpu_half prepare(const problem& what, const gpu::device_info& on, std::string_view kernel) {
  return {prepare(what, on, 16, kernel), prepare(what, on, element_alignment(what), kernel)};
}

int alignment_of(const map::canonical& form, std::uint64_t src, std::uint64_t dst) noexcept {
  const auto word = static_cast<std::uint64_t>(form.word_bytes);
  const std::uint64_t both = (src + static_cast<std::uint64_t>(form.src_offset) * word) |
                             (dst + static_cast<std::uint64_t>(form.dst_offset) * word) | 16;
  return static_cast<int>(both & -both);
}

namespace {

bool has_whole_elements(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto is_whole = [](const void* at, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  return is_whole(all.src, form.word_bytes) && is_whole(all.dst, form.dst_word_bytes) &&
         is_whole(all.second, form.dst_word_bytes);
}

}  // namespace

int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto number = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t each = number(all.src) | number(all.dst) | number(all.second) | 16;
  const auto common = static_cast<int>(each & -each);
  const auto larger = static_cast<int>(std::max(form.word_bytes, form.dst_word_bytes));
  return common < larger && has_whole_elements(form, all) ? larger : common;
}

const char* start(const gpu_way& way, const gpu_arrays& all, void* stream) noexcept {
  const planning::gpu_choice& chosen = way.chosen;
  if (chosen.blocks == 0) return nullptr;
  auto job = std::get<gpu::apply_job>(chosen.job);
  job.src = all.src;
  job.dst = all.dst;
  job.second = all.second;
  job.scale = all.scale;
  job.bytewise = has_whole_elements(way.form, all) ? 0 : 1;
  return chosen.kernel->launch(&job, chosen.blocks, chosen.shared_bytes, stream);
}

namespace {

const char* launch(const map::canonical& form, const planning::gpu_choice& chosen, const map::byte_span& src_span,
                   const void* src, void* dst, std::uint32_t* flags, void* stream) noexcept {
  if (chosen.blocks == 0) return nullptr;
  const auto at = reinterpret_cast<std::uint64_t>(src);
  auto job = chosen.job;
  return std::visit(
      [&](auto& mine) {
        mine.src = static_cast<const std::byte*>(src) + form.src_offset * form.word_bytes;
        mine.dst = static_cast<std::byte*>(dst) + form.dst_offset * form.word_bytes;
        if constexpr (requires { mine.flags; }) mine.flags = flags;
        if constexpr (requires { mine.src_begin; }) {
          mine.src_begin = at + static_cast<std::uint64_t>(src_span.lo);
          mine.src_end = at + static_cast<std::uint64_t>(src_span.hi);
        }
        return chosen.kernel->launch(&mine, chosen.blocks, chosen.shared_bytes, stream);
      },
      job);
}

}  // namespace

const char* start(const gpu_way& way, const map::byte_span& src_span, const void* src, void* dst,
                  void* stream) noexcept {
  return launch(way.form, way.chosen, src_span, src, dst, nullptr, stream);
}

const char* start(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace, void* stream) noexcept {
  return planning::run(
      all, data, workspace,
      [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) {
        return launch(move.form, move.chosen, map::src_span(move.form), from, to, flags, stream);
      },
      [&](std::uint32_t* flags, std::int64_t bytes) { return gpu::clear(flags, bytes, stream); });
}

void check_loaded(int device) {
  const char* const said = gpu::load_kernels(device);
  if (said == nullptr) return;
  const gpu::device_info& there = gpu::info(device);
  throw error(status::device_error, "the kernels do not load on GPU " + std::to_string(device) + " (" + there.name +
                                        ", sm_" + std::to_string(there.arch) + "): " + said);
}

void check_fits(const gpu_way& way) {
  if (way.chosen.kernel != nullptr) return;
  throw error(status::overflow, "the problem has more parts than a GPU's grid has blocks (2^31 - 1)");
}

void check_start(const char* said, int device, const char* kernel) {
  if (said == nullptr) return;
  gpu::clear_error();
  throw error(status::device_error,
              std::string("GPU ") + std::to_string(device) + " did not start " + kernel + ": " + said);
}

namespace {

// What a block moves, and how blocks are numbered.
void print_grid(std::ostream& out, const gpu::grid& blocks) {
  if (blocks.rank == 0) return;
  out << "order     ";
  for (int k = 0; k < blocks.rank; ++k) {
    const gpu::grid_axis& one = blocks.axes[k];
    out << (k > 0 ? ", then " : " ") << one.count.divisor;
    if (one.tiles[0] > 0) out << " across src's rows";
    if (one.tiles[1] > 0) out << " down src's columns";
  }
  out << " (fastest first)\n";
}

struct print_job {
  std::ostream& out;
  std::int64_t word;

  void operator()(const gpu::tile_job& job) const {
    out << "tile       " << job.blocks.tile[1] << " rows x " << job.blocks.tile[0] << " columns of " << word
        << "-byte words\n";
    print_grid(out, job.blocks);
  }
  void operator()(const gpu::blocks_job& job) const {
    out << "matrices   " << job.blocks.extent[1] << " in a row, " << job.blocks.tile[1] << " at a time\n";
    print_grid(out, job.blocks);
  }
  void operator()(const gpu::small_job& job) const {
    out << "matrix     " << job.rows << " rows x " << job.cols << " columns of " << word << "-byte words, "
        << job.down.divisor << " tiles down a column of them\n";
  }
  void operator()(const gpu::box_job& job) const {
    out << "box        " << job.runs << " runs of " << job.run_elements << " words in src ("
        << (job.run_is_contiguous != 0 ? job.run_elements * word : word) << " bytes at a time), " << job.lines
        << " lines of " << job.line_elements << " words in dst ("
        << (job.line_is_contiguous != 0 ? job.line_elements * word : word) << " bytes at a time)\n";
    print_grid(out, job.blocks);
  }
  void operator()(const gpu::panel_job& job) const {
    out << "panels     " << job.count << " of " << job.shape.rows.divisor << " rows x " << job.panels.tile[0]
        << " columns of " << word << "-byte words, by " << (1 << job.shape.team_log2) << " threads each\n";
  }
  void operator()(const gpu::swap_job& job) const {
    out << "in place   tiles of " << job.tile << " x " << job.tile << " elements of " << job.words << " " << word
        << "-byte words, " << job.numbers << " along a side\n";
  }
  void operator()(const gpu::apply_job& job) const {
    out << "tile       " << job.blocks.tile[1] << " rows x " << job.blocks.tile[0] << " columns";
    if (job.blocks.tile[2] > 1) out << " x " << job.blocks.tile[2] << " of another axis";
    out << ", " << word << "-byte elements to " << job.dst_bytes << "-byte ones\n";
  }
  void operator()(const gpu::cycles_job& job) const {
    out << "cycles     " << job.count / job.parts.divisor << " items of " << job.item_bytes << " bytes, in "
        << job.parts.divisor << (job.parts.divisor == 1 ? " part" : " parts each") << '\n';
  }
  void operator()(const gpu::runs_job& job) const {
    out << "runs       " << job.runs << " of " << job.run_bytes << " bytes, in " << job.pieces.divisor
        << (job.pieces.divisor == 1 ? " piece\n" : " pieces each\n");
  }
};

void print_program(std::ostream& out, const planning::gpu_rectangle& all) {
  for (const planning::gpu_program& program : all.programs) {
    out << "program    " << program.repeat.total << (program.repeat.total == 1 ? " time\n" : " times\n");
    for (std::size_t k = 0, next = 0; k < program.steps.size(); k = next) {
      const planning::gpu_step& step = program.steps[k];
      while (next < program.steps.size() && program.steps[next].move == step.move) ++next;
      const planning::gpu_move& move = all.moves[static_cast<std::size_t>(step.move)];
      const planning::gpu_choice& chosen = move.chosen;
      out << "  step     ";
      if (next - k > 1) out << next - k << " x ";
      out << chosen.kernel->name << (step.from_workspace ? " from the workspace" : "")
          << (step.to_workspace ? " to the workspace" : "") << ", " << chosen.blocks
          << (chosen.blocks == 1 ? " block" : " blocks");
      if (std::holds_alternative<gpu::strips_job>(chosen.job)) out << " of " << move.form.axes[0].extent << " strips";
      if (const auto* cycles = std::get_if<gpu::cycles_job>(&chosen.job)) {
        out << " over " << cycles->count / cycles->parts.divisor << " items of " << cycles->item_bytes << " bytes";
      }
      out << '\n';
    }
  }
  out << "passes     " << all.passes << " over the array\n";
  out << "workspace  " << all.workspace_bytes << " bytes\n";
}

}  // namespace

std::string explain(const gpu_half& half, const gpu::device_info& on) {
  std::ostringstream out;
  out << "device     " << on.name << ", sm_" << on.arch << ", " << on.multiprocessors
      << " multiprocessors, tuning row \"" << planning::gpu_tuning_for(on.arch).name << "\"\n";
  for (const gpu_way* way : {&half.wide, &half.narrow}) {
    if (way == &half.narrow && way->alignment == half.wide.alignment) break;
    const planning::gpu_choice& chosen = way->chosen;
    out << "pointers   multiples of " << way->alignment << (way->alignment == 1 ? " byte" : " bytes")
        << (way == &half.narrow ? " only\n" : "\n");
    if (chosen.kernel == nullptr) {
      out << "kernel     none: the row that was asked for cannot move it\n";
      continue;
    }
    out << "kernel     " << chosen.kernel->name << ": " << chosen.kernel->note << '\n';
    if (way->tuned) out << "tuned      measured to be the fastest of all rows here\n";
    out << "line " << chosen.line << "     " << chosen.reason << '\n';
    if (way->rectangle != nullptr) print_program(out, *way->rectangle);
    if (chosen.blocks == 0) continue;
    std::visit(print_job{out, way->form.word_bytes}, chosen.job);
    out << "grid       " << chosen.blocks << (chosen.blocks == 1 ? " block, " : " blocks, ") << chosen.shared_bytes
        << " bytes of shared memory each, of " << on.shared_bytes << " that a block may have\n";
  }
  return out.str();
}

}  // namespace cornerturn::detail
