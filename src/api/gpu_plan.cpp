#include "api/gpu_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <vector>

#include "cornerturn/error.hpp"
#include "kernels/gpu/apply/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "plan/choose.hpp"

namespace cornerturn::detail {
namespace {

int element_alignment(const problem& what) noexcept {
  const std::int64_t bytes = std::max(what.element_bytes, map::only_moves(what) ? 1 : bytes_of(what.math.dst));
  return static_cast<int>(std::min<std::int64_t>(bytes & -bytes, 16));
}

// The facts of a problem that one launch solves. They point to `places`.
kernels::facts facts_for(const problem& what, const map::canonical& form, const map::in_place_form& places,
                         int alignment) noexcept {
  kernels::facts known =
      kernels::facts_of(form, map::only_moves(what) ? kernels::op{} : kernels::op_of(what.math, what.element_bytes));
  known.alignment = alignment;
  if (what.in_place) known.in_place = &places;
  return known;
}

// Shorter words are taken if their predicted time is less than this share of the longer words' time. The predictions are not
// exact: bytes instead of 2-byte words took 1.26 times as long for 2097152 x 8 x 8 at a predicted 0.95 (H200, 2026-11-23).
constexpr double shorter_words_gain = 0.97, bytes_gain = 0.94;

planning::request request_of(const problem& what, const map::in_place_form& places, std::string_view kernel) noexcept {
  const bool swaps = what.in_place && places.kind != map::in_place_kind::nothing;
  return {.kind = !map::only_moves(what) ? kernels::row_kind::arithmetic
                  : swaps                ? kernels::row_kind::in_place
                                         : kernels::row_kind::move,
          .kernel = kernel};
}

}  // namespace

gpu_variant choose_variant(const problem& what, const gpu::device_info& on, int alignment, std::string_view kernel) {
  // A row that is asked for by name gets words of its own size where the problem has longer ones.
  const kernels::kernel* const forced = kernel.empty() ? nullptr : kernels::find(kernel);
  std::int64_t word = alignment;
  if (forced != nullptr && forced->element_bytes > 0) word = std::min<std::int64_t>(word, forced->element_bytes);
  gpu_variant variant;
  variant.alignment = alignment;
  variant.form = map::canonicalize(what, word);
  const kernels::target target = planning::target_of(on.arch, on.multiprocessors, on.shared_bytes);
  map::in_place_form places;
  if (what.in_place) places = map::in_place(variant.form);
  if (places.kind == map::in_place_kind::rectangle) {
    auto made = std::make_shared<const planning::gpu_rectangle>(
        planning::choose_rectangle(variant.form, places, target, alignment, kernel));
    variant.chosen.row = made->kernel;
    variant.chosen.reason = made->reason;
    variant.rectangle = std::move(made);
    return variant;
  }
  kernels::facts known = facts_for(what, variant.form, places, alignment);
  if (what.in_place && places.kind == map::in_place_kind::nothing) known.form.empty = true;
  variant.chosen = planning::choose(known, target, request_of(what, places, kernel));
  // Elements of several words may be gathered faster in shorter words, which fill DRAM sectors more evenly: 22794 x 1380 of
  // 6 bytes 0.44 of a copy in words of 2 bytes, 0.68 in bytes (H200, 2026-11-23).
  const bool gathers = kernel.empty() && variant.chosen.row != nullptr && map::only_moves(what) && !what.in_place &&
                       variant.chosen.row->family == std::string_view("gather");
  for (int shorter = 2; gathers && shorter <= 4 && variant.chosen.row->element_bytes >= shorter; shorter *= 2) {
    const std::int64_t words_of = variant.form.word_bytes / 2;
    if (words_of == 0) break;
    const map::canonical form = map::canonicalize(what, words_of);
    const kernels::offer made =
        planning::choose(facts_for(what, form, places, alignment), target, {.family = "gather"});
    const double gain = words_of == 1 ? bytes_gain : shorter_words_gain;
    if (made.row == nullptr || made.time >= gain * variant.chosen.time) break;
    variant.chosen = made;
    variant.form = form;
  }
  return variant;
}

gpu_plan choose_variants(const problem& what, const gpu::device_info& on, std::string_view kernel) {
  return {choose_variant(what, on, 16, kernel), choose_variant(what, on, element_alignment(what), kernel)};
}

int alignment_of(const map::canonical& form, std::uint64_t src, std::uint64_t dst) noexcept {
  const auto word = static_cast<std::uint64_t>(form.word_bytes);
  const std::uint64_t both = (src + static_cast<std::uint64_t>(form.src_offset) * word) |
                             (dst + static_cast<std::uint64_t>(form.dst_offset) * word) | 16;
  return static_cast<int>(both & -both);
}

bool has_whole_elements(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto is_whole = [](const void* at, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  return is_whole(all.src, form.word_bytes) && is_whole(all.dst, form.dst_word_bytes) &&
         is_whole(all.second, form.dst_word_bytes);
}

int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto number = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t each = number(all.src) | number(all.dst) | number(all.second) | 16;
  const auto common = static_cast<int>(each & -each);
  const auto larger = static_cast<int>(std::max(form.word_bytes, form.dst_word_bytes));
  return common < larger && has_whole_elements(form, all) ? larger : common;
}

namespace {

// The arguments of an offer with the pointers of one call.
class launch_args {
 public:
  explicit launch_args(const kernels::offer& chosen) noexcept { std::memcpy(bytes_, chosen.args, chosen.args_bytes); }
  [[nodiscard]] gpu::array_args& arrays() noexcept { return *std::launder(reinterpret_cast<gpu::array_args*>(bytes_)); }
  [[nodiscard]] gpu::apply_args& apply() noexcept { return *std::launder(reinterpret_cast<gpu::apply_args*>(bytes_)); }
  [[nodiscard]] const void* get() const noexcept { return bytes_; }

