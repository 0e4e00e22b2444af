// The family step: views whose elements are a step apart in src or in dst.
//   runs    src and dst have one order, or a few src runs are merged in dst   pick-inl.hpp
// and three walks of transposes, whose src rows are picked into L1 before register blocks transpose them:
//   strips  large matrices                                                   stream/strips-inl.hpp
//   packed  short dst runs that are contiguous with their neighbours         policy/packed-inl.hpp
//   panels  all others; elements of a dst run may have gaps between them     policy/panels-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/step/step.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <numeric>

#include "kernels/cpu/policy/elements-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/cpu/step/args.hpp"
#include "kernels/cpu/step/pick-inl.hpp"
#include "kernels/cpu/stream/strips-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Prefetches the lines of a later piece of src while a piece is moved, a line of each of its parts in turn: one stream of loads
// stalls at each page start.
class later_piece {
 public:
  explicit later_piece(const step::runs_args& work) noexcept
      : apart_(HWY_MAX(base::magnitude(work.src_step), line_bytes)),
        parts_(HWY_MAX(base::magnitude(work.src_step) * work.piece / 4096, std::int64_t{1})),
        each_(base::ceil_div(base::magnitude(work.src_step) * work.piece, apart_ * parts_)),
        backwards_(work.src_step < 0 ? (work.piece - 1) * work.src_step : 0) {}

  HWY_INLINE void begin(const std::byte* src) noexcept {
    at_ = src + backwards_;
    line_ = part_ = 0;
  }
  // Prefetches the share of `some` of `all`.
  HWY_INLINE void fetch(std::int64_t some, std::int64_t all) noexcept {
    for (std::int64_t left = base::ceil_div(each_ * parts_ * some, all); left > 0 && line_ < each_; --left) {
      __builtin_prefetch(at_ + (part_ * each_ + line_) * apart_, 0, 2);
      if (++part_ == parts_) part_ = 0, ++line_;
    }
  }

 private:
  std::int64_t apart_, parts_, each_, backwards_;
  std::int64_t line_ = 0, part_ = 0;
  const std::byte* at_ = nullptr;
};

inline constexpr std::int64_t staged_bytes = 4096;  // of dst
inline constexpr std::int64_t most_staged_runs = 32;

// Which piece a unit is of. It counts: a division takes as long as a row of 400 bytes.
class piece_counter {
 public:
  piece_counter(const step::runs_args& work, std::int64_t unit) noexcept
      : work_(work), inside_(unit % work.inside), piece_(unit / work.inside % work.pieces) {}
  [[nodiscard]] HWY_INLINE bool begins() const noexcept { return inside_ == 0; }
  [[nodiscard]] HWY_INLINE bool is_last() const noexcept { return piece_ == work_.pieces - 1; }
  HWY_INLINE void next() noexcept {
    if (++inside_ < work_.inside) return;
    inside_ = 0;
    if (++piece_ == work_.pieces) piece_ = 0;
  }

 private:
  const step::runs_args& work_;
  std::int64_t inside_, piece_;
};

// Short runs, several at once: each costs a few instructions.
void move_short_runs(const step::runs_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte buffer[staged_bytes + 64];
  const std::int64_t run = work.piece * work.dst_step;
  const std::int64_t together = HWY_MIN(HWY_MAX(staged_bytes / run, std::int64_t{1}), most_staged_runs);
  const std::byte* src[most_staged_runs];
  std::byte* dst[most_staged_runs];
  std::byte* staged[most_staged_runs];
  for (std::int64_t k = 0; k < together; ++k) staged[k] = buffer + k * run;
  odometer outer(work.outer, work.word_bytes, begin, false);
  odometer later = outer;
  for (std::int64_t k = 0; k < work.ahead; ++k) later.next();
  later_piece prefetcher(work);
  run_writer writer;
  piece_counter piece(work, begin);
  for (std::int64_t unit = begin; unit < end;) {
    const std::int64_t some = HWY_MIN(together, end - unit);
    for (std::int64_t k = 0; k < some; ++k, ++unit, outer.next(), piece.next()) {
      src[k] = all.src + work.src_begin + outer.src();
      dst[k] = all.dst + work.dst_begin + outer.dst();
      if (work.ahead == 0) continue;
      if (piece.begins()) {
        prefetcher.begin(all.src + work.src_begin + later.src());
        prefetcher.fetch(1, 1);
      }
      later.next();
    }
    move_rows(work, work.blocks, src, work.streaming ? staged : dst, some, work.piece);
    if (!work.streaming) continue;
    for (std::int64_t k = 0; k < some;) {
      const std::int64_t first = k++;
      while (k < some && dst[k] == dst[k - 1] + run) ++k;
      writer.write(staged[first], dst[first], (k - first) * run);
    }
  }
  writer.finish();
  if (work.streaming) finish_streaming();
}

