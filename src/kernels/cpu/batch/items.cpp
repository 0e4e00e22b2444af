// A matrix is transposed in panels of columns, which are contiguous in dst. Any other small item is transposed as a whole:
//
//   1. the item is transposed into a buffer that has the alignment of dst modulo a line, behind the item before it in dst
//   2. when the buffer holds enough, it is written in whole lines by non-temporal stores; an unfinished line is kept
//   3. for each byte that is written, a byte of src is prefetched into L2, an item or more ahead
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch/items.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/batch/item_strips-inl.hpp"
#include "kernels/cpu/batch/items.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/register_tile/args.hpp"
#include "kernels/cpu/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Prefetches the src of the items ahead of the current one, four pages in turn as page_prefetcher.hpp does. Into L2, because
// an item is not read in the order of addresses.
class item_prefetcher {
 public:
  static constexpr std::int64_t window_bytes = 16 << 10;

  item_prefetcher(const item_call* all, std::size_t count) noexcept : next_(all), end_(all + count) {}

  HWY_INLINE void fetch(std::int64_t bytes) noexcept {
    for (owed_ += bytes; owed_ >= pages * line_bytes; owed_ -= pages * line_bytes) {
      while (line_ == part_) {
        if (!go_on()) return;
      }
      for (std::int64_t k = 0; k < pages; ++k) __builtin_prefetch(window_ + line_ + k * part_, 0, 2);
      line_ += line_bytes;
    }
  }

 private:
  static constexpr std::int64_t page = 4096;
  static constexpr std::int64_t pages = 4;

  // Goes to the next window: four pages of the run, or its rest in four quarters. A run is items that follow each other in
  // src; at its end the next run begins. False: no items are left.
  HWY_NOINLINE bool go_on() noexcept {
    window_ += pages * part_;
    line_ = part_ = 0;
    if (window_ >= run_end_) {
      if (next_ == end_) return false;
      window_ = run_end_ = next_->src;
      for (; next_ != end_ && next_->src == run_end_; ++next_) run_end_ += next_->bytes;
    }
    part_ = HWY_MIN(page, base::ceil_div(run_end_ - window_, pages * line_bytes) * line_bytes);
    return true;
  }

  const item_call* next_;
  const item_call* end_;
  const std::byte* window_ = nullptr;
  const std::byte* run_end_ = nullptr;
  std::int64_t part_ = 0;  // a quarter of the window: a page, or less at the end of a run
  std::int64_t line_ = 0;  // offset of the next line in each quarter
  std::int64_t owed_ = 0;
};

template <std::size_t Word>
HWY_NOINLINE void turn_panel(const item_call& one, std::int64_t col, std::int64_t cols, std::byte* to) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  const auto& work = *static_cast<const register_tile::args*>(one.args);
  rows_of_blocks<Word>(one.src + col * word, work.src_pitch, work.rows, 0, cols, to, work.rows * word);
}

// Transposes columns [col, col + cols) of an item that is one matrix, or the whole item if it has no panels.
HWY_INLINE void turn_some(const item_call& one, std::int64_t col, std::int64_t cols, std::byte* to) {
  if (one.panel == 0) return one.run(one.args, {.src = one.src, .dst = to}, 0, one.units);
  const std::int64_t word_bytes = static_cast<const register_tile::args*>(one.args)->word_bytes;
  if (word_bytes == 1) return turn_panel<1>(one, col, cols, to);
  if (word_bytes == 2) return turn_panel<2>(one, col, cols, to);
  if (word_bytes == 4) return turn_panel<4>(one, col, cols, to);
  if (word_bytes == 8) return turn_panel<8>(one, col, cols, to);
  turn_panel<16>(one, col, cols, to);
}

template <std::size_t Word>
HWY_INLINE bool move_strips(const item_call& one, std::byte* memory, run_writer& writer, item_prefetcher& prefetcher) {
  constexpr auto unit = static_cast<std::uintptr_t>(HWY_MIN(Word, std::size_t{8}));
  if (reinterpret_cast<std::uintptr_t>(one.dst) % unit != 0) return false;
  item_in_strips<Word, item_prefetcher>(*static_cast<const register_tile::args*>(one.args), memory, writer, prefetcher)
      .move(one.src, one.dst);
  return true;
}

