// The family shuffle: small blocks of any words that are contiguous in src and in dst, such as a batch of 3 x 52 bytes. With
// AVX-512 VBMI, whole lines of dst are put together in registers: policy/line_shuffle-inl.hpp. Else:
//   1. a chunk of dst, 16 bytes, takes bytes of a few chunks of src: for each such pair a mask says which byte goes where.
//      The plan holds the masks, unless there are too many of them
//   2. the chunk is the OR of the shuffled chunks of src
//   3. blocks that are neighbours in dst are put together in L1 and written in whole lines
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/shuffle/shuffle.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_shuffle-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/shuffle/args.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <class Masks>
class block_shuffle {
 public:
  block_shuffle(const shuffle::args& work, const Masks& masks) noexcept
      : masks_(masks),
        item_(work.item_bytes),
        block_(work.items * work.item_bytes),
        chunks_(shuffle::chunks_of(block_)) {}

  [[nodiscard]] HWY_INLINE std::int64_t bytes() const noexcept { return block_; }

  // 2. for N blocks at once, so that a mask is loaded once for all of them.
  template <std::size_t N>
  HWY_INLINE void move(const std::byte* const (&from)[N], std::byte* const (&to)[N]) const {
    const hn::FixedTag<std::uint8_t, 16> d;
    int pair = 0;
    for (std::int64_t k = 0; k < chunks_; ++k) {
      hn::VFromD<decltype(d)> chunk[N];
      for (std::size_t i = 0; i < N; ++i) chunk[i] = hn::Zero(d);
      do {
        const auto mask = hn::Load(d, masks_.mask[pair]);
        const std::int64_t offset = masks_.offset[pair];
        HWY_UNROLL(4)
        for (std::size_t i = 0; i < N; ++i) {
          chunk[i] = hn::Or(chunk[i], hn::TableLookupBytesOr0(load(d, from[i] + offset), mask));
        }
      } while (++pair < masks_.end[k]);
      const std::int64_t at = shuffle::chunk_at(k, block_);
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < N; ++i) store(chunk[i], d, to[i] + at);
    }
  }
  // The first `items` items of a block. No other byte of src or dst is touched.
  HWY_NOINLINE void move_part(const std::byte* from, std::byte* to, std::int64_t items) const {
    const auto bytes = static_cast<std::size_t>(HWY_MIN(items * item_, shuffle::most_block));
    std::byte padded[shuffle::most_block], moved[shuffle::most_block];
    std::memcpy(padded, from, bytes);
    move<1>({padded}, {moved});
    std::memcpy(to, moved, bytes);
  }

 private:
  const Masks& masks_;
  std::int64_t item_;
  std::int64_t block_;
  std::int64_t chunks_;
};

template <class Masks>
void shuffle_blocks_with(const Masks& masks, const shuffle::args& work, const arrays& all, std::int64_t begin,
                         std::int64_t end) {
  const block_shuffle<Masks> shuffles(work, masks);
  const std::int64_t run =
      work.outer.rank == 0 ? 1 : work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)].extent;
  constexpr int together = 4;
  constexpr std::int64_t capacity = 4096;  // loads and stores overlap only when they alternate this often
  alignas(64) std::byte buffer[capacity];
  std::byte* place = nullptr;  // of the buffer in dst
  std::int64_t filled = 0;
  run_writer writer;
  const auto flush = [&] {
    if (filled > 0) writer.write(buffer, place, filled);
    place += filled;
    filled = 0;
  };
  odometer outer(work.outer, work.word_bytes, begin, false);
  std::int64_t at = begin % run;  // in the last axis
  for (std::int64_t unit = begin; unit < end;) {
    // Up to four blocks that are neighbours in dst. The last one of an axis may have fewer items.
    const std::byte* from[together];
    std::byte* to[together];
    std::byte* const first = all.dst + outer.dst();
    std::int64_t bytes = 0;
    int count = 0;
    bool part = false;
    do {
      from[count] = all.src + outer.src();
      to[count] = all.dst + outer.dst();
      part = ++at == run && work.last_items < work.items;
      if (at == run) at = 0;
      bytes += part ? work.last_items * work.item_bytes : shuffles.bytes();
      ++count;
      ++unit;
      outer.next();
    } while (count < together && !part && unit < end && all.dst + outer.dst() == first + bytes);
    if (work.streaming) {  // 3.
      if (first != place + filled) {
        flush();
        place = first;
      } else if (filled + bytes > capacity) {
        flush();
      }
      for (int k = 0; k < count; ++k) to[k] = buffer + filled + (to[k] - first);
      filled += bytes;
    }
    if (count == together && !part) {
      shuffles.move(from, to);
      continue;
    }
    for (int k = 0; k < count; ++k) {
      if (part && k + 1 == count) {
        shuffles.move_part(from[k], to[k], work.last_items);
      } else {
        shuffles.template move<1>({from[k]}, {to[k]});
      }
    }
  }
  if (!work.streaming) return;
  flush();
  writer.finish();
  finish_streaming();
}

void shuffle_blocks(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const shuffle::block_args*>(args);
  if (work.pairs <= shuffle::most_kept_pairs) return shuffle_blocks_with(work.kept, work, all, begin, end);
  shuffle::masks<shuffle::most_pairs> made;
  shuffle::fill_masks(work, made);
  shuffle_blocks_with(made, work, all, begin, end);
}

void shuffle_lines([[maybe_unused]] const void* args, [[maybe_unused]] const arrays& all,
                   [[maybe_unused]] std::int64_t begin, [[maybe_unused]] std::int64_t end) {
#if HWY_TARGET <= HWY_AVX3
  const auto& work = *static_cast<const shuffle::args*>(args);
  line_shuffle lines(work, all.src + work.src_end_bytes);
  odometer outer(work.outer, work.word_bytes, begin, false);
  const std::int64_t run = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)].extent;
  std::int64_t at = begin % run;  // in the last axis
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    if (++at == run) at = 0;
    const std::int64_t bytes = (at == 0 ? work.last_items : work.items) * work.item_bytes;
    if (work.streaming) {
      lines.move<true>(all.src + outer.src(), all.dst + outer.dst(), bytes);
    } else {
      lines.move<false>(all.src + outer.src(), all.dst + outer.dst(), bytes);
    }
  }
  if (!work.streaming) return;
  lines.finish();
  finish_streaming();
#endif
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/shuffle/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