// An element again and again: the least number of whole lines after which they begin again, and one line more.
class repeated_element {
 public:
  explicit repeated_element(std::int64_t bytes) noexcept
      : bytes_(bytes), period_(line_bytes * (bytes / std::gcd(bytes, line_bytes))) {}
  [[nodiscard]] std::int64_t period() const noexcept { return period_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }

  // Makes the first `wanted` bytes, or all, from an element with room for a line. Each store overwrites the surplus of the store
  // before it.
  HWY_INLINE void make(std::byte* element, std::int64_t wanted) noexcept {
    const hn::CappedTag<std::uint8_t, 64> d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t most = HWY_MIN(period_ + line_bytes, wanted);
    std::int64_t made = bytes_;
    if (bytes_ == 1 || bytes_ == 2 || bytes_ == 4) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, element, 4);
      eight = bytes_ == 1   ? (eight & 0xff) * 0x0101010101010101
              : bytes_ == 2 ? (eight & 0xffff) * 0x0001000100010001
                            : (eight & 0xffffffff) * 0x0000000100000001;
      std::memcpy(element, &eight, 8);
      made = 8;
    }
    std::memcpy(data_, element, line_bytes);
    for (const std::int64_t shift = made; made < line_bytes && made < most; made += shift) {
      std::memcpy(data_ + made, element, line_bytes);
    }
    for (std::int64_t at = made; at < most; at += made) {
      for (std::int64_t k = 0; k < made; k += step) store(load(d, data_ + k), d, data_ + at + k);
    }
  }

 private:
  std::int64_t bytes_, period_;
  alignas(64) std::byte data_[line_bytes * 64 + 4 * line_bytes];
};

#if HWY_TARGET <= HWY_AVX3
// `Bytes` bytes again and again.
template <std::int64_t Bytes>
HWY_INLINE __m512i repeated(const std::byte* from) {
  if constexpr (Bytes <= 8) {
    typename word_of<static_cast<std::size_t>(Bytes)>::type one;
    std::memcpy(&one, from, Bytes);
    if constexpr (Bytes == 1) return _mm512_set1_epi8(static_cast<char>(one));
    if constexpr (Bytes == 2) return _mm512_set1_epi16(static_cast<short>(one));
    if constexpr (Bytes == 4) return _mm512_set1_epi32(static_cast<int>(one));
    if constexpr (Bytes == 8) return _mm512_set1_epi64(static_cast<long long>(one));
  }
  if constexpr (Bytes == 16) return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  if constexpr (Bytes == 32) return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  return _mm512_loadu_si512(from);
}