HWY_INLINE bool moved_by_strips(const item_call& one, std::byte* memory, run_writer& writer,
                                item_prefetcher& prefetcher) {
  if (!strips_of_items || !one.strips) return false;
  const std::int64_t word_bytes = static_cast<const register_tile::args*>(one.args)->word_bytes;
  if (word_bytes == 2) return move_strips<2>(one, memory, writer, prefetcher);
  if (word_bytes == 4) return move_strips<4>(one, memory, writer, prefetcher);
  if (word_bytes == 8) return move_strips<8>(one, memory, writer, prefetcher);
  return move_strips<16>(one, memory, writer, prefetcher);
}

// buffer: holds the largest panel, written_together bytes and a line. largest: bytes of the largest item.
void items(const item_call* all, std::size_t count, std::byte* buffer, std::int64_t largest) {
  run_writer writer;
  item_prefetcher prefetcher(all, count);
  prefetcher.fetch(largest + item_prefetcher::window_bytes);
  const auto write = [&](const std::byte* from, std::byte* to, std::int64_t bytes) HWY_ATTR {
    constexpr std::int64_t at_once = 512;  // loads and stores overlap only when they alternate often
    while (bytes > 0) {
      // Each part ends at a line, so every part but the first begins at a line.
      const auto inside = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
      const std::int64_t some = HWY_MIN(at_once - inside, bytes);
      prefetcher.fetch(some);
      writer.write(from, to, some);
      from += some;
      to += some;
      bytes -= some;
    }
  };
  std::byte* to = nullptr;  // the destination of the buffer's contents
  std::byte* from = buffer;
  std::int64_t held = 0;
  const auto flush = [&] {
    write(from, to, held);
    held = 0;
  };
  for (std::size_t k = 0; k < count; ++k) {
    const item_call& one = all[k];
    if (one.run == nullptr) {
      flush();
      write(one.src, one.dst, one.bytes);
      continue;
    }
    if (one.strips) {
      flush();
      if (moved_by_strips(one, buffer, writer, prefetcher)) continue;
    }
    const bool whole = one.panel == 0 || one.panel >= one.bytes;
    const std::int64_t panel = whole ? one.bytes : one.panel;
    const std::int64_t cols = one.panel == 0 ? 1 : static_cast<const register_tile::args*>(one.args)->cols;
    const std::int64_t at_once = whole ? cols : panel / (one.bytes / cols);
    std::int64_t col = 0;
    for (std::int64_t done = 0; done < one.bytes; done += panel, col += at_once) {
      if (held >= written_together || one.dst + done != to + held) {
        flush();
        to = one.dst + done;
        from = buffer + reinterpret_cast<std::uintptr_t>(to) % line_bytes;
      }
      turn_some(one, col, HWY_MIN(at_once, cols - col), from + held);  // 1.
      held += HWY_MIN(panel, one.bytes - done);
    }
  }
  flush();
  writer.finish();
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels::cpu {

HWY_EXPORT(items);

void move_items(std::span<const item_call> all) noexcept {
  std::int64_t most = 0;
  for (const item_call& one : all) most = HWY_MAX(most, one.bytes);
  std::byte* const buffer = item_buffer(HWY_MAX(most + written_together + 64, (2 * item_strip_cols + 1) * 64));
  if (buffer != nullptr) return HWY_DYNAMIC_DISPATCH(items)(all.data(), all.size(), buffer, most);
  for (const item_call& one : all) {  // no memory for a buffer: straight to dst
    if (one.run != nullptr) {
      one.run(one.args, {.src = one.src, .dst = one.dst}, 0, one.units);
    } else {
      std::memcpy(one.dst, one.src, static_cast<std::size_t>(one.bytes));
    }
  }
}

}  // namespace cornerturn::kernels::cpu
#endif
