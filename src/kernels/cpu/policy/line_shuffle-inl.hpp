// Small items that follow one another in src and in dst (AVX-512 VBMI). Lines of dst are put together in registers:
//
//   item     a block that is permuted within itself, or one element of each of a few rows
//   phase    where a line begins in its item. It tells which bytes of src the line takes
//   half     64 bytes of src: a part of a block, or of a row. A line takes bytes of a few halves, two with each shuffle
//
// The selections of a phase are made when a line of this phase comes first. If there is no room left, all are made anew.
#if defined(CORNERTURN_LINE_SHUFFLE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_LINE_SHUFFLE_INL
#undef CORNERTURN_LINE_SHUFFLE_INL
#else
#define CORNERTURN_LINE_SHUFFLE_INL
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/small_item.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

class line_shuffle {
 public:
  // readable_end: the end of src.
  line_shuffle(const small_item& work, const std::byte* readable_end) noexcept
      : item_(work.item_bytes),
        src_item_(work.src_item_bytes),
        rows_(work.rows),
        apart_(work.rows > 0 ? work.row_pitch : line_bytes),
        readable_end_(readable_end) {
    if (rows_ == 0) fill_map(work, from_);
    constexpr std::int64_t selection_bytes = capacity * line_bytes;
    constexpr auto mask_bytes = capacity * static_cast<std::int64_t>(sizeof(__mmask64));
    const auto phase_bytes = item_ * static_cast<std::int64_t>(sizeof(phase));
    std::byte* const memory = selection_buffer(selection_bytes + mask_bytes + phase_bytes);
    if (memory == nullptr) return;
    selections_ = reinterpret_cast<std::uint8_t*>(memory);
    masks_ = reinterpret_cast<__mmask64*>(memory + selection_bytes);
    phases_ = reinterpret_cast<phase*>(memory + selection_bytes + mask_bytes);
    std::fill_n(phases_, item_, phase{});
  }

  // Moves one item.
  HWY_INLINE void move_item(const std::byte* from, std::byte* to) {
    if (HWY_UNLIKELY(phases_ == nullptr)) return move_bytes(from, to, item_);
    for (std::int64_t at = 0; at < item_; at += line_bytes) {
      store_bytes(line(phase_of(at), from), to + at, HWY_MIN(line_bytes, item_ - at));
    }
  }

