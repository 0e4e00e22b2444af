// In place, if elements swap in pairs.
//   tiles by register blocks, if every address is a multiple of 16 bytes
//   _unaligned   tiles in granules, if columns are contiguous
//   _items       many small matrices that are packed one after another
//   _any         tiles word by word, for all else
#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/swap/args.hpp"
#include "map/banks.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

constexpr std::int64_t most_numbers = 65535;         // tiles of a side: their pairs fit 31 bits
constexpr std::int64_t widest_any_tile = 64;         // elements of a side
constexpr std::int64_t any_piece_bytes = 256;        // of a long element that is swapped at once
constexpr std::int64_t least_tile_bytes = 12 << 10;  // of both tiles, if larger ones would leave multiprocessors idle
constexpr std::int64_t group_bytes = 24 << 10;  // of the items of a block: six blocks fit a multiprocessor of sm_90
constexpr std::int64_t least_group = 4 << 10;   // bytes, if larger groups would leave multiprocessors idle
constexpr double block_bytes = 4096;            // a block costs as much as a copy of so many bytes

// Returns true when every stride but the unit strides is a multiple of `bytes`.
bool strides_are_whole(const map::in_place_form& swaps, std::int64_t word, std::int64_t bytes) noexcept {
  const auto whole = [&](std::int64_t stride) { return stride * word % bytes == 0; };
  for (int k = 0; k < swaps.pair_count; ++k) {
    if (!whole(swaps.pairs[k].src_stride) || (k > 0 && !whole(swaps.pairs[k].dst_stride))) return false;
  }
  for (int k = 0; k < swaps.fixed_count; ++k) {
    if (!whole(swaps.fixed[k].src_stride)) return false;
  }
  return true;
}

bool is_aligned(const kernels::facts& known, const kernels::kernel& row) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  if (known.alignment != 16 || swaps.unit != 1 || swaps.pairs[0].dst_stride != 1) return false;
  return strides_are_whole(swaps, known.form.word_bytes, 16) && swaps.pairs[0].extent >= row.tile_rows / 4;
}

bool grow(std::int64_t& total, std::int64_t by, std::int64_t most) noexcept {
  return by <= most / total && (total *= by, true);
}

// Returns false when there would be too many blocks.
template <class Args>
bool add_outer(Args& args, std::int64_t& total, std::int64_t count, std::int64_t stride_bytes) noexcept {
  if (count == 1) return true;
  if (!grow(total, count, INT32_MAX)) return false;
  args.outer[args.outer_rank++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), stride_bytes};
  return true;
}

// Fills args and blocks. Returns false when the grid would be too large.
bool number_pairs(const kernels::facts& known, std::int64_t tile, std::int64_t words, swap_args& args,
                  kernels::offer& made) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  const std::int64_t word = known.form.word_bytes;
  const axis& first = swaps.pairs[0];
  args.extent = first.extent;
  args.row_bytes = first.src_stride * word;
  args.col_bytes = first.dst_stride * word;
  args.tile = static_cast<std::int32_t>(tile);
  args.words = static_cast<std::int32_t>(words);
  std::int64_t numbers = 1;
  std::int64_t outer = 1;
  for (int k = 0; k < swaps.pair_count; ++k) {
    const axis& one = swaps.pairs[k];
    const std::int64_t count = k == 0 ? ceil_div(one.extent, tile) : one.extent;
    if (!grow(numbers, count, most_numbers)) return false;
    const std::int64_t step = k == 0 ? tile * word : word;
    args.digits[args.digit_count++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), one.src_stride * step,
                                       one.dst_stride * step};
  }
  if (!add_outer(args, outer, swaps.unit / words, words * word)) return false;
  for (int k = swaps.fixed_count - 1; k >= 0; --k) {
    if (!add_outer(args, outer, swaps.fixed[k].extent, swaps.fixed[k].src_stride * word)) return false;
  }
  std::int64_t blocks = numbers * (numbers + 1) / 2;
  args.numbers = static_cast<std::uint32_t>(numbers);
  args.triangle = map::fast_divisor(static_cast<std::uint32_t>(blocks));
  if (!grow(blocks, outer, INT32_MAX)) return false;
  made.blocks = static_cast<std::uint32_t>(blocks);
  return true;
}