// Elements whose copies fill a line evenly stay in a register: short rows would wait for the stores of a pattern.
template <std::int64_t Bytes>
void repeat_even_elements(const step::runs_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte element[2 * line_bytes] = {};
  odometer outer(work.outer, work.word_bytes, begin, false);
  run_writer writer;
  const bool is_one_load = work.inner.total == 1 || (work.inner.rank == 1 && work.inner.axes[0].src_stride == 1);
  piece_counter piece(work, begin);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next(), piece.next()) {
    const std::byte* src = all.src + work.src_begin + outer.src();
    std::byte* const dst = all.dst + work.dst_begin + outer.dst();
    const bool is_last = piece.is_last();
    const std::int64_t bytes = (is_last ? work.last : work.piece) * Bytes;
    const auto phase = work.streaming ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % Bytes) : 0;
    if (!is_one_load || phase != 0) {
      move_words(work, src, element, 1);
      std::memcpy(element + Bytes, element, Bytes);
      src = element + (phase == 0 ? 0 : Bytes - phase);
    }
    const __m512i line = repeated<Bytes>(src);
    if (work.streaming) {
      writer.repeat(line, dst, bytes);
      continue;
    }
    std::int64_t done = 0;
    for (; done + line_bytes <= bytes; done += line_bytes) _mm512_storeu_si512(dst + done, line);
    if (done < bytes) _mm512_mask_storeu_epi8(dst + done, (std::uint64_t{1} << (bytes - done)) - 1, line);
  }
  writer.finish();
  if (work.streaming) finish_streaming();
}

// Returns false, and moves nothing, if the copies of an element do not fill a line evenly.
bool repeat_in_register(const step::runs_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto with = [&]<std::int64_t Bytes>() {
    repeat_even_elements<Bytes>(work, all, begin, end);
    return true;
  };
  switch (work.dst_step) {
    case 1:
      return with.template operator()<1>();
    case 2:
      return with.template operator()<2>();
    case 4:
      return with.template operator()<4>();
    case 8:
      return with.template operator()<8>();
    case 16:
      return with.template operator()<16>();
    case 32:
      return with.template operator()<32>();
    case 64:
      return with.template operator()<64>();
    default:
      return false;
  }
}
#else
bool repeat_in_register(const step::runs_args&, const arrays&, std::int64_t, std::int64_t) { return false; }
#endif

void repeat_elements(const step::runs_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  if (repeat_in_register(work, all, begin, end)) return;
  alignas(64) std::byte element[line_bytes] = {};
  repeated_element pattern(work.dst_step);
  odometer outer(work.outer, work.word_bytes, begin, false);
  run_writer writer;
  piece_counter piece(work, begin);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next(), piece.next()) {
    const std::byte* const src = all.src + work.src_begin + outer.src();
    std::byte* const dst = all.dst + work.dst_begin + outer.dst();
    const bool is_last = piece.is_last();
    const std::int64_t bytes = (is_last ? work.last : work.piece) * work.dst_step;
    move_words(work, src, element, 1);
    pattern.make(element, bytes + line_bytes);
    if (work.streaming) {
      writer.repeat(pattern.data(), pattern.period(), dst, bytes);
    } else {
      for (std::int64_t done = 0; done < bytes; done += pattern.period())
        std::memcpy(dst + done, pattern.data(), static_cast<std::size_t>(HWY_MIN(pattern.period(), bytes - done)));
    }
  }
  writer.finish();
  if (work.streaming) finish_streaming();
}

void step_runs(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const step::runs_args*>(args);
  if (work.repeats) return repeat_elements(work, all, begin, end);
  if (work.pieces == 1 && work.piece * work.dst_step <= staged_bytes / 2) return move_short_runs(work, all, begin, end);
  alignas(64) std::byte buffer[staged_bytes + 64];
  const bool at_once = !work.streaming && work.ahead == 0;
  const std::int64_t staged =
      at_once ? work.piece : HWY_MAX(staged_bytes / work.dst_step / work.tile, std::int64_t{1}) * work.tile;
  odometer outer(work.outer, work.word_bytes, begin, false);
  odometer later = outer;
  for (std::int64_t k = 0; k < work.ahead; ++k) later.next();
  later_piece prefetcher(work);
  run_writer writer;
  piece_counter piece(work, begin);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next(), later.next(), piece.next()) {
    const bool fetches = work.ahead > 0 && piece.begins();
    if (fetches) prefetcher.begin(all.src + work.src_begin + later.src());
    const std::byte* src = all.src + work.src_begin + outer.src();
    std::byte* dst = all.dst + work.dst_begin + outer.dst();
    const bool is_last = piece.is_last();
    const std::int64_t indices = is_last ? work.last : work.piece;
    std::int64_t left = indices;
    for (std::int64_t count; left > 0; left -= count, src += count * work.src_step, dst += count * work.dst_step) {
      count = left <= staged ? left : HWY_MIN(staged, left - work.tile);  // so that the last ones are a block
      if (fetches) prefetcher.fetch(count, indices);
      move_row(work, work.blocks, src, work.streaming ? buffer : dst, count, work.src_ahead);
      if (work.streaming) writer.write(buffer, dst, count * work.dst_step);
    }
  }
  writer.finish();
  if (work.streaming) finish_streaming();
}