 private:
  alignas(16) std::byte bytes_[kernels::max_args_bytes];
};

const char* launch(const map::canonical& form, const kernels::offer& chosen, const map::byte_span& src_span,
                   const void* src, void* dst, std::uint32_t* flags, void* stream) noexcept {
  if (chosen.blocks == 0) return nullptr;
  launch_args args(chosen);
  gpu::array_args& arrays = args.arrays();
  const auto at = reinterpret_cast<std::uint64_t>(src);
  arrays.src = static_cast<const std::byte*>(src) + form.src_offset * form.word_bytes;
  arrays.dst = static_cast<std::byte*>(dst) + form.dst_offset * form.word_bytes;
  arrays.src_begin = at + static_cast<std::uint64_t>(src_span.lo);
  arrays.src_end = at + static_cast<std::uint64_t>(src_span.hi);
  arrays.flags = flags;
  return chosen.row->launch(args.get(), chosen.blocks, chosen.shared_bytes, stream);
}

}  // namespace

const char* start(const gpu_variant& variant, const gpu_arrays& all, void* stream) noexcept {
  const kernels::offer& chosen = variant.chosen;
  if (chosen.blocks == 0) return nullptr;
  launch_args args(chosen);
  gpu::apply_args& mine = args.apply();
  const map::byte_span src = map::src_span(variant.form);
  const auto at = reinterpret_cast<std::uint64_t>(all.src) -
                  static_cast<std::uint64_t>(variant.form.src_offset * variant.form.word_bytes);
  mine.src = all.src;
  mine.dst = all.dst;
  mine.src_begin = at + static_cast<std::uint64_t>(src.lo);
  mine.src_end = at + static_cast<std::uint64_t>(src.hi);
  mine.second = all.second;
  mine.scale = all.scale;
  mine.bytewise = has_whole_elements(variant.form, all) ? 0 : 1;
  return chosen.row->launch(args.get(), chosen.blocks, chosen.shared_bytes, stream);
}

const char* start(const gpu_variant& variant, const map::byte_span& src_span, const void* src, void* dst,
                  void* stream) noexcept {
  return launch(variant.form, variant.chosen, src_span, src, dst, nullptr, stream);
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
  if (device >= gpu::most_devices) {
    throw error(status::device_error, "the memory is of GPU " + std::to_string(device) + ". Wanted: one of the first " +
                                          std::to_string(gpu::most_devices) + " GPUs of the process");
  }
  const char* const message = gpu::load_kernels(device);
  if (message == nullptr) return;
  const gpu::device_info& on = gpu::info(device);
  throw error(status::device_error, "the kernels do not load on GPU " + std::to_string(device) + " (" + on.name +
                                        ", sm_" + std::to_string(on.arch) + "): " + message);
}

void check_fits(const gpu_variant& variant) {
  if (variant.chosen.row != nullptr) return;
  throw error(status::overflow, "the problem needs more thread blocks than a GPU's grid allows (2^31 - 1)");
}

void check_start(const char* message, int device, const char* kernel) {
  if (message == nullptr) return;
  gpu::clear_error();
  throw error(status::device_error,
              std::string("GPU ") + std::to_string(device) + " did not start " + kernel + ": " + message);
}

namespace {

void print_program(std::ostream& out, const planning::gpu_rectangle& all) {
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

// Every offer, fastest first: the prediction, what binds it, and by how much it lost.
void print_offers(std::ostream& out, const problem& what, const gpu_variant& variant, const kernels::target& on) {
  map::in_place_form places;
  if (what.in_place) places = map::in_place(variant.form);
  const std::vector<kernels::offer> lines =
      planning::offers(facts_for(what, variant.form, places, variant.alignment), on, request_of(what, places, ""));
  out << "offers     predicted time, 1 = a copy of the same bytes; what binds it\n";
  for (const kernels::offer& one : lines) {
    char text[40];
    std::snprintf(text, sizeof text, "%6.2f  %-13s ", one.time, kernels::name(one.binds));
    out << "  " << text << one.row->name;
    if (one.row == variant.chosen.row) {
      out << "  (chosen)";
    } else if (one.time > lines[0].time) {
      std::snprintf(text, sizeof text, "  (%.2f times the fastest)", one.time / lines[0].time);
      out << text;
    }
    out << '\n';
  }
}

}  // namespace

std::string explain(const problem& what, const gpu_plan& plan, const gpu::device_info& on) {
  std::ostringstream out;
  const kernels::target target = planning::target_of(on.arch, on.multiprocessors, on.shared_bytes);
  out << "device     " << on.name << ", sm_" << on.arch << ", " << on.multiprocessors << " multiprocessors, costs of \""
      << target.gpu->name << "\"\n";
  for (const gpu_variant* variant : {&plan.aligned, &plan.element_aligned}) {
    if (variant == &plan.element_aligned && variant->alignment == plan.aligned.alignment) break;
    const kernels::offer& chosen = variant->chosen;
    out << "pointers   multiples of " << variant->alignment << (variant->alignment == 1 ? " byte" : " bytes")
        << (variant == &plan.element_aligned ? " only\n" : "\n");
    if (chosen.row == nullptr) {
      out << "kernel     none: the row that was asked for cannot move it\n";
      continue;
    }
    out << "kernel     " << chosen.row->name << ": " << chosen.row->note << '\n';
    if (variant->tuned) out << "tuned      measured to be the fastest of all rows here\n";
    out << "reason     " << chosen.reason << '\n';
    if (variant->rectangle != nullptr) {
      print_program(out, *variant->rectangle);
      continue;
    }
    print_offers(out, what, *variant, target);
    if (chosen.blocks == 0) continue;
    out << chosen.row->describe(chosen);
    out << "grid       " << chosen.blocks << (chosen.blocks == 1 ? " block, " : " blocks, ") << chosen.shared_bytes
        << " bytes of shared memory each, of " << on.shared_bytes << " that a block may have\n";
  }
  return out.str();
}

}  // namespace cornerturn::detail