// The cost of starting blocks, relative to a copy. The first block of each multiprocessor is the latency of a launch.
double block_requests(const kernels::facts& known, const kernels::target& on, const kernels::offer& made) noexcept {
  return block_bytes * std::max(0.0, static_cast<double>(made.blocks) - on.multiprocessors) /
         static_cast<double>(known.bytes);
}

bool offer_aligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  if (!is_aligned(known, row) || !number_pairs(known, row.tile_rows, 1, made.emplace<swap_args>(), made)) return false;
  made.shared_bytes = row.shared_bytes;
  made.reason = "elements swap in pairs and every address is a multiple of 16 bytes: register blocks of mirrored tiles";
  // Requests of 128 bytes: a line of the tile takes one more, if it does not begin at 128 bytes.
  const std::int64_t word = known.form.word_bytes;
  predict(
      known, on, row,
      {.requests =
           strides_are_whole(*known.in_place, word, 128) ? 0.0 : 128.0 / (row.tile_rows * static_cast<double>(word)),
       .issue = 1 / fill(known.in_place->pairs[0].extent, row.tile_rows) - 1},
      made);
  return true;
}

bool offer_any(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
               kernels::offer& made) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  // Elements longer than a piece are cut into pieces, which are swapped independently.
  std::int64_t words = std::min(swaps.unit, std::max<std::int64_t>(any_piece_bytes / known.form.word_bytes, 1));
  while (swaps.unit % words != 0) --words;
  const auto bytes = [&](std::int64_t tile) { return tile * (tile * words + 1) * known.form.word_bytes; };
  std::int64_t tile = 1;
  while (tile < std::min(widest_any_tile, swaps.pairs[0].extent) && bytes(2 * tile) <= any_swap_bytes) tile *= 2;
  if (!number_pairs(known, tile, words, made.emplace<swap_args>(), made)) return false;
  made.shared_bytes = static_cast<int>(2 * bytes(tile));
  made.reason = "elements swap in pairs, word by word, for any size, stride and address";
  predict(known, on, row, {}, made);
  return true;
}

// The layout of a tile of the _unaligned rows in shared memory.
struct tile_layout {
  std::int64_t pitch = 0;
  std::int64_t group = 0;
  std::int64_t bytes = 0;
};

// Wavefronts of the first warp of the _unaligned rows. Elements have several words. Words of 4 bytes and more: the warp
// stores 128 bytes of each of its lines. Words of 1 and 2 bytes: 8 chunks of each line, which are row_bytes apart.
int wavefronts(std::int64_t word, std::int64_t words, std::int64_t row_bytes, std::int64_t pitch,
               std::int64_t lanes) noexcept {
  const bool chunks = word < 4;
  const std::int64_t n = chunks ? 16 / word : 1, cell = map::bank_cell_bytes(word), at_once = map::lanes_at_once(word);
  int total = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t first = 0; first < lanes; first += at_once) {
      map::bank_counter<> counter(static_cast<int>(at_once));
      for (std::int64_t lane = first; lane < first + at_once; ++lane) {
        const std::int64_t line = chunks ? lane / 8 * (n * 8 / lanes) : lane / at_once;
        const std::int64_t at = chunks ? (16 - line * row_bytes % 16) % 16 / word + lane % 8 * n + k : lane % at_once;
        counter.add((at / words * pitch + (at % words + line * words) * word) / cell);
      }
      total += counter.wavefronts();
    }
  }
  return total;
}

tile_layout layout_of(std::int64_t tile, std::int64_t word, std::int64_t words, std::int64_t row_bytes) noexcept {
  const std::int64_t line = tile * words * word;
  const auto congruent = [](std::int64_t least, std::int64_t to) { return least + ((to - least) % 16 + 16) % 16; };
  tile_layout made;
  made.pitch = congruent(line + 15, row_bytes);  // no granule has bytes of two rows
  if (words == 1) {
    const std::int64_t rows = 16 / word;
    made.group = ceil_div((rows - 1) * made.pitch + line + 15, 16);
    made.group = (made.group + 1 - made.group % 2) * 16;  // an odd number of granules
    const std::int64_t whole = (tile - 1) / rows;
    made.bytes = whole * made.group + (tile - 1 - whole * rows) * made.pitch;
  } else {
    made.bytes = (tile - 1) * made.pitch;
  }
  made.bytes = ceil_div(made.bytes + line + 15 + 15, 16) * 16;
  return made;
}