// Prefetches `count` columns of a row, from column c on.
HWY_INLINE void fetch_columns(const step::transpose_args& work, const std::byte* row, std::int64_t c,
                              std::int64_t count) {
  const std::int64_t step = work.src_col_bytes;
  const std::byte* at = row + c * step;
  const std::int64_t columns = HWY_MAX(line_bytes / base::magnitude(step), std::int64_t{1});  // of a line
  for (; count > 0; count -= columns, at += columns * step) __builtin_prefetch(at, 0, 2);
}

// Rows are picked into L1 before they are transposed; dst runs may have gaps between their elements.
template <std::size_t Word>
struct step_fill {
  static constexpr std::int64_t spare_cols = Word == 0 ? 0 : 16 / static_cast<std::int64_t>(Word == 0 ? 1 : Word);
  static constexpr bool pads = true;
  const step::transpose_args& work;
  const std::int64_t row_bytes = work.element_bytes;  // from one row to the next in dst
  const step::cut_axis* writes = nullptr;             // null: no gaps
  const step::block_table* write_blocks = nullptr;
  const element_turn turn{work.element_bytes, work.element_bytes};

  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    if (work.reads.dst_step == 0) {
      const std::int64_t e = work.element_bytes;
      return transposed<false>(rows, c, cols, to, pitch, {rows, work.prefetch_bytes, panel_cols * e});
    }
    // The next rows; without them, the next columns of these.
    const std::int64_t left = HWY_MIN(cols, panel_cols - c - cols);
    for (int k = 0; k < rows.count; ++k) {
      if (rows.next != nullptr) {
        fetch_columns(work, rows.next[k] + rows.step, c, cols);
      } else {
        fetch_columns(work, rows.row[k], c + cols, left);
      }
    }
    pick<false>(rows, c, cols, to, pitch);
  }
  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    for (int k = 0; rows.next != nullptr && k < rows.count; ++k) fetch_columns(work, rows.next[k] + rows.step, 0, cols);
    const std::int64_t some = HWY_MAX(short_row_bytes / work.element_bytes, std::int64_t{1});
    for (std::int64_t c = 0; c < cols; c += some) pick<true>(rows, c, HWY_MIN(some, cols - c), to + c * pitch, pitch);
  }
  [[nodiscard]] HWY_INLINE bool has_gaps() const { return writes != nullptr; }
  [[nodiscard]] HWY_INLINE std::int64_t dst_row_bytes() const { return row_bytes; }
  HWY_INLINE void store_apart(const std::byte* const* data, std::byte* const* to, std::int64_t pieces,
                              std::int64_t rows) const {
    move_rows(*writes, *write_blocks, data, to, pieces, rows);
  }

 private:
  template <bool Packed>
  HWY_INLINE void pick(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    alignas(64) std::byte picked[strip_rows][short_row_bytes + 64];
    std::byte* to_pick[strip_rows];
    const std::byte *from[strip_rows], *row[strip_rows];
    for (int k = 0; k < strip_rows; ++k) {
      row[k] = to_pick[k] = picked[HWY_MIN(k, rows.count - 1)];
      from[k] = rows.row[k] + c * work.src_col_bytes;
    }
    move_rows(work.reads, work.read_blocks, from, to_pick, rows.count, cols);
    const strip in_l1{row, nullptr, 0, rows.count};
    transposed<Packed>(in_l1, 0, cols, to, pitch, {in_l1, 0, 0});
  }
  template <bool Packed>
  HWY_INLINE void transposed(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                             const read_ahead& ahead) const {
    if constexpr (Word == 0) {
      ahead.each_row(c * work.element_bytes, cols * work.element_bytes);
      turn.transpose<Packed>(rows, c, cols, to, pitch);
    } else {
      column_fill<Word>{}.columns(rows, c, cols, to, pitch, Packed, ahead);
    }
  }
};