  // Moves `bytes` bytes of whole items. Streaming: finish() stores the last line.
  template <bool Streaming>
  HWY_NOINLINE void move(const std::byte* from, std::byte* to, std::int64_t bytes) {
    if (phases_ == nullptr) return move_bytes(from, to, bytes);
    const std::int64_t head =
        HWY_MIN(bytes, -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to)) & (line_bytes - 1));
    if (head > 0 && Streaming && to == open_end_) {
      store_bytes(line(phase_of(0), from), open_ + open_bytes_, head);
      open_bytes_ += head;
      open_end_ += head;
      if (open_bytes_ == line_bytes) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(open_end_ - line_bytes), _mm512_load_si512(open_));
        open_end_ = nullptr;
      }
    } else if (head > 0) {
      store_bytes(line(phase_of(0), from), to, head);
    }
    from += head / item_ * src_item_;
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
    if (to == end) return;
    const __m512i rest = line(phase_of(at), from);
    if constexpr (!Streaming) return store_bytes(rest, to, end - to);
    finish();
    _mm512_store_si512(open_, rest);
    open_bytes_ = end - to;
    open_end_ = end;
  }

  void finish() {
    if (open_end_ != nullptr) store_bytes(_mm512_load_si512(open_), open_end_ - open_bytes_, open_bytes_);
    open_end_ = nullptr;
  }

 private:
  struct phase {
    std::int32_t shuffles = 0;  // 0: its selections are not made
    std::int32_t first = 0;     // its first selection in the table
    std::int32_t offset = 0;    // of its first half, from the begin of the item
    std::int32_t next = 0;      // the phase of the next line
    std::int32_t items = 0;     // bytes of src from the item of this line to the item of the next line
  };

  HWY_INLINE const phase& phase_of(std::int64_t at) {
    if (HWY_UNLIKELY(phases_[at].shuffles == 0)) make(at);
    return phases_[at];
  }

  HWY_NOINLINE void make(std::int64_t at) {
    std::array<std::int32_t, line_bytes> half, place;  // of each byte of the line
    std::int64_t item = 0, byte = at;
    const std::int64_t element = rows_ > 0 ? item_ / rows_ : 0;
    for (std::size_t k = 0; k < half.size(); ++k) {
      half[k] = static_cast<std::int32_t>(rows_ > 0 ? byte / element : 0);
      place[k] = static_cast<std::int32_t>(item + (rows_ > 0 ? byte % element : from_[static_cast<std::size_t>(byte)]));
      if (++byte < item_) continue;
      byte = 0;
      item += src_item_;
    }
    const std::int32_t low = rows_ > 0 ? 0 : *std::min_element(place.begin(), place.end());
    if (rows_ == 0) {
      for (std::size_t k = 0; k < half.size(); ++k) {
        half[k] = (place[k] - low) / 64;
        place[k] = (place[k] - low) % 64;
      }
    }
    const std::int32_t count = *std::max_element(half.begin(), half.end()) / 2 + 1;
    if (used_ + count > capacity) {
      std::fill_n(phases_, item_, phase{});
      used_ = 0;
    }
    phases_[at] = {.shuffles = count,
                   .first = used_,
                   .offset = low,
                   .next = static_cast<std::int32_t>(byte),
                   .items = static_cast<std::int32_t>(item)};
    for (std::int32_t n = 0; n < count; ++n, ++used_) {
      __mmask64 mine = 0;
      for (std::size_t k = 0; k < half.size(); ++k) {
        if (half[k] / 2 == n) mine |= __mmask64{1} << k;
        selections_[used_ * line_bytes + static_cast<std::int64_t>(k)] =
            static_cast<std::uint8_t>(half[k] % 2 * 64 + place[k]);
      }
      masks_[used_] = mine;
    }
  }

  // Half k of those that begin at `from`. A row behind the last one is not loaded.
  HWY_INLINE const std::byte* half_at(const std::byte* from, std::int64_t k) const {
    return from + (rows_ > 0 ? HWY_MIN(k, rows_ - 1) : k) * apart_;
  }

  // The line of this phase in the item at `item`.
  HWY_INLINE __m512i line(const phase& one, const std::byte* item) const {
    const std::byte* const from = item + one.offset;
    if (HWY_UNLIKELY(half_at(from, 2 * one.shuffles - 1) + line_bytes > readable_end_)) return last_line(one, from);
    return shuffled(one, [&](std::int32_t k) HWY_ATTR { return _mm512_loadu_si512(half_at(from, k)); });
  }
  // Loads nothing from readable_end_ on.
  HWY_NOINLINE __m512i last_line(const phase& one, const std::byte* from) const {
    return shuffled(one, [&](std::int32_t k) HWY_ATTR {
      const std::int64_t left = readable_end_ - half_at(from, k);
      if (left <= 0) return _mm512_setzero_si512();
      return load_bytes(half_at(from, k), HWY_MIN(left, line_bytes));
    });
  }
  template <class Load>
  HWY_INLINE __m512i shuffled(const phase& one, const Load& load_half) const {
    const std::uint8_t* const selection = selections_ + one.first * line_bytes;
    __m512i all = select_bytes_of(load_half(0), _mm512_load_si512(selection), load_half(1));
    for (std::int32_t n = 1; n < one.shuffles; ++n) {
      const __m512i more =
          select_bytes_of(load_half(2 * n), _mm512_load_si512(selection + n * line_bytes), load_half(2 * n + 1));
      all = _mm512_mask_mov_epi8(all, masks_[one.first + n], more);
    }
    return all;
  }

  // Without memory for selections: one byte at a time.
  void move_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) const {
    const std::int64_t element = rows_ > 0 ? item_ / rows_ : item_;
    for (std::int64_t k = 0; k < bytes; ++k) {
      const std::int64_t byte = k % item_;
      const std::int64_t inside =
          rows_ > 0 ? byte / element * apart_ + byte % element : from_[static_cast<std::size_t>(byte)];
      to[k] = from[k / item_ * src_item_ + inside];
    }
  }

  static constexpr std::int32_t capacity = most_windows;

  std::int64_t item_;
  std::int64_t src_item_;
  std::int64_t rows_;
  std::int64_t apart_;  // bytes from one half to the next
  const std::byte* readable_end_;
  byte_map from_;
  std::uint8_t* selections_ = nullptr;
  __mmask64* masks_ = nullptr;
  phase* phases_ = nullptr;
  std::int32_t used_ = 0;
  // The last line that is not complete: the next items may continue it. So no line of dst is loaded between two calls.
  alignas(64) std::byte open_[64];
  std::int64_t open_bytes_ = 0;
  std::byte* open_end_ = nullptr;  // in dst; null: there is none
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per target
