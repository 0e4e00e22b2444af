// Small items that follow one another in src and in dst, each permuted within itself (AVX-512 VBMI). Lines of dst are put together
// in registers:
//
//   phase    where a line begins in its item. It tells which bytes of src the line takes
//   window   128 bytes of src. A line takes its bytes from a few windows, one behind the other, with one shuffle for each
//
// The selections of a phase are made when a line of this phase comes first. If there is no room left, all are made anew.
#if defined(CORNERTURN_SHUFFLE_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SHUFFLE_LINES_INL
#undef CORNERTURN_SHUFFLE_LINES_INL
#else
#define CORNERTURN_SHUFFLE_LINES_INL
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/shuffle/args.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

class line_shuffle {
 public:
  // readable_end: the end of src.
  line_shuffle(const shuffle::args& work, const std::byte* readable_end) noexcept
      : item_(work.item_bytes), readable_end_(readable_end) {
    shuffle::fill_map_of_item(work, from_);
    constexpr std::int64_t selection_bytes = capacity * line_bytes;
    constexpr auto mask_bytes = capacity * static_cast<std::int64_t>(sizeof(__mmask64));
    const auto phase_bytes = item_ * static_cast<std::int64_t>(sizeof(phase));
    std::byte* const memory = scratch(selection_bytes + mask_bytes + phase_bytes);
    if (memory == nullptr) return;
    selections_ = reinterpret_cast<std::uint8_t*>(memory);
    masks_ = reinterpret_cast<__mmask64*>(memory + selection_bytes);
    phases_ = reinterpret_cast<phase*>(memory + selection_bytes + mask_bytes);
    std::fill_n(phases_, item_, phase{});
  }

  // Moves `bytes` bytes of whole items.
  template <bool Streaming>
  HWY_NOINLINE void move(const std::byte* from, std::byte* to, std::int64_t bytes) {
    if (phases_ == nullptr) return move_bytes(from, to, bytes);
    const std::int64_t head =
        HWY_MIN(bytes, -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to)) & (line_bytes - 1));
    if (head > 0) put(line(phase_of(0), from), to, head);
    from += head / item_ * item_;
    std::int64_t at = head % item_;
    std::byte* const end = to + bytes;
    for (to += head; to + line_bytes <= end; to += line_bytes) {
      const phase& now = phase_of(at);
      const __m512i v = line(now, from);
      if constexpr (Streaming) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v);
      } else {
        _mm512_store_si512(to, v);
      }
      from += now.items;
      at = now.next;
    }
    if (to < end) put(line(phase_of(at), from), to, end - to);
  }

 private:
  struct phase {
    std::int32_t windows = 0;  // 0: its selections are not made
    std::int32_t first = 0;    // its first window in the table
    std::int32_t offset = 0;   // of that window, from the begin of the item
    std::int32_t next = 0;     // the phase of the next line
    std::int32_t items = 0;    // bytes of src from the item of this line to the item of the next line
  };

  HWY_INLINE const phase& phase_of(std::int64_t at) {
    if (HWY_UNLIKELY(phases_[at].windows == 0)) make(at);
    return phases_[at];
  }

  HWY_NOINLINE void make(std::int64_t at) {
    std::array<std::int32_t, line_bytes> taken;
    std::int64_t item = 0, byte = at;
    for (std::int32_t& one : taken) {
      one = static_cast<std::int32_t>(item + from_[static_cast<std::size_t>(byte)]);
      if (++byte < item_) continue;
      byte = 0;
      item += item_;
    }
    const auto [low, high] = std::minmax_element(taken.begin(), taken.end());
    const std::int32_t count = (*high - *low) / 128 + 1;
    if (used_ + count > capacity) {
      std::fill_n(phases_, item_, phase{});
      used_ = 0;
    }
    phases_[at] = {.windows = count,
                   .first = used_,
                   .offset = *low,
                   .next = static_cast<std::int32_t>(byte),
                   .items = static_cast<std::int32_t>(item)};
    used_ += count;
    for (std::int32_t w = 0; w < count; ++w) {
      const std::int64_t place = phases_[at].first + w;
      __mmask64 mine = 0;
      for (std::size_t k = 0; k < taken.size(); ++k) {
        const std::int32_t inside = taken[k] - *low - 128 * w;
        if (inside >= 0 && inside < 128) mine |= __mmask64{1} << k;
        selections_[place * line_bytes + static_cast<std::int64_t>(k)] = static_cast<std::uint8_t>(inside & 127);
      }
      masks_[place] = mine;
    }
  }

  // The line of this phase in the item at `item`.
  HWY_INLINE __m512i line(const phase& one, const std::byte* item) const {
    const std::byte* from = item + one.offset;
    if (HWY_UNLIKELY(from + 128 * one.windows > readable_end_)) return last_line(one, from);
    return windows(one, [&](std::int32_t half) HWY_ATTR { return _mm512_loadu_si512(from + 64 * half); });
  }
  // Loads nothing from readable_end_ on.
  HWY_NOINLINE __m512i last_line(const phase& one, const std::byte* from) const {
    return windows(one, [&](std::int32_t half) HWY_ATTR {
      const std::int64_t left = readable_end_ - from - 64 * half;
      if (left <= 0) return _mm512_setzero_si512();
      return _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (64 - HWY_MIN(left, line_bytes)), from + 64 * half);
    });
  }
  template <class Load>
  HWY_INLINE __m512i windows(const phase& one, const Load& load_half) const {
    const std::int64_t place = one.first;
    const std::uint8_t* const selection = selections_ + place * line_bytes;
    __m512i all = select_bytes_of(load_half(0), _mm512_load_si512(selection), load_half(1));
    if (one.windows == 1) return all;
    all = _mm512_maskz_mov_epi8(masks_[place], all);
    for (std::int32_t w = 1; w < one.windows; ++w) {
      const __m512i more =
          select_bytes_of(load_half(2 * w), _mm512_load_si512(selection + w * line_bytes), load_half(2 * w + 1));
      all = _mm512_mask_mov_epi8(all, masks_[place + w], more);
    }
    return all;
  }

  static HWY_INLINE void put(__m512i v, std::byte* to, std::int64_t bytes) {
    _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} >> (64 - bytes), v);
  }
  void move_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) const {
    for (std::int64_t k = 0; k < bytes; ++k)
      to[k] = from[k / item_ * item_ + from_[static_cast<std::size_t>(k % item_)]];
  }

  static constexpr std::int32_t capacity = shuffle::most_windows;

  std::int64_t item_;
  const std::byte* readable_end_;
  shuffle::byte_map from_;
  std::uint8_t* selections_ = nullptr;
  __mmask64* masks_ = nullptr;
  phase* phases_ = nullptr;
  std::int32_t used_ = 0;
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per target