// For the walk of stream/strips-inl.hpp: a block of each row is picked into L1.
struct picked_rows {
  static constexpr std::size_t pairs_apart = 16;  // see waiting_block
  static constexpr bool computes_rows = true;
  static constexpr bool computes_lines = false;
  static constexpr bool computes_pieces = false;
  static constexpr bool computes_blocks = false;
  const step::transpose_args& work;
  const std::byte* src;
  std::byte* dst;

  template <std::size_t Side>
  HWY_NOINLINE void rows(const strip_of_rows<Side>& now, const strip_of_rows<Side>& next, std::int64_t c,
                         std::int64_t cols, std::byte* const* to) const noexcept {
    const std::byte* const* coming = now.row;
    std::int64_t ahead = c + work.prefetch_bytes / work.element_bytes;
    if (ahead >= now.unit.cols) {
      ahead -= now.unit.cols;
      if (next.count != 0) coming = next.row;
      if (next.count == 0 || ahead >= next.unit.cols) ahead = c;
    }
    const std::byte* from[Side];
    for (std::int64_t r = 0; r < now.count; ++r) {
      from[r] = now.row[r] + c * work.src_col_bytes;
      fetch_columns(work, coming[r], ahead, cols);
    }
    move_rows(work.reads, work.read_blocks, from, to, now.count, cols);
  }
  void without_memory(std::int64_t begin, std::int64_t end) const noexcept {
    move_without_buffer(work, src, dst, begin, end);
  }
};

template <class With>
HWY_INLINE void with_word_of(std::int64_t element_bytes, const With& with) {
  switch (element_bytes) {
    case 1:
      return with.template operator()<1>();
    case 2:
      return with.template operator()<2>();
    case 4:
      return with.template operator()<4>();
    case 8:
      return with.template operator()<8>();
    case 16:
      return with.template operator()<16>();
    default:
      return with.template operator()<0>();
  }
}

void step_panels(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const step::panels_args*>(args);
  const bool gaps = work.dst_row_bytes != work.element_bytes;
  with_word_of(work.element_bytes, [&]<std::size_t Word>() {
    move_panels(work, all.src + work.src_begin, all.dst + work.dst_begin, begin, end,
                step_fill<Word>{work, work.dst_row_bytes, gaps ? &work.writes : nullptr, &work.write_blocks});
  });
}
void step_packed(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const step::packed_args*>(args);
  packed_blocking packed;
  static_cast<blocking&>(packed) = work;
  packed.read_order = work.outer;
  packed.ahead_units = work.ahead_units;
  with_word_of(work.element_bytes, [&]<std::size_t Word>() {
    move_packed(packed, all.src + work.src_begin, all.dst + work.dst_begin, begin, end, step_fill<Word>{work});
  });
}
void step_strips(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const step::strips_args*>(args);
  stream::strips_args strips;
  static_cast<blocking&>(strips) = work;
  const std::byte* const src = all.src + work.src_begin;
  std::byte* const dst = all.dst + work.dst_begin;
  with_word_of(work.element_bytes, [&]<std::size_t Word>() {
    if constexpr (Word != 0) {
      move_strips<Word>(strips, src, dst, begin, end, column_fill<Word>{}, picked_rows{work, src, dst});
    }
  });
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/step/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
