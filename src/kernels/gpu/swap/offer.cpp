// In place, if elements swap in pairs: a tile and its mirror image, by register blocks or, at any address, word by
// word.
#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/swap/args.hpp"

namespace cornerturn::gpu {
namespace {

constexpr std::int64_t most_numbers = 65535;  // tiles of a side: their pairs fit 31 bits
constexpr std::int64_t widest_tile = 64;      // of the unaligned rows: elements of a side
constexpr std::int64_t piece_bytes = 256;     // of a long element that is swapped at once

bool is_aligned(const kernels::facts& known, const kernels::kernel& row) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  if (known.alignment != 16 || swaps.unit != 1 || swaps.pairs[0].dst_stride != 1) return false;
  const auto whole = [&](std::int64_t stride) { return stride * known.form.word_bytes % 16 == 0; };
  for (int k = 0; k < swaps.pair_count; ++k) {
    if (!whole(swaps.pairs[k].src_stride) || (k > 0 && !whole(swaps.pairs[k].dst_stride))) return false;
  }
  for (int k = 0; k < swaps.fixed_count; ++k) {
    if (!whole(swaps.fixed[k].src_stride)) return false;
  }
  return swaps.pairs[0].extent >= row.tile_rows / 4;
}

// Fills args and blocks. Returns false when the grid would be too large.
bool number_pairs(const kernels::facts& known, std::int64_t tile, std::int64_t words, kernels::offer& made) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  auto& args = made.emplace<swap_args>();
  const std::int64_t word = known.form.word_bytes;
  const axis& first = swaps.pairs[0];
  args.extent = first.extent;
  args.row_bytes = first.src_stride * word;
  args.col_bytes = first.dst_stride * word;
  args.tile = static_cast<std::int32_t>(tile);
  args.words = static_cast<std::int32_t>(words);
  std::int64_t numbers = 1;
  std::int64_t outer = 1;
  const auto grow = [](std::int64_t& total, std::int64_t by, std::int64_t most) {
    return by <= most / total && (total *= by, true);
  };
  for (int k = 0; k < swaps.pair_count; ++k) {
    const axis& one = swaps.pairs[k];
    const std::int64_t count = k == 0 ? base::ceil_div(one.extent, tile) : one.extent;
    if (!grow(numbers, count, most_numbers)) return false;
    const std::int64_t step = k == 0 ? tile * word : word;
    args.digits[args.digit_count++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), one.src_stride * step,
                                       one.dst_stride * step};
  }
  const auto add_outer = [&](std::int64_t count, std::int64_t stride_bytes) {
    if (count == 1) return true;
    if (!grow(outer, count, INT32_MAX)) return false;
    args.outer[args.outer_rank++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), stride_bytes};
    return true;
  };
  if (!add_outer(swaps.unit / words, words * word)) return false;
  for (int k = swaps.fixed_count - 1; k >= 0; --k) {
    if (!add_outer(swaps.fixed[k].extent, swaps.fixed[k].src_stride * word)) return false;
  }
  std::int64_t blocks = numbers * (numbers + 1) / 2;
  args.numbers = static_cast<std::uint32_t>(numbers);
  args.fold = map::fast_divisor(static_cast<std::uint32_t>(numbers + 1 - numbers % 2));
  args.triangle = map::fast_divisor(static_cast<std::uint32_t>(blocks));
  if (!grow(blocks, outer, INT32_MAX)) return false;
  made.blocks = static_cast<std::uint32_t>(blocks);
  return true;
}

}  // namespace

bool offers::swap(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                  kernels::offer& made) noexcept {
  const map::in_place_form* const swaps = known.in_place;
  if (swaps == nullptr || swaps->kind != map::in_place_kind::involution) return false;
  if (row.element_bytes != known.form.word_bytes || row.shared_bytes > on.shared_bytes) return false;
  if (!kernels::is_variant(row, "_unaligned")) {
    if (!is_aligned(known, row) || !number_pairs(known, row.tile_rows, 1, made)) return false;
    made.shared_bytes = row.shared_bytes;
    made.reason =
        "elements swap in pairs and every address is a multiple of 16 bytes: register blocks of mirrored tiles";
    predict(known, on, row, {.issue = 1 / fill(swaps->pairs[0].extent, row.tile_rows) - 1}, made);
    return true;
  }
  // Elements longer than a piece are cut into pieces, which are swapped independently.
  std::int64_t words = std::min(swaps->unit, std::max<std::int64_t>(piece_bytes / known.form.word_bytes, 1));
  while (swaps->unit % words != 0) --words;
  const auto bytes = [&](std::int64_t tile) { return tile * (tile * words + 1) * known.form.word_bytes; };
  std::int64_t tile = 1;
  while (tile < std::min(widest_tile, swaps->pairs[0].extent) && bytes(2 * tile) <= unaligned_swap_bytes) tile *= 2;
  if (!number_pairs(known, tile, words, made)) return false;
  made.shared_bytes = static_cast<int>(2 * bytes(tile));
  made.reason = "elements swap in pairs, word by word, for any size, stride and address";
  predict(known, on, row, {}, made);
  return true;
}

std::string descriptions::swap(const kernels::offer& made) {
  const auto& args = made.as<swap_args>();
  return "in place   tiles of " + std::to_string(args.tile) + " x " + std::to_string(args.tile) + " elements of " +
         std::to_string(args.words) + " " + std::to_string(made.row->element_bytes) + "-byte words, " +
         std::to_string(args.numbers) + " along a side\n";
}

}  // namespace cornerturn::gpu
