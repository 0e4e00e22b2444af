// A plan on a GPU, and a call there:
//   1. the plan of a device: two variants, each with its canonical form and the kernel that the planner chooses
//   2. a call: takes the variant for the alignment of its pointers
//   3. the launch: puts the pointers into the kernel's arguments and launches its row
//   4. the errors of a GPU
// plan.cpp calls gpu_plan_for() for 1, and execute_on_gpu() or compute_on_gpu() for 2.
#include "api/gpu_plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "api/device.hpp"
#include "api/plan_state.hpp"
#include "cornerturn/error.hpp"
#include "kernels/gpu/apply/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "plan/choose.hpp"

namespace cornerturn::detail {

// 1. The plan of a device.

namespace {

void check_number(int device) {
  if (device < gpu::most_devices) return;
  throw error(status::device_error, "the memory is of GPU " + std::to_string(device) + ". Wanted: one of the first " +
                                        std::to_string(gpu::most_devices) + " GPUs of the process");
}

}  // namespace

// Several threads may make the plan concurrently; the first stored plan is kept.
const gpu_plan* plan_state::gpu_plan_for(int device) const {
  check_number(device);
  std::atomic<const gpu_plan*>& slot = gpu_plans_[device];
  if (const gpu_plan* known = slot.load(std::memory_order_acquire); known != nullptr) return known;
  auto made = std::make_unique<const gpu_plan>(make_gpu_plan(device));
  const gpu_plan* before = nullptr;
  if (!slot.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return before;
  return made.release();
}

gpu_plan plan_state::make_gpu_plan(int device) const {
  gpu_plan made = choose_variants(what_, gpu::info(device), kernel_);
  for (gpu_variant* variant : {&made.aligned, &made.element_aligned}) {
    if (findings_ == findings::ignore || computes_) break;
    const api::tuned_row known = api::find_tuned(key_on_gpu(device, variant->alignment));
    if (known.kernel == nullptr) continue;
    gpu_variant found = choose_variant(what_, gpu::info(device), variant->alignment, known.kernel);
    if (found.chosen.row == nullptr) continue;
    *variant = found;
    variant->tuned = true;
  }
  if (made.aligned.chosen.row == nullptr) {
    if (!kernel_.empty()) refuse_kernel(kernel_);
    check_fits(made.aligned);
  }
  check_loaded(device, made.aligned);
  check_loaded(device, made.element_aligned);
  return made;
}

namespace {

int element_alignment(const problem& what) noexcept {
  const std::int64_t bytes = std::max(what.element_bytes, map::only_moves(what) ? 1 : bytes_of(what.math.dst));
  return static_cast<int>(std::min<std::int64_t>(bytes & -bytes, 16));
}

}  // namespace

gpu_plan choose_variants(const problem& what, const gpu::device_info& on, std::string_view kernel) {
  // A plan does not know the pointers of its calls. One variant is for multiples of 16 bytes, one for multiples of the
  // element.
  return {choose_variant(what, on, 16, kernel), choose_variant(what, on, element_alignment(what), kernel)};
}

namespace {

// The facts of a problem that one launch solves. They point to `places`.
kernels::facts facts_for(const problem& what, const map::canonical& form, const map::in_place_form& places,
                         int alignment) noexcept {
  kernels::facts known =
      kernels::facts_of(form, map::only_moves(what) ? kernels::op{} : kernels::op_of(what.math, what.element_bytes));
  known.alignment = alignment;
  if (what.in_place) known.in_place = &places;
  return known;
}

planning::request request_of(const problem& what, const map::in_place_form& places, std::string_view kernel) noexcept {
  const bool swaps = what.in_place && places.kind != map::in_place_kind::nothing;
  return {.kind = !map::only_moves(what) ? kernels::row_kind::arithmetic
                  : swaps                ? kernels::row_kind::in_place
                                         : kernels::row_kind::move,
          .kernel = kernel};
}

// Shorter words are taken if their predicted time is less than this share of the longer words' time. The predictions are not
// exact: bytes instead of 2-byte words took 1.26 times as long for 2097152 x 8 x 8 at a predicted 0.95 (H200, 2026-11-23).
constexpr double shorter_words_gain = 0.97, bytes_gain = 0.94;

// Elements of several words may be gathered faster in shorter words, which fill DRAM sectors more evenly: 22794 x 1380 of
// 6 bytes 0.44 of a copy in words of 2 bytes, 0.68 in bytes (H200, 2026-11-23).
void gather_in_shorter_words(gpu_variant& variant, const problem& what, const map::in_place_form& places,
                             const kernels::target& target) {
  const bool gathers = variant.chosen.row != nullptr && map::only_moves(what) && !what.in_place &&
                       variant.chosen.row->family == std::string_view("gather");
  for (int shorter = 2; gathers && shorter <= 4 && variant.chosen.row->element_bytes >= shorter; shorter *= 2) {
    const std::int64_t words_of = variant.form.word_bytes / 2;
    if (words_of == 0) break;
    const map::canonical form = map::canonicalize(what, words_of);
    const kernels::offer made =
        planning::choose(facts_for(what, form, places, variant.alignment), target, {.family = "gather"});
    const double gain = words_of == 1 ? bytes_gain : shorter_words_gain;
    if (made.row == nullptr || made.time >= gain * variant.chosen.time) break;
    variant.chosen = made;
    variant.form = form;
  }
}

}  // namespace

namespace {

// A problem in words of at most `word` bytes. A float32 transpose keeps words of 4 bytes; the words of the form in plan.cpp may be
// longer than the alignment. Not copied: the facts point to the places.
struct problem_in_words {
  problem_in_words(const problem& what, std::int64_t word, int alignment) : form(map::canonicalize(what, word)) {
    if (what.in_place) places = map::in_place(form);
    if (is_rectangle()) return;
    known = facts_for(what, form, places, alignment);
    if (what.in_place && places.kind == map::in_place_kind::nothing) known.form.empty = true;
  }
  problem_in_words(const problem_in_words&) = delete;
  problem_in_words& operator=(const problem_in_words&) = delete;

  [[nodiscard]] bool is_rectangle() const noexcept { return places.kind == map::in_place_kind::rectangle; }

  map::canonical form;
  map::in_place_form places;
  kernels::facts known;
};

// A row that is asked for by name gets words of its own size where the problem has longer ones.
std::int64_t word_for(const kernels::kernel* row, int alignment) noexcept {
  return row == nullptr || row->element_bytes == 0 ? alignment : std::min(alignment, row->element_bytes);
}

kernels::target target_of(const gpu::device_info& on) noexcept {
  return planning::target_of(on.arch, on.multiprocessors, on.shared_bytes);
}

}  // namespace

gpu_variant choose_variant(const problem& what, const gpu::device_info& on, int alignment, std::string_view kernel) {
  const kernels::target target = target_of(on);
  const problem_in_words those(what, word_for(kernel.empty() ? nullptr : kernels::find(kernel), alignment), alignment);
  gpu_variant variant;
  variant.alignment = alignment;
  variant.form = those.form;
  if (those.is_rectangle()) {
    auto made = std::make_shared<const planning::gpu_rectangle>(
        planning::choose_rectangle(those.form, those.places, target, alignment, kernel));
    variant.chosen.row = made->kernel;
    variant.chosen.reason = made->reason;
    variant.rectangle = std::move(made);
    return variant;
  }
  variant.chosen = planning::choose(those.known, target, request_of(what, those.places, kernel));
  if (kernel.empty()) gather_in_shorter_words(variant, what, those.places, target);
  return variant;
}

std::int64_t workspace_on_gpu(const problem& what, std::string_view kernel) {
  const gpu::device_info any = gpu::info_of(gpu::all_costs().front());
  const gpu_variant made = choose_variant(what, any, 16, kernel);
  return made.rectangle == nullptr ? 0 : made.rectangle->workspace_bytes;
}

void each_gpu_offer(const problem& what, const gpu::device_info& on, int alignment,
                    const std::function<void(const kernels::offer&)>& take) {
  const kernels::target target = target_of(on);
  std::array<std::optional<problem_in_words>, 17> in_words;  // of 1 to 16 bytes
  kernels::offer made;
  for (const kernels::kernel& row : kernels::all()) {
    if (!kernels::is_of_gpu(row)) continue;
    const std::int64_t word = word_for(&row, alignment);
    auto& those = in_words[static_cast<std::size_t>(word)];
    if (!those) those.emplace(what, word, alignment);
    if (those->is_rectangle()) continue;
    if (planning::offer_of(row, those->known, target, request_of(what, those->places, {}), made)) take(made);
  }
}

std::vector<kernels::offer> offers_of(const problem& what, const gpu_variant& variant, const kernels::target& on) {
  map::in_place_form places;
  if (what.in_place) places = map::in_place(variant.form);
  return planning::offers(facts_for(what, variant.form, places, variant.alignment), on, request_of(what, places, ""));
}

api::tuned_key plan_state::key_on_gpu(int device, int alignment) const {
  return {.form = &form_, .align = alignment, .limit = 0, .machine = gpu::info(device).name};
}

// 2. A call.

void plan_state::execute_on_gpu(int device, const void* src, void* dst, void* stream,
                                std::span<std::byte> workspace) const {
  const gpu::device_guard guard(device);
  gpu_plan made;
  const gpu_variant& variant = variant_of_call(device, alignment_of(src, dst), made);
  if (variant.rectangle != nullptr) check_workspace_of(workspace, variant.rectangle->workspace_bytes, dst);
  const char* const message =
      variant.rectangle == nullptr
          ? start_move(variant, src_span_, src, dst, stream)
          : start_rectangle(device, *variant.rectangle, static_cast<std::byte*>(dst) + dst_start_, workspace, stream);
  check_launched(message, device, variant.chosen.row->name);
}

void plan_state::compute_on_gpu(int device, const operands& all, void* stream) const {
  const gpu::device_guard guard(device);
  gpu_arrays arrays = {.src = static_cast<const std::byte*>(all.src) + src_start_,
                       .dst = static_cast<std::byte*>(all.dst) + dst_start_,
                       .scale = all.scale};
  if (math_.reads_second()) {
    // const_cast: the kernel only reads this array.
    void* const second = what_.math.second == second_array::source ? const_cast<void*>(all.second) : all.dst;
    arrays.second = static_cast<std::byte*>(second) + second_start_;
  } else if (math_.second == second_array::destination) {
    arrays.second = static_cast<std::byte*>(all.second_dst) + second_start_;
  }
  gpu_plan made;
  const gpu_variant& variant = variant_of_call(device, detail::alignment_of(form_, arrays), made);
  check_launched(start_arithmetic(variant, arrays, stream), device, variant.chosen.row->name);
}

namespace {

[[noreturn]] void refuse_alignment(const std::string& kernel, int alignment) {
  throw error(status::invalid_argument, "kernel is \"" + kernel +
                                            "\", which does not accept this problem with pointers that are " +
                                            "multiples of only " + std::to_string(alignment) + " bytes");
}

}  // namespace

// The stored variant for pointers of this alignment, or one that is made for this call alone, in `made`.
const gpu_variant& plan_state::variant_of_call(int device, int alignment, gpu_plan& made) const {
  const gpu_plan& known = *gpu_plan_for(device);
  const gpu_variant* variant = &known.for_alignment(alignment);
  if (alignment < variant->alignment) {
    made.aligned = choose_variant(what_, gpu::info(device), alignment, kernel_);
    variant = &made.aligned;
    check_loaded(device, *variant);
  }
  if (variant->chosen.row == nullptr) refuse_alignment(kernel_, alignment);
  return *variant;
}

const gpu_variant& plan_state::variant_for(int device, const void* src, const void* dst) const {
  return gpu_plan_for(device)->for_alignment(alignment_of(src, dst));
}

int plan_state::alignment_of(const void* src, const void* dst) const noexcept {
  return detail::alignment_of(form_, reinterpret_cast<std::uintptr_t>(src), reinterpret_cast<std::uintptr_t>(dst));
}

int alignment_of(const map::canonical& form, std::uint64_t src, std::uint64_t dst) noexcept {
  const auto word = static_cast<std::uint64_t>(form.word_bytes);
  const std::uint64_t both = (src + static_cast<std::uint64_t>(form.src_offset) * word) |
                             (dst + static_cast<std::uint64_t>(form.dst_offset) * word) | 16;
  return static_cast<int>(both & -both);
}

int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto number = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t each = number(all.src) | number(all.dst) | number(all.second) | 16;
  const auto common = static_cast<int>(each & -each);
  const auto larger = static_cast<int>(std::max(form.word_bytes, form.dst_word_bytes));
  return common < larger && has_whole_elements(form, all) ? larger : common;
}

bool has_whole_elements(const map::canonical& form, const gpu_arrays& all) noexcept {
  const auto is_whole = [](const void* at, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  return is_whole(all.src, form.word_bytes) && is_whole(all.dst, form.dst_word_bytes) &&
         is_whole(all.second, form.dst_word_bytes);
}

// 3. The launch.

namespace {

// The arguments of an offer, which begin with array_args in every GPU family, with the pointers of one call.
class launch_args {
 public:
  explicit launch_args(const kernels::offer& chosen) noexcept { std::memcpy(bytes_, chosen.args, chosen.args_bytes); }
  [[nodiscard]] gpu::array_args& arrays() noexcept { return *std::launder(reinterpret_cast<gpu::array_args*>(bytes_)); }
  [[nodiscard]] gpu::apply_args& apply() noexcept { return *std::launder(reinterpret_cast<gpu::apply_args*>(bytes_)); }
  [[nodiscard]] const void* get() const noexcept { return bytes_; }

 private:
  alignas(16) std::byte bytes_[kernels::max_args_bytes];
};

const char* launch_row(const map::canonical& form, const kernels::offer& chosen, const map::byte_span& src_span,
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

const char* start_move(const gpu_variant& variant, const map::byte_span& src_span, const void* src, void* dst,
                       void* stream) noexcept {
  return launch_row(variant.form, variant.chosen, src_span, src, dst, nullptr, stream);
}

const char* start_arithmetic(const gpu_variant& variant, const gpu_arrays& all, void* stream) noexcept {
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

namespace {

const char* launch_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace,
                             void* stream) noexcept {
  return planning::run(
      all, data, workspace,
      [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) {
        return launch_row(move.form, move.chosen, map::src_span(move.form), from, to, flags, stream);
      },
      [&](std::uint32_t* flags, std::int64_t bytes) { return gpu::clear(flags, bytes, stream); });
}

}  // namespace

const char* start_rectangle(int device, const planning::gpu_rectangle& all, std::byte* data,
                            std::span<std::byte> workspace, void* stream) {
  if (!workspace.empty()) {
    check_workspace(workspace, all.workspace_bytes);
    api::check_access(device, "workspace", gpu::where(workspace.data()));
    return launch_rectangle(all, data, workspace.data(), stream);
  }
  void* const own = gpu::allocate(all.workspace_bytes, stream);
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory on GPU " + std::to_string(device) + " for a workspace of " +
                                           std::to_string(all.workspace_bytes) + " bytes");
  }
  const char* const message = launch_rectangle(all, data, static_cast<std::byte*>(own), stream);
  gpu::release(own, stream);
  return message;
}

// 4. The errors of a GPU.

void check_loaded(int device, const kernels::kernel& row) {
  const char* const message = gpu::load(row, device);
  if (message == nullptr) return;
  const gpu::device_info& on = gpu::info(device);
  throw error(status::device_error, "the kernels do not load on GPU " + std::to_string(device) + " (" + on.name +
                                        ", sm_" + std::to_string(on.arch) + "): " + message);
}

void check_loaded(int device, const gpu_variant& variant) {
  if (variant.rectangle != nullptr) {
    for (const planning::gpu_move& move : variant.rectangle->moves) check_loaded(device, *move.chosen.row);
  } else if (variant.chosen.row != nullptr) {
    check_loaded(device, *variant.chosen.row);
  }
}

void check_fits(const gpu_variant& variant) {
  if (variant.chosen.row != nullptr) return;
  if (!planning::fits_address_space(variant.form)) {
    throw error(status::overflow, "the problem spans more than " + std::to_string(planning::widest_span_bytes) +
                                      " bytes, which no GPU can address");
  }
  throw error(status::overflow, "the problem needs more thread blocks than a GPU's grid allows (2^31 - 1)");
}

void check_launched(const char* message, int device, const char* kernel) {
  if (message == nullptr) return;
  gpu::clear_error();
  throw error(status::device_error,
              std::string("GPU ") + std::to_string(device) + " did not start " + kernel + ": " + message);
}

}  // namespace cornerturn::detail
