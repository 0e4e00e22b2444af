#include "run/variant.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/shorter_words.hpp"
#include "map/in_words.hpp"
#include "plan/choose.hpp"

namespace cornerturn::running {

work::work(const problem& what, const map::canonical& all) noexcept
    : form(all), computes(!map::only_moves(what)), in_place(what.in_place) {
  if (computes) math = kernels::op_of(what.math, what.element_bytes);
  const std::int64_t bytes = std::max(what.element_bytes, computes ? bytes_of(what.math.dst) : 1);
  alignment = static_cast<int>(std::min<std::int64_t>(bytes & -bytes, 16));
}

gpu_plan choose_variants(const work& what, const kernels::gpu_traits& on, std::string_view kernel) {
  return {choose_variant(what, on, 16, kernel), choose_variant(what, on, what.alignment, kernel)};
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

// Shorter words are taken if their predicted time is less than this share of the longer words' time. The predictions are not
// exact: bytes instead of 2-byte words took 1.26 times as long for 2097152 x 8 x 8 at a predicted 0.95 (H200, 2026-11-23).
constexpr double shorter_words_gain = 0.97, bytes_gain = 0.94;

// Elements of several words may be gathered faster in shorter words, which fill DRAM sectors more evenly: 22794 x 1380 of
// 6 bytes 0.44 of a copy in words of 2 bytes, 0.68 in bytes (H200, 2026-11-23).
void try_shorter_words(gpu_variant& variant, const work& what, const map::in_place_form& places,
                       const kernels::target& target) {
  const bool may_win = !what.computes && !what.in_place && gpu::shorter_words_may_win(variant.chosen);
  for (int shorter = 2; may_win && shorter <= 4 && variant.chosen.row->element_bytes >= shorter; shorter *= 2) {
    const std::int64_t words_of = variant.form.word_bytes / 2;
    if (words_of == 0) break;
    const map::canonical form = map::in_words(what.form, words_of);
    const kernels::offer made = planning::choose(facts_for(what, form, places, variant.alignment), target,
                                                 {.family = variant.chosen.row->family});
    const double gain = words_of == 1 ? bytes_gain : shorter_words_gain;
    if (made.row == nullptr || made.time >= gain * variant.chosen.time) break;
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

}  // namespace cornerturn::running
