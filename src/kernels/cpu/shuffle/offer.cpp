// Offers for small blocks of bytes that are permuted within themselves.
#include "kernels/cpu/shuffle/args.hpp"

#include <algorithm>

#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::shuffle {
namespace {

// True if the axes are contiguous in src, in any order.
bool contiguous_in_src(const fused_axes& axes) noexcept {
  std::int64_t words = 1;
  for (int found = 0; found < axes.rank; ++found) {
    const auto* const end = axes.axes.data() + axes.rank;
    const auto* const next = std::find_if(axes.axes.data(), end, [&](const axis& a) { return a.src_stride == words; });
    if (next == end) return false;
    words *= next->extent;
  }
  return true;
}

// Finds the fewest axes that are contiguous in src and in dst, and differ in order. False if an item would have more than
// most_block bytes.
bool find_item(args& work, const facts& known) noexcept {
  axis_pool left(known.form);
  const axis* next = left.find(&axis::dst_stride, 1);
  while (next != nullptr) {
    if (next->extent > most_block / work.word_bytes / work.inner.total) return false;
    left.take(next, work.inner);
    if (work.inner.rank > 1 && contiguous_in_src(work.inner)) {
      left.take_rest(work.outer);
      return true;
    }
    next = left.next(&axis::dst_stride, work.inner);
  }
  return false;
}

// Several items make a block if they are neighbours in src and in dst: the more bytes, the less is lost at its end.
void join_items(args& work) noexcept {
  if (work.outer.rank == 0) return;
  axis& last = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)];
  const std::int64_t words = work.inner.total;
  if (last.src_stride != words || last.dst_stride != words) return;
  work.items = std::min(last.extent, most_block / 2 / work.item_bytes);
  // Blocks of whole chunks have no last chunk that overlaps. The largest one is taken, if it has four chunks or more.
  for (std::int64_t few = 1; few < work.items; ++few) {
    if (few * work.item_bytes % chunk_bytes == 0 && few * work.item_bytes >= 4 * chunk_bytes) work.items = few;
  }
  work.items = std::max<std::int64_t>(work.items, 1);
  const std::int64_t blocks = base::ceil_div(last.extent, work.items);
  work.last_items = last.extent - (blocks - 1) * work.items;
  work.outer.total = work.outer.total / last.extent * blocks;
  last = {blocks, last.src_stride * work.items, last.dst_stride * work.items};
}

// Pairs of a chunk of dst and a chunk of src that it takes bytes of.
std::int64_t count_pairs(const args& work) noexcept {
  byte_map from;
  fill_map(work, from);
  const std::int64_t block = work.items * work.item_bytes;
  std::int64_t pairs = 0;
  for (std::int64_t k = 0; k < chunks_of(block); ++k) {
    std::uint32_t seen = 0;
    for (std::int64_t byte = 0; byte < chunk_bytes; ++byte) {
      const std::int64_t src = from[static_cast<std::size_t>(chunk_at(k, block) + byte)];
      const std::uint32_t bit = std::uint32_t{1} << chunk_with(src, block);
      pairs += (seen & bit) == 0 ? 1 : 0;
      seen |= bit;
    }
  }
  return pairs;
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  auto& work = made.emplace<args>();
  work.word_bytes = known.form.word_bytes;
  if (!find_item(work, known)) return false;
  work.item_bytes = work.inner.total * work.word_bytes;
  join_items(work);
  const std::int64_t block = work.items * work.item_bytes;
  if (block < chunk_bytes) return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  work.streaming = !fits_cache(known, on);
  share_out(made, known, costs, work.outer.total);
  const auto pairs = static_cast<double>(count_pairs(work));
  made.time = costs.times.shuffle + costs.times.shuffle_pair_bytes * pairs / static_cast<double>(block) +
              costs.times.shuffle_block_bytes / static_cast<double>(block);
  made.binds = work.streaming ? bound::dram : bound::issue;
  made.reason = "small blocks that are contiguous in src and in dst: byte shuffles put each chunk of dst together";
  return true;
}

}  // namespace cornerturn::kernels::cpu::shuffle
