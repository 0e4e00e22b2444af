// The decision list of the GPU engines for problems whose src is their dst. The first line whose condition holds wins.
//   1  every element is where it belongs                                                  nothing
//   2  pairs of places trade: one-word elements, columns side by side, every address a    swap
//      multiple of 16, and a side that fills a quarter of a tile
//   3  pairs of places trade: anything else                                               exchange
// and of rectangle_gpu.cpp:
//   4  rectangles of at most 16 MiB: there and back            two out-of-place kernels
//   5  rectangles of long elements                             cycles
//   6  rows in strips                                          ... and cycles
//   7  columns in strips: the same backwards                   cycles and ...
#include "plan/in_place_gpu.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace cornerturn::planning {
namespace {

constexpr const char* reasons[] = {
    "",
    "every element is where it belongs",
    "places trade in pairs and every address is a multiple of 16 bytes: register blocks of mirrored tiles",
    "places trade in pairs, word by word",
};

constexpr std::int64_t most_numbers = 65535;  // of tiles of a side: their pairs fit 31 bits
constexpr std::int64_t widest_exchange = 64;  // elements of a side
constexpr std::int64_t piece_bytes = 256;     // of an element that trade places together

const kernels::kernel* row_of(std::string_view family, std::int64_t word_bytes) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (one.element_bytes == word_bytes && one.launch != nullptr && one.family == family) return &one;
  }
  return nullptr;
}

bool swaps(const map::canonical& form, const map::in_place_form& places, int alignment,
           const kernels::kernel& row) noexcept {
  if (alignment != 16 || places.unit != 1 || places.pairs[0].dst_stride != 1) return false;
  const auto whole = [&](std::int64_t stride) { return stride * form.word_bytes % 16 == 0; };
  for (int k = 0; k < places.pair_count; ++k) {
    if (!whole(places.pairs[k].src_stride) || (k > 0 && !whole(places.pairs[k].dst_stride))) return false;
  }
  for (int k = 0; k < places.fixed_count; ++k) {
    if (!whole(places.fixed[k].src_stride)) return false;
  }
  return places.pairs[0].extent >= row.tile_rows / 4;
}

// Fills job and blocks; false when the grid has too few blocks for them.
bool fill(gpu_choice& made, const map::canonical& form, const map::in_place_form& places, std::int64_t tile,
          std::int64_t words) noexcept {
  gpu::swap_job job;
  const std::int64_t word = form.word_bytes;
  const axis& first = places.pairs[0];
  job.extent = first.extent;
  job.row_bytes = first.src_stride * word;
  job.col_bytes = first.dst_stride * word;
  job.tile = static_cast<std::int32_t>(tile);
  job.words = static_cast<std::int32_t>(words);
  std::int64_t numbers = 1;
  std::int64_t outer = 1;
  const auto grow = [](std::int64_t& total, std::int64_t by, std::int64_t most) {
    return by <= most / total && (total *= by, true);
  };
  for (int k = 0; k < places.pair_count; ++k) {
    const axis& one = places.pairs[k];
    const std::int64_t count = k == 0 ? base::ceil_div(one.extent, tile) : one.extent;
    if (!grow(numbers, count, most_numbers)) return false;
    const std::int64_t step = k == 0 ? tile * word : word;
    job.digits[job.digit_count++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), one.src_stride * step,
                                     one.dst_stride * step};
  }
  const auto add_outer = [&](std::int64_t count, std::int64_t stride_bytes) {
    if (count == 1) return true;
    if (!grow(outer, count, INT32_MAX)) return false;
    job.outer[job.outer_rank++] = {map::fast_divisor(static_cast<std::uint32_t>(count)), stride_bytes};
    return true;
  };
  if (!add_outer(places.unit / words, words * word)) return false;
  for (int k = places.fixed_count - 1; k >= 0; --k) {
    if (!add_outer(places.fixed[k].extent, places.fixed[k].src_stride * word)) return false;
  }
  std::int64_t blocks = numbers * (numbers + 1) / 2;
  job.numbers = static_cast<std::uint32_t>(numbers);
  job.fold = map::fast_divisor(static_cast<std::uint32_t>(numbers + 1 - numbers % 2));
  job.triangle = map::fast_divisor(static_cast<std::uint32_t>(blocks));
  if (!grow(blocks, outer, INT32_MAX)) return false;
  made.job = job;
  made.blocks = static_cast<std::uint32_t>(blocks);
  return true;
}

}  // namespace

gpu_choice choose_in_place(const map::canonical& form, const map::in_place_form& places,
                           const gpu_request& wanted) noexcept {
  gpu_choice made;
  if (places.kind == map::in_place_kind::nothing) {
    made.kernel = row_of("copy", form.word_bytes == 2 ? 1 : form.word_bytes);
    made.line = 1;
  } else if (places.kind == map::in_place_kind::involution) {
    const kernels::kernel* const aligned = row_of("swap", form.word_bytes);
    const bool whole = aligned != nullptr && aligned->shared_bytes <= wanted.shared_bytes &&
                       swaps(form, places, wanted.alignment, *aligned);
    made.kernel = whole ? aligned : row_of("exchange", form.word_bytes);
    if (!wanted.kernel.empty() && made.kernel != nullptr && wanted.kernel != made.kernel->name) {
      made.kernel = row_of("exchange", form.word_bytes);
    }
    made.line = made.kernel == aligned ? 2 : 3;
  }
  if (made.kernel == nullptr || (!wanted.kernel.empty() && wanted.kernel != made.kernel->name)) return {};
  made.reason = reasons[made.line];
  if (made.line == 1) return made;
  if (made.line == 2) {
    made.shared_bytes = made.kernel->shared_bytes;
    return fill(made, form, places, made.kernel->tile_rows, 1) ? made : gpu_choice{};
  }
  // Elements longer than a piece are several that trade places on their own.
  std::int64_t words = std::min(places.unit, std::max<std::int64_t>(piece_bytes / form.word_bytes, 1));
  while (places.unit % words != 0) --words;
  const auto bytes = [&](std::int64_t tile) { return tile * (tile * words + 1) * form.word_bytes; };
  std::int64_t tile = 1;
  while (tile < std::min(widest_exchange, places.pairs[0].extent) && bytes(2 * tile) <= gpu::exchange_bytes) tile *= 2;
  made.shared_bytes = static_cast<int>(2 * bytes(tile));
  return fill(made, form, places, tile, words) ? made : gpu_choice{};
}

}  // namespace cornerturn::planning
