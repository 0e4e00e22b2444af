#include "kernels/gpu/gather/pitch.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "kernels/gpu/traits.hpp"
#include "map/banks.hpp"

namespace cornerturn::gpu {

using base::ceil_div;
using base::magnitude;

int lanes_along(std::int64_t words, std::int64_t lines, int most, int warp_log2) noexcept {
  int along = 0;
  while (along < most && (1 << along) < words) ++along;
  while (along < warp_log2 && lines < 1 << (warp_log2 - along)) ++along;
  return along;
}

int choose_pitch(gather_args& args, int word, int row_bytes, const std::array<bool, max_gather_axes>& by_row,
                 bool chunks, int warp_lanes) noexcept {
  const int packed = word < 4 && args.line_is_contiguous != 0 ? 4 / word : 1;
  const int along = args.line_lanes;
  struct at {
    std::int64_t row = 0;
    std::int64_t byte = 0;  // in the row
  };
  std::array<at, kernels::most_lanes> lanes{};
  for (int lane = 0; lane < warp_lanes; ++lane) {
    auto element = static_cast<std::uint32_t>(std::min((lane & ((1 << along) - 1)) * packed, args.line_elements - 1));
    auto line = static_cast<std::uint32_t>(std::min(lane >> along, args.lines - 1));
    for (int k = 0; k < args.dst_rank; ++k) {
      std::uint32_t& rest = k < args.line_axes ? element : line;
      if (rest == 0) continue;  // true for most axes, because a warp has few lanes
      const std::uint32_t index = rest % args.dst_axes[k].tile.divisor;
      rest /= args.dst_axes[k].tile.divisor;
      const std::int64_t stride = magnitude(args.dst_axes[k].smem_stride);
      (by_row[k] ? lanes[lane].row : lanes[lane].byte) += index * stride;
    }
  }
  const int cell_bytes = map::bank_cell_bytes(word), group = map::lanes_at_once(word);
  const int cell_log2 = std::countr_zero(static_cast<unsigned>(cell_bytes));
  int best = INT32_MAX;
  const auto consider = [&](int unit, int dense, int pads, bool in_chunks) {
    for (int skew = 0; skew <= (word < 4 ? 0 : unit); skew += unit) {
      for (int pad = 0; pad < pads; ++pad) {
        if (best == 1 && (args.in_chunks != 0 || !in_chunks)) return;
        const int pitch = dense + pad * unit;
        int worst = 0;
        for (int first = 0; first < warp_lanes; first += group) {
          map::bank_counter<> counter(group);
          for (int lane = first; lane < first + group; ++lane) {
            std::int64_t offset = lanes[lane].row * pitch + lanes[lane].byte;
            offset += (offset >> 7) * skew;
            counter.add(offset >> cell_log2);
          }
          worst = std::max(worst, counter.wavefronts());
        }
        if (worst < best || (worst == best && in_chunks && args.in_chunks == 0)) {
          best = worst;
          args.pitch = pitch;
          args.skew = skew;
          args.in_chunks = in_chunks ? 1 : 0;
        }
      }
    }
  };
  consider(cell_bytes, static_cast<int>(ceil_div(row_bytes, cell_bytes)) * cell_bytes, 5, false);
  if (chunks) consider(16, static_cast<int>(ceil_div(row_bytes + 16 - word, 16)) * 16, 4, true);
  return best;
}

}  // namespace cornerturn::gpu