bool offer_unaligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  const std::int64_t word = known.form.word_bytes, words = swaps.unit;
  const axis& first = swaps.pairs[0];
  if (first.dst_stride != words || words > unaligned_swap_bytes / word) return false;
  const std::int64_t row_bytes = first.src_stride * word;
  // The largest tile that fits. Words of 4 bytes and more: eight blocks for each multiprocessor, if their tiles are not too small.
  std::int64_t shared =
      std::min<std::int64_t>(on.shared_bytes, word == 2 ? unaligned_swap_bytes_b2 : unaligned_swap_bytes);
  if (word >= 4) {
    const std::int64_t share = known.bytes / (8 * on.multiprocessors),
                       least = 2 * layout_of(1, word, words, row_bytes).bytes;
    shared = std::min(shared, std::max({share, least, least_tile_bytes}));
  }
  auto tile = static_cast<std::int64_t>(std::sqrt(static_cast<double>(shared) / static_cast<double>(2 * words * word)));
  while (tile > 0 && 2 * layout_of(tile, word, words, row_bytes).bytes > shared) --tile;
  if (tile == 0) return false;
  // Parts of equal size, so that no tile is nearly empty.
  tile = ceil_div(first.extent, ceil_div(first.extent, tile));
  tile_layout layout = layout_of(tile, word, words, row_bytes);
  auto& args = made.emplace<swap_args>();
  if (2 * layout.bytes > shared || !number_pairs(known, tile, words, args, made)) return false;
  if (words > 1) {
    std::int64_t best = layout.pitch;
    int least = wavefronts(word, words, row_bytes, best, on.lanes);
    for (std::int64_t pad = 16; pad <= 48; pad += 16) {
      const std::int64_t pitch = layout.pitch + pad, more = (tile - 1) * pad;
      const int here = wavefronts(word, words, row_bytes, pitch, on.lanes);
      if (here < least && 2 * (layout.bytes + more) <= shared) least = here, best = pitch;
    }
    layout.bytes += ceil_div((tile - 1) * (best - layout.pitch), 16) * 16;
    layout.pitch = best;
  }
  args.granules = map::fast_divisor(static_cast<std::uint32_t>((tile * words * word + 30) / 16));
  args.element = map::fast_divisor(static_cast<std::uint32_t>(words));
  args.pitch = static_cast<std::int32_t>(layout.pitch);
  args.group_bytes = static_cast<std::int32_t>(words == 1 ? layout.group : 16 / word * layout.pitch);
  args.tile_bytes = static_cast<std::int32_t>(layout.bytes);
  made.shared_bytes = static_cast<int>((args.numbers == 1 ? 1 : 2) * layout.bytes);
  made.reason = "elements swap in pairs: the granules of mirrored tiles, for any side, stride and address";
  predict(known, on, row,
          {.dram = sector_waste(tile * words * word, word),
           .requests = std::max(0.0, block_requests(known, on, made) - 1),  // a large block hides it behind its copies
           .issue = 1 / fill(first.extent, tile) - 1},
          made);
  return true;
}

// Wavefronts that the first warp of an _items row needs to load its chunks. Each lane walks down a column, so items with rows
// of whole bank cycles have conflicts: 128 x 128 elements of 3 bytes need 384, 32 x 32 need 32.
int item_wavefronts(std::int64_t word, std::int64_t words, std::int64_t side, std::int64_t lanes) noexcept {
  const std::int64_t n = 16 / word, cell = map::bank_cell_bytes(word), at_once = map::lanes_at_once(word);
  const std::int64_t item_words = side * side * words;
  int total = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t first = 0; first < lanes; first += at_once) {
      map::bank_counter<> counter(static_cast<int>(at_once));
      for (std::int64_t lane = first; lane < first + at_once; ++lane) {
        const std::int64_t at = lane * n + k, rest = at % item_words, element = rest / words;
        const std::int64_t from =
            at - rest + (element % side * side + element / side) * words + rest % words;  // in words
        counter.add(from * word / cell);
      }
      total += counter.wavefronts();
    }
  }
  return total;
}

// The time of as many wavefronts relative to a copy of the warp's 1024 bytes, which 9.2 bytes a cycle leave. About half of
// this time is hidden behind the copy.
double exposed_wavefronts(int wavefronts) noexcept { return std::max(0.0, wavefronts * 9.2 / 1024 - 0.5); }

