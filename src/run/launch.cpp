#include "run/launch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string>

#include "cornerturn/error.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/gpu/policy/alternating.hpp"
#include "kernels/gpu/policy/computed_args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "map/in_words.hpp"
#include "plan/choose.hpp"

namespace cornerturn::running {

// 1. A variant.

work::work(const problem& what) noexcept
    : form(map::canonicalize(what, 16, map::gpu_line_bytes)),
      computes(!map::only_moves(what)),
      in_place(what.in_place) {
  if (computes) math = kernels::op_of(what.math, what.element_bytes);
  const std::int64_t bytes = std::max(what.element_bytes, computes ? bytes_of(what.math.dst) : 1);
  alignment = static_cast<int>(std::min<std::int64_t>(bytes & -bytes, 16));
}

gpu_plan choose_variants(const work& what, const kernels::gpu_traits& on, std::string_view kernel) {
  gpu_plan made;
  for (const int alignment : {16, static_cast<int>(what.form.word_bytes), what.alignment}) {
    if (!made.variants.empty() && alignment >= made.variants.back().alignment) continue;
    made.variants.push_back(choose_variant(what, on, alignment, kernel));
  }
  return made;
}

namespace {

// With math a word is an element.
map::canonical form_in_words(const work& what, std::int64_t word) noexcept {
  return what.computes ? what.form : map::in_words(what.form, word);
}

// The facts of a problem that one launch solves. They point to `places`.
kernels::facts facts_for(const work& what, const map::canonical& form, const map::in_place_form& places,
                         int alignment) noexcept {
  kernels::facts known = kernels::facts_of(form, what.math);
  known.alignment = alignment;
  if (what.in_place) known.in_place = &places;
  return known;
}

planning::request request_of(const work& what, const map::in_place_form& places, std::string_view kernel) noexcept {
  const bool swaps = what.in_place && places.kind != map::in_place_kind::nothing;
  return {.kind = what.computes ? kernels::row_kind::arithmetic
                  : swaps       ? kernels::row_kind::in_place
                                : kernels::row_kind::move,
          .kernel = kernel};
}

// Where elements have gaps between them, shorter words may fit other kernels, and fill DRAM sectors more evenly. So if the fastest
// row takes longer than so many copies, rows of all shorter words are compared with it. 2,560 views with a step, a flip or a
// broadcast have a regret of 1.038, and of 1.045 with their own words alone (H200, 2026-11-30).
constexpr double long_time = 2;

void try_shorter_words(gpu_variant& variant, const work& what, const map::in_place_form& places,
                       const kernels::target& target) {
  if (what.computes || what.in_place || variant.chosen.row == nullptr) return;
  for (std::int64_t word = variant.form.word_bytes / 2; word > 0 && variant.chosen.time > long_time; word /= 2) {
    const map::canonical form = map::in_words(what.form, word);
    const kernels::offer made =
        planning::choose(facts_for(what, form, places, variant.alignment), target, request_of(what, places, {}));
    if (made.row == nullptr || made.time >= variant.chosen.time) continue;
    variant.chosen = made;
    variant.form = form;
  }
}

// A problem in words of at most `word` bytes. A float32 transpose keeps words of 4 bytes; the words of work::form may be longer than
// the alignment. Not copied: the facts point to the places.
struct problem_in_words {
  problem_in_words(const work& what, std::int64_t word, int alignment) : form(form_in_words(what, word)) {
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

}  // namespace

gpu_variant choose_variant(const work& what, const kernels::gpu_traits& on, int alignment, std::string_view kernel) {
  const kernels::target target = planning::target_of(on);
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
  if (kernel.empty()) try_shorter_words(variant, what, those.places, target);
  return variant;
}

// Of the size of an H200: a smaller GPU needs no larger workspace.
constexpr kernels::gpu_traits large_gpu{
    .arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .multiprocessor_shared_bytes = 228 << 10};

std::int64_t workspace_on_gpu(const work& what, std::string_view kernel) {
  const gpu_variant made = choose_variant(what, large_gpu, 16, kernel);
  return made.rectangle == nullptr ? 0 : made.rectangle->workspace_bytes;
}

void each_gpu_offer(const work& what, const kernels::gpu_traits& on, int alignment,
                    const std::function<void(const kernels::offer&)>& take) {
  const kernels::target target = planning::target_of(on);
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

std::vector<kernels::offer> offers_of(const work& what, const gpu_variant& variant, const kernels::target& on) {
  map::in_place_form places;
  if (what.in_place) places = map::in_place(variant.form);
  return planning::offers(facts_for(what, variant.form, places, variant.alignment), on, request_of(what, places, ""));
}

// 2. A launch.
namespace {

// The addresses of index 0.
struct first_words {
  first_words(const map::canonical& form, const gpu_arrays& all) noexcept
      : src(static_cast<const std::byte*>(all.src) + form.src_offset * form.word_bytes),
        dst(static_cast<std::byte*>(all.dst) + form.dst_offset * form.dst_word_bytes),
        second(all.second == nullptr ? nullptr
                                     : static_cast<std::byte*>(all.second) + form.second_offset * form.dst_word_bytes) {
  }
  // True if each address is a multiple of its own element size.
  [[nodiscard]] bool are_whole(const map::canonical& form) const noexcept {
    const auto is_whole = [](const void* at, std::int64_t bytes) {
      return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
    };
    return is_whole(src, form.word_bytes) && is_whole(dst, form.dst_word_bytes) &&
           is_whole(second, form.dst_word_bytes);
  }

  const std::byte* src;
  std::byte* dst;
  std::byte* second;
};

}  // namespace

int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept {
  const first_words at(form, all);
  const auto number = [](const void* one) { return reinterpret_cast<std::uintptr_t>(one); };
  const std::uintptr_t each = number(at.src) | number(at.dst) | number(at.second) | 16;
  const auto common = static_cast<int>(each & -each);
  const auto larger = static_cast<int>(std::max(form.word_bytes, form.dst_word_bytes));
  return common < larger && at.are_whole(form) ? larger : common;
}

// The arguments of these rows begin with array_args, and with computed_args in a row of arithmetic. Rows of batches have others.
launch_arguments::launch_arguments(const map::canonical& form, const kernels::offer& chosen, const gpu_arrays& all,
                                   std::uint32_t* flags) noexcept {
  std::memcpy(bytes_, chosen.args, chosen.args_bytes);
  const first_words at(form, all);
  const map::byte_span span = map::src_span(form);
  auto& arrays = *std::launder(reinterpret_cast<gpu::array_args*>(bytes_));
  arrays.src = at.src;
  arrays.dst = at.dst;
  arrays.src_begin = reinterpret_cast<std::uint64_t>(all.src) + static_cast<std::uint64_t>(span.lo);
  arrays.src_end = reinterpret_cast<std::uint64_t>(all.src) + static_cast<std::uint64_t>(span.hi);
  arrays.flags = flags;
  if (chosen.row->kind != kernels::row_kind::arithmetic) return;
  auto& computed = *std::launder(reinterpret_cast<gpu::computed_args*>(bytes_));
  computed.second = at.second;
  computed.scale = all.scale;
  computed.bytewise = at.are_whole(form) ? 0 : 1;
}

namespace {

const char* launch(const map::canonical& form, const kernels::offer& chosen, const gpu_arrays& all,
                   std::uint32_t* flags, void* stream, int shared_bytes = 0) noexcept {
  if (chosen.blocks == 0) return nullptr;
  const launch_arguments arguments(form, chosen, all, flags);
  return chosen.row->launch(arguments.get(), chosen.blocks, std::max(chosen.shared_bytes, shared_bytes), stream);
}

const char* launch_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace,
                             void* stream) noexcept {
  return run_rectangle(
      all, data, workspace,
      [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) {
        return launch(move.form, move.chosen, {.src = from, .dst = to}, flags, stream);
      },
      [&](std::uint32_t* flags, std::int64_t bytes) { return gpu::clear(flags, bytes, stream); });
}

}  // namespace

const char* start(const gpu_variant& variant, const gpu_arrays& all, void* stream, int shared_bytes) noexcept {
  return launch(variant.form, variant.chosen, all, nullptr, stream, shared_bytes);
}

const kernels::kernel* alternating_row(const kernels::kernel& row) {
  const kernels::kernel* const found = kernels::find(std::string(row.name) + "_alternating");
  return found != nullptr && found->launch != nullptr ? found : nullptr;
}

std::size_t most_parts(const kernels::offer& one) noexcept {
  return static_cast<std::size_t>(gpu::most_alternating(static_cast<int>(one.args_bytes)));
}

const char* start_alternating(const kernels::kernel& row, std::span<const gpu_part> parts, void* stream) noexcept {
  static_assert(gpu::most_alternating_bytes == kernels::max_args_bytes);
  alignas(16) std::byte bytes[gpu::most_alternating_bytes];
  gpu::alternating_head head;
  std::array<std::uint32_t, std::size(gpu::alternating_head().shares)> counts{};
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  for (const gpu_part& one : parts) {
    const kernels::offer& chosen = one.how->chosen;
    if (chosen.blocks == 0) continue;
    const launch_arguments arguments(one.how->form, chosen, one.arrays);
    std::memcpy(bytes + sizeof head + std::size_t{head.count} * chosen.args_bytes, arguments.get(), chosen.args_bytes);
    counts[head.count++] = chosen.blocks;
    blocks += chosen.blocks;
    shared_bytes = std::max(shared_bytes, chosen.shared_bytes + row.shared_bytes - chosen.row->shared_bytes);
  }
  if (blocks == 0) return nullptr;
  for (std::uint32_t k = 0, rest = blocks; k + 1 < head.count; rest -= counts[k++]) {
    head.shares[k] = gpu::share_of(counts[k], rest);
  }
  std::memcpy(bytes, &head, sizeof head);
  return row.launch(bytes, blocks, shared_bytes, stream);
}

const char* start_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::span<std::byte> workspace,
                            void* stream) {
  if (!workspace.empty()) return launch_rectangle(all, data, workspace.data(), stream);
  void* const own = gpu::allocate(all.workspace_bytes, stream);
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory on GPU " + std::to_string(gpu::current_device()) +
                                           " for a workspace of " + std::to_string(all.workspace_bytes) + " bytes");
  }
  const char* const message = launch_rectangle(all, data, static_cast<std::byte*>(own), stream);
  gpu::release(own, stream);
  return message;
}

}  // namespace cornerturn::running
