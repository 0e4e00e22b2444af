// Elements one by one through L1: any strides on either side, 0 and negative ones too.
#include <algorithm>
#include <string>

#include "kernels/gpu/element/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "map/in_words.hpp"

namespace cornerturn::gpu {

namespace {

// Places of a word. Narrow elements take longer to put together. 186 broadcasts take 0.93 of the time with 8, 0.95 with 16, and 1.0
// with 32; two of narrow ones take 1.25 and 1.53 with 8 (H200, 2026-11-30).
constexpr std::int64_t most_repeats = 8, most_narrow_repeats = 16;

constexpr std::int64_t most_near_bytes = 8;
// Of the elements that neighbouring lanes load. The regret of 300 problems in L2 is 1.045 with it, 1.049 without (H200, 2026-11-29).
constexpr std::int64_t most_near_src_bytes = 256;
constexpr std::int64_t fewest_chunks = 2;                // of 16 bytes in a row: shorter rows are stored in pieces
constexpr std::int64_t most_pixel_step = 64;             // bytes: pixels further apart are staged by assemble
constexpr std::int64_t most_row_bytes = INT32_MAX - 64;  // where a kernel counts the bytes of a row

// Threads that keep the memory busy, on a multiprocessor.
constexpr std::int64_t fewest_threads = 1024;

void set_blocks(const element_grid& numbers, kernels::offer& made) noexcept {
  made.blocks = static_cast<std::uint32_t>(base::ceil_div(numbers.all_words, element_threads));
  made.shared_bytes = 0;
}

bool offer_repeated(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t each = std::max<std::int64_t>(8 / form.word_bytes, 1);
  auto& args = made.emplace<repeat_args>();
  const std::int64_t threads = map::words(form) / each, enough = fewest_threads * on.multiprocessors;
  const std::int64_t most = form.word_bytes <= 2 ? most_narrow_repeats : most_repeats;
  const std::int64_t repeats = std::clamp<std::int64_t>(threads / enough, 2, most);
  if (!number_repeated(form, each, known.alignment, repeats, args)) return false;
  set_blocks(args, made);
  made.reason = "src is broadcast: a thread loads a word once and stores it at several places";
  counts parts = element_counts(known, on, args, each);
  parts.again.from_dram /= args.repeats, parts.again.from_l2 /= args.repeats, parts.requests /= args.repeats;
  parts.issue += static_cast<double>(args.all_words) * args.repeats / static_cast<double>(known.bytes);
  predict(known, on, row, parts, made);
  return true;
}

bool offer_several(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  auto& args = made.emplace<several_args>();
  if (!number_several(known.form, args)) return false;
  // Elements further apart have a sector each, and more threads hide their latency: 26 views take 1.2 to 2.3 times as long with several
  // elements a thread, those that are near 0.5 to 0.9 (H200, 2026-11-29).
  if (base::magnitude(args.dst_bytes) > most_near_bytes) return false;
  std::int64_t src_bytes = args.src_bytes;  // from a lane to the next
  if (args.row_elements <= elements_of_thread) {
    if (args.rank == 0 || base::magnitude(args.outer[0].dst_bytes) > 2 * most_near_bytes) return false;
    src_bytes = args.outer[0].src_bytes;
  }
  if (base::magnitude(src_bytes) > most_near_src_bytes) return false;
  set_blocks(args, made);
  made.reason = "any strides, without shared memory: four elements of a row a thread";
  predict(known, on, row, several_counts(known, on, args), made);
  return true;
}

// Rows of one axis that is read backwards.
bool offer_mirrored(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const axis& first = form.axes[form.rank - 1];
  const std::int64_t each = 16 / form.word_bytes;
  if (first.src_stride != -1 || first.dst_stride != 1 || first.extent < fewest_chunks * each) return false;
  auto& args = made.emplace<element_args>();
  if (!number_elements(form, each, known.alignment, args, 1)) return false;
  set_blocks(args, made);
  made.reason =
      "rows are read backwards: a thread loads the chunks of src around 16 bytes of dst, and turns their elements";
  counts parts = element_counts(known, on, args, each);
  parts.requests = 0;  // whole chunks
  predict(known, on, row, parts, made);
  return true;
}

// Rows of one run each, at any addresses. Longer words than bytes do not matter: a thread has 16 bytes of dst anyway.
bool offer_runs(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                kernels::offer& made) noexcept {
  constexpr std::int64_t each = 16;
  kernels::facts in_bytes = kernels::facts_of(map::in_words(known.form, 1));
  const axis& first = in_bytes.form.axes[in_bytes.form.rank - 1];
  if (first.src_stride != 1 || first.dst_stride != 1 || first.extent < fewest_chunks * each) return false;
  auto& args = made.emplace<element_args>();
  if (!number_elements(in_bytes.form, each, known.alignment, args, 1)) return false;
  set_blocks(args, made);
  made.reason = "runs at any addresses: a thread loads the chunks of src around 16 bytes of dst, and shifts them";
  counts parts = element_counts(in_bytes, on, args, each);
  parts.requests = 1;  // whole chunks
  predict(known, on, row, parts, made);
  return true;
}

// Rows of pixels of three bytes, any step apart in src.
bool offer_triples(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (form.rank < 2) return false;
  const axis &bytes = form.axes[form.rank - 1], &pixels = form.axes[form.rank - 2];
  if (bytes.extent != 3 || bytes.dst_stride != 1 || base::magnitude(bytes.src_stride) != 1 || pixels.dst_stride != 3)
    return false;
  if (base::magnitude(pixels.src_stride) > most_pixel_step) return false;
  auto& args = made.emplace<element_args>();
  if (!number_elements(form, 16, known.alignment, args, 2)) return false;
  set_blocks(args, made);
  made.reason = "pixels of three bytes, any step apart in src: a thread loads the pixels of 16 bytes of dst";
  counts parts = element_counts(known, on, args, 16);
  parts.shared = 0;  // no element but the first one is divided
  predict(known, on, row, parts, made);
  return true;
}

// Rows of pixels of three words that are contiguous in src, where either the pixels or the words of each are read backwards.
bool offer_mirrored_triples(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                            kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (form.rank < 2) return false;
  const std::int64_t each = 16 / form.word_bytes;
  const axis &words = form.axes[form.rank - 1], &pixels = form.axes[form.rank - 2];
  if (words.extent != 3 || words.dst_stride != 1 || pixels.dst_stride != 3) return false;
  if (base::magnitude(words.src_stride) != 1 || pixels.src_stride != -3 * words.src_stride) return false;
  if (pixels.extent * 3 < fewest_chunks * each) return false;
  if (pixels.extent > most_row_bytes / (3 * form.word_bytes)) return false;
  auto& args = made.emplace<element_args>();
  if (!number_elements(form, each, known.alignment, args, 2)) return false;
  set_blocks(args, made);
  made.reason =
      "pixels or their words are read backwards: a thread loads the chunks of src around 16 bytes of dst, and turns "
      "them";
  counts parts = element_counts(known, on, args, each);
  parts.requests = 0;  // whole chunks
  parts.shared = 0;    // no element is divided
  predict(known, on, row, parts, made);
  return true;
}

}  // namespace

bool offers::element(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t word = form.word_bytes;
  if (form.empty || form.rank == 0 || row.kind != kernels::row_kind::move) return false;
  if (kernels::is_variant(row, "_runs")) return word < 16 && offer_runs(known, on, row, made);
  if (row.element_bytes != word) return false;
  if (kernels::is_variant(row, "_repeat")) return offer_repeated(known, on, row, made);
  if (kernels::is_variant(row, "_several")) return offer_several(known, on, row, made);
  if (kernels::is_variant(row, "x3_mirror")) return offer_mirrored_triples(known, on, row, made);
  if (kernels::is_variant(row, "x3")) return offer_triples(known, on, row, made);
  if (kernels::is_variant(row, "_mirror")) return offer_mirrored(known, on, row, made);
  // A copy of one run in words of 16 bytes takes the same time, and its reason says what the problem is.
  if (word == 16 && form.rank == 1 && known.src_unit() != nullptr && known.src_unit() == known.dst_unit()) return false;
  const bool is_joined = !kernels::is_variant(row, "_single");
  const std::int64_t each = is_joined ? 8 / word : 1;
  auto& args = made.emplace<element_args>();
  if (!number_elements(form, each, known.alignment, args)) return false;
  set_blocks(args, made);
  made.reason = is_joined ? "any strides of src, without shared memory: a thread stores 8 bytes of dst"
                          : "any strides, without shared memory: an element a thread";
  predict(known, on, row, element_counts(known, on, args, each), made);
  return true;
}

std::string descriptions::element(const kernels::offer& made) {
  if (kernels::is_variant(*made.row, "_repeat")) {
    const auto& args = made.as<repeat_args>();
    return "elements   " + std::to_string(args.all_words) + " words, each stored " + std::to_string(args.repeats) +
           " times at most\n";
  }
  if (kernels::is_variant(*made.row, "_several")) {
    const auto& args = made.as<several_args>();
    return "elements   rows of " + std::to_string(args.row_elements) + " in dst, " +
           std::to_string(args.words.divisor) + " threads each\n";
  }
  const auto& args = made.as<element_args>();
  const std::uint32_t words = args.words.divisor;
  return "elements   " + std::to_string(args.all_words / words) + " rows of " + std::to_string(args.row_elements) +
         " in dst, " + std::to_string(words) + " words each\n";
}

}  // namespace cornerturn::gpu