bool offer_items(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                 kernels::offer& made) noexcept {
  const map::in_place_form& swaps = *known.in_place;
  const std::int64_t word = known.form.word_bytes, words = swaps.unit;
  const axis& side = swaps.pairs[0];
  const std::int64_t most_words = std::min<std::int64_t>(on.shared_bytes - 16, swap_items_bytes) / word;
  if (swaps.pair_count != 1 || side.dst_stride != words || side.src_stride != side.extent * words) return false;
  if (words > most_words || side.extent > most_words || side.extent * side.extent > most_words / words) return false;
  const std::int64_t item_words = side.extent * side.extent * words, item_bytes = item_words * word;

  auto& args = made.emplace<swap_items_args>();
  std::int64_t outer = 1;
  for (int k = swaps.fixed_count - 1; k >= 0; --k) {
    const axis& fixed = swaps.fixed[k];
    if (args.items == 1 && fixed.src_stride == item_words) {
      args.items = fixed.extent;
    } else if (!add_outer(args, outer, fixed.extent, fixed.src_stride * word)) {
      return false;
    }
  }
  // Eight blocks for each multiprocessor, if they are not too small.
  const std::int64_t share = known.bytes / (8 * on.multiprocessors);
  std::int64_t group = std::clamp(share, least_group, group_bytes) / item_bytes;
  group = std::clamp<std::int64_t>(group, 1, args.items);
  if (group > 32) group -= group % 32;  // whole sectors, if the first group begins at one
  std::int64_t blocks = ceil_div(args.items, group);
  if (blocks > INT32_MAX) return false;
  args.groups = map::fast_divisor(static_cast<std::uint32_t>(blocks));
  if (!grow(blocks, outer, INT32_MAX)) return false;
  made.blocks = static_cast<std::uint32_t>(blocks);
  args.group_items = static_cast<std::int32_t>(group);
  args.item = map::fast_divisor(static_cast<std::uint32_t>(item_words));
  args.element = map::fast_divisor(static_cast<std::uint32_t>(words));
  args.side = map::fast_divisor(static_cast<std::uint32_t>(side.extent));
  args.item_bytes = static_cast<std::int32_t>(item_bytes);
  args.element_bytes = static_cast<std::int32_t>(words * word);
  made.shared_bytes = static_cast<int>(ceil_div(group * item_bytes + 15, 16) * 16);
  made.reason = "small square matrices, packed one after another: a block swaps whole matrices";
  predict(known, on, row,
          {.requests = block_requests(known, on, made),
           .shared = exposed_wavefronts(item_wavefronts(word, words, side.extent, on.lanes))},
          made);
  return true;
}

}  // namespace

bool offers::swap(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                  kernels::offer& made) noexcept {
  const map::in_place_form* const swaps = known.in_place;
  if (swaps == nullptr || swaps->kind != map::in_place_kind::involution) return false;
  if (row.element_bytes != known.form.word_bytes || row.shared_bytes > on.shared_bytes) return false;
  const bool unaligned = kernels::is_variant(row, "_unaligned"), items = kernels::is_variant(row, "_items");
  if ((unaligned || items) && !on.words.async_copies) return false;
  if (unaligned) return offer_unaligned(known, on, row, made);
  if (items) return offer_items(known, on, row, made);
  if (kernels::is_variant(row, "_any")) return offer_any(known, on, row, made);
  return offer_aligned(known, on, row, made);
}

std::string descriptions::swap(const kernels::offer& made) {
  const std::string word_bytes = std::to_string(made.row->element_bytes) + "-byte words";
  if (kernels::is_variant(*made.row, "_items")) {
    const auto& args = made.as<swap_items_args>();
    const std::string side = std::to_string(args.side.divisor);
    return "in place   " + std::to_string(args.group_items) + " matrices of " + side + " x " + side + " elements of " +
           std::to_string(args.element.divisor) + " " + word_bytes + " in a block, " +
           std::to_string(args.groups.divisor) + " blocks in a run\n";
  }
  const auto& args = made.as<swap_args>();
  return "in place   tiles of " + std::to_string(args.tile) + " x " + std::to_string(args.tile) + " elements of " +
         std::to_string(args.words) + " " + word_bytes + ", " + std::to_string(args.numbers) + " along a side\n";
}

}  // namespace cornerturn::gpu
