// The family apply: arithmetic or a conversion while elements are permuted. run_of returns a function that computes
// contiguous elements in L1 (elementwise.cpp). Six walks load and store the elements:
//
//   runs      all arrays are contiguous: computed into a buffer, then written in whole lines
//   tile      rows are contiguous in dst, columns in src, as in policy/panels-inl.hpp:
//               1. 16 rows at a time are transposed into the buffer, whose rows are pieces of dst runs
//               2. the piece is computed with the second array, which has the order of dst
//               3. the piece is written to dst, and to the second destination if there is one
//   tile_src  the second array has the order of src, or elements become smaller: two lines of each of 16 rows are computed,
//             and written to the second destination, before they are transposed
//   strips    the walk of stream/strips-inl.hpp, with arithmetic: strips_math-inl.hpp
//   gather    any strides: boxes-inl.hpp
//   tables    any strides and short axes: tables-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/apply/apply.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <algorithm>
#include <array>

#include "kernels/cpu/apply/args.hpp"
#include "kernels/cpu/apply/boxes-inl.hpp"
#include "kernels/cpu/apply/converted-inl.hpp"
#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/scaled-inl.hpp"
#include "kernels/cpu/apply/strips_math-inl.hpp"
#include "kernels/cpu/apply/tables-inl.hpp"
#include "kernels/cpu/apply/walk.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Transposes words [c, c + cols) of each row of a strip into `cols` runs at `to`, `pitch` bytes apart. If Part is a type of
// float, it multiplies them by alpha.
template <std::size_t Word, class Part = void>
void turn(const strip& rows, std::int64_t c, std::int64_t cols, const read_ahead& ahead, std::byte* to,
          std::int64_t pitch, double alpha) {
  if constexpr (std::is_void_v<Part>) {
    column_fill<Word>{}.columns(rows, c, cols, to, pitch, false, ahead);
  } else {
    const column_fill<Word, scaled_blocks<Word, Part>, scaled_by<Part>> fill{nullptr, {static_cast<Part>(alpha)}};
    fill.columns(rows, c, cols, to, pitch, false, ahead);
  }
}

using turn_function = void (*)(const strip& rows, std::int64_t c, std::int64_t cols, const read_ahead& ahead,
                               std::byte* to, std::int64_t pitch, double alpha);
HWY_INLINE turn_function turn_of(std::int64_t word) {
  return word == 1 ? &turn<1> : word == 2 ? &turn<2> : word == 4 ? &turn<4> : word == 8 ? &turn<8> : &turn<16>;
}

// Null, unless the arithmetic is only a product by a real number.
HWY_INLINE turn_function scaled_turn_of(const op& math) {
  if (math.terms != terms::alpha || math.complex_scalars || math.conj || math.src != math.dst) return nullptr;
  if (math.src == element_type::float32) return &turn<4, float>;
  if (math.src == element_type::float64) return &turn<8, double>;
  if (math.src == element_type::complex64) return &turn<8, float>;
  if (math.src == element_type::complex128) return &turn<16, double>;
  return nullptr;
}

HWY_INLINE void write_piece(std::byte* data, std::byte* to, std::int64_t bytes, std::byte* carry, bool streaming,
                            bool first, bool last) {
  if (streaming) {
    stream_piece(data, to, bytes, carry, first, last);
  } else {
    store_piece(data, to, bytes);
  }
}

// The state of one call of the tile walk, in the thread's buffer.
template <bool AlongSrc>
class tile {
 public:
  tile(const apply::args& work, const arrays& all) noexcept
      : work_(work),
        all_(all),
        run_(run_of(work.math)),
        src_bytes_(work.word_bytes),
        dst_bytes_(work.dst_word_bytes),
        turned_(AlongSrc ? dst_bytes_ : src_bytes_),
        turn_(AlongSrc || scaled_turn_of(work.math) == nullptr ? turn_of(turned_) : scaled_turn_of(work.math)),
        turned_last_(AlongSrc || scaled_turn_of(work.math) != nullptr),
        block_(work.panel * turned_ <= short_row_bytes ? work.panel : (AlongSrc ? 2 : 1) * line_bytes / turned_),
        pitch_(lines_of(line_bytes + work.group * turned_ + slack_bytes) + line_bytes),
        out_pitch_(lines_of(work.group * dst_bytes_ + slack_bytes) + line_bytes),
        kept_pitch_(AlongSrc ? lines_of(block_ * dst_bytes_) + line_bytes : 0),
        two_(work.math.second == second_array::destination),
        direct_(turned_last_ && !AlongSrc && !work.streaming && !two_ && work.cols.rank == 1) {
    const std::int64_t turned = (block_ + 16) * pitch_;
    const std::int64_t out = block_ * out_pitch_;
    const std::int64_t carries = (two_ && !AlongSrc ? 2 : 1) * work.panel * line_bytes;
    const std::int64_t places = 2 * (work.panel + block_) * pointer;
    const std::int64_t rows = 3 * (work.group + strip_rows) * pointer;
    const std::int64_t kept = strip_rows * kept_pitch_;
    std::byte* const memory = scratch(turned + out + carries + places + rows + kept + line_bytes);
    if (memory == nullptr) return;
    buffer_ = memory + line_bytes;
    carry_ = memory + turned + out;
    kept_ = carry_ + carries;
    place_ = reinterpret_cast<std::byte**>(kept_ + kept + line_bytes);
    second_place_ = place_ + work.panel;
    out_ = second_place_ + work.panel;
    from_ = const_cast<const std::byte**>(out_ + block_);
    second_row_ = const_cast<std::byte**>(from_ + block_);
    pointers_ = reinterpret_cast<std::byte*>(second_row_ + work.group + strip_rows);
    for (std::int64_t k = 0; k < block_; ++k) {
      out_[k] = memory + turned + line_bytes + k * out_pitch_;
      from_[k] = buffer_ + k * pitch_;
    }
  }

  [[nodiscard]] bool has_memory() const noexcept { return buffer_ != nullptr; }

  void unit(const unit_place& here, const apply_walk& outer) noexcept {
    apply_walk col(work_.cols, work_, here.col, true);
    std::byte* const dst = all_.dst + outer.dst() + here.row * dst_bytes_;
    const std::int64_t second = outer.second() + (AlongSrc ? here.col : here.row) * second_step();
    for (std::int64_t c = 0; c < here.cols; ++c, col.next()) {
      place_[c] = dst + col.dst();
      second_place_[c] = second_base() + second + col.second();
    }
    const std::byte* const src = all_.src + outer.src() + here.col * src_bytes_;
    group_rows rows(work_, src, here.row, here.rows, pointers_);
    apply_walk second_row(work_.rows, work_, here.row, true);
    const std::int64_t end = here.cols * src_bytes_;
    bool first = true;
    while (const std::int64_t group = rows.advance()) {
      for (std::int64_t r = 0; AlongSrc && r < group; ++r, second_row.next()) {
        second_row_[r] = second_base() + second + second_row.second();
      }
      for (std::int64_t c = 0; c < here.cols; c += block_) {
        const std::int64_t some = HWY_MIN(block_, here.cols - c);
        for (std::int64_t r = 0; r < group; r += strip_rows) {
          std::byte* const to = buffer_ + r * turned_;
          if (AlongSrc) {
            const strip kept = computed(rows.at(r), second_row_ + r, c, some, end);
            turn_(kept, 0, some, {kept, 0, 0}, to, pitch_, 1);
          } else if (const strip those = rows.at(r); !direct_) {
            turn_(those, c, some, {those, work_.prefetch_bytes, end}, to, pitch_, work_.math.alpha_re);
          } else {
            turn_to_dst(those, r, c, some);
          }
        }
        if (!turned_last_) compute_pieces(c, some, group, here.cols);
        for (std::int64_t k = 0; k < some; ++k) write(c + k, k, group, first, rows.last());
      }
      first = false;
    }
  }

 private:
  static constexpr auto pointer = static_cast<std::int64_t>(sizeof(std::byte*));
  static constexpr std::int64_t lines_of(std::int64_t bytes) noexcept {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }

  static HWY_INLINE void fetch(const std::byte* from, std::int64_t bytes) {
    for (std::int64_t b = 0; b < bytes; b += line_bytes) __builtin_prefetch(from + b, 0, 2);
    __builtin_prefetch(from + bytes - 1, 0, 2);
  }

  // A second array is either read or written, so one pointer serves both.
  [[nodiscard]] std::byte* second_base() const noexcept {
    return two_ ? all_.second_dst : const_cast<std::byte*>(all_.second);
  }
  // Bytes of the second array from one element to the next along the computed runs; 0 without a second array.
  [[nodiscard]] std::int64_t second_step() const noexcept { return two_ || work_.math.reads_second() ? dst_bytes_ : 0; }

  // tile_src: computes columns [c, c + some) of a strip into kept_ and into the second destination, before the transpose.
  HWY_INLINE strip computed(const strip& those, std::byte* const* second_row, std::int64_t c, std::int64_t some,
                            std::int64_t end) noexcept {
    std::array<const std::byte*, strip_rows> from;
    std::array<std::byte*, strip_rows> other;
    const std::int64_t wide = some * src_bytes_;
    for (int k = 0; k < those.count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      from[at] = those.row[k] + c * src_bytes_;
      other[at] = second_row[k] + c * second_step();
      kept_row_[at] = kept_ + k * kept_pitch_;
      const bool goes_on = c * src_bytes_ + 2 * wide <= end;
      const std::byte* const coming = goes_on ? from[at] + wide : those.next != nullptr ? those.next[k] : from[at];
      if (work_.prefetch_bytes == 0) continue;
      fetch(coming, wide);
      if (work_.math.reads_second()) fetch(other[at] + some * dst_bytes_, some * dst_bytes_);
    }
    run_(work_.math, those.count, from.data(), other.data(), kept_row_.data(), some, all_.scale);
    const std::int64_t bytes = some * dst_bytes_;
    for (std::size_t k = 0; two_ && k < static_cast<std::size_t>(those.count); ++k) {
      // Partial lines use ordinary stores: a line that two pieces share stays in the cache until both are stored.
      const bool whole_lines =
          (reinterpret_cast<std::uintptr_t>(other[k]) | static_cast<std::uintptr_t>(bytes)) % line_bytes == 0;
      write_piece(kept_row_[k], other[k], bytes, nullptr, work_.streaming && whole_lines, true, true);
    }
    const auto count = static_cast<std::size_t>(those.count);
    for (std::size_t k = count; k < strip_rows; ++k) kept_row_[k] = kept_row_[count - 1];
    return {kept_row_.data(), nullptr, 0, those.count};
  }

  // Transposes a strip straight to dst. A register block may store too many rows and columns, so partial blocks go through
  // the buffer.
  HWY_INLINE void turn_to_dst(const strip& those, std::int64_t r, std::int64_t c, std::int64_t some) noexcept {
    const read_ahead none{those, 0, 0};
    const std::int64_t row = r * dst_bytes_;
    if (those.count == strip_rows && some >= 4) {
      const std::int64_t pitch = work_.cols.axes[0].dst_stride * dst_bytes_;
      return turn_(those, c, some, none, place_[c] + row, pitch, work_.math.alpha_re);
    }
    turn_(those, c, some, none, buffer_, pitch_, work_.math.alpha_re);
    for (std::int64_t k = 0; k < some; ++k)
      store_piece(buffer_ + k * pitch_, place_[c + k] + row, those.count * dst_bytes_);
  }

  // tile, step 2: computes the transposed pieces, and prefetches the second array for the next block of columns.
  HWY_INLINE void compute_pieces(std::int64_t c, std::int64_t some, std::int64_t group, std::int64_t cols) noexcept {
    for (std::int64_t k = c + block_; fetches_second() && k < HWY_MIN(c + 2 * block_, cols); ++k) {
      fetch(second_place_[k], group * dst_bytes_);
    }
    run_(work_.math, some, from_, second_place_ + c, computes_in_place() ? place_ + c : out_, group, all_.scale);
  }
  [[nodiscard]] bool fetches_second() const noexcept { return work_.prefetch_bytes > 0 && work_.math.reads_second(); }
  [[nodiscard]] bool computes_in_place() const noexcept { return !turned_last_ && !work_.streaming && !two_; }

  // tile, step 3: writes the piece of one column.
  HWY_INLINE void write(std::int64_t c, std::int64_t k, std::int64_t group, bool first, bool last) noexcept {
    const std::int64_t bytes = group * dst_bytes_;
    std::byte* const data = turned_last_ ? buffer_ + k * pitch_ : out_[k];
    if (!AlongSrc) {
      if (two_) {
        write_piece(data, second_place_[c], bytes, carry_ + (work_.panel + c) * line_bytes, work_.streaming, first,
                    last);
      }
      second_place_[c] += group * second_step();
    }
    if (!direct_ && !computes_in_place()) {
      write_piece(data, place_[c], bytes, carry_ + c * line_bytes, work_.streaming, first, last);
    }
    place_[c] += bytes;
  }

  const apply::args& work_;
  const arrays& all_;
  run_function run_;
  std::int64_t src_bytes_;
  std::int64_t dst_bytes_;
  std::int64_t turned_;  // bytes of the words that are transposed
  turn_function turn_;
  bool turned_last_;         // words are computed before or during the transpose, not after it
  std::int64_t block_;       // columns at a time
  std::int64_t pitch_;       // bytes from one row of the transposed block to the next
  std::int64_t out_pitch_;   // bytes from one computed piece to the next
  std::int64_t kept_pitch_;  // bytes from one computed row to the next
  bool two_;                 // there is a second destination
  bool direct_;              // register blocks are stored straight to dst
  std::byte* buffer_ = nullptr;
  std::byte** out_ = nullptr;         // the computed pieces
  const std::byte** from_ = nullptr;  // their transposed words
  std::byte* carry_ = nullptr;
  std::byte* kept_ = nullptr;
  std::byte** place_ = nullptr;
  std::byte** second_place_ = nullptr;
  std::byte* pointers_ = nullptr;
  std::byte** second_row_ = nullptr;
  std::array<std::byte*, strip_rows> kept_row_{};
};

template <std::size_t Word>
void strips_of(const apply::strips_args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  const stream::strips_args bytes = in_bytes(work);
  const auto by = [&](const auto& math) {
    move_strips<Word>(bytes, all.src, all.dst, begin, end, column_fill<Word>{}, math);
  };
  const op& how = work.math;
  if (how.second != second_array::none) return by(pieces_math(work, all));
  if constexpr (lines_in_registers && (Word == 4 || Word == 8)) {
    const bool product = how.terms == terms::alpha && !how.complex_scalars && how.src == how.dst;
    if constexpr (Word == 4) {
      if (product && how.src == element_type::float32) return by(lines_math<float, true>(work, all));
    } else {
      if (product && how.src == element_type::float64) return by(lines_math<double, true>(work, all));
      if (product && how.src == element_type::complex64) return by(lines_math<float, true>(work, all));
      if (how.src == element_type::complex64 && how.terms == terms::value)
        return by(lines_math<float, false>(work, all));
    }
  }
#if HWY_TARGET <= HWY_AVX3
  using enum element_type;
  const auto converts = [&](element_type src, element_type dst) {
    return how.terms == terms::value && how.src == src && how.dst == dst;
  };
  const auto turned = [&](const auto& convert) { by(blocks_math(work, all, convert)); };
  // Rows that are a multiple of 2 KiB apart are copied side by side before they are transposed. Elements that become smaller
  // are converted before that copy: 4096 x 4096 float32 to bfloat16 reaches 0.53 of the copy, and 0.46 when it is
  // transposed first (SPR, 2026-11-22).
  const bool apart = work.rows.axes[0].src_stride * work.word_bytes % 2048 == 0;
  if constexpr (Word == 1) {
    using to_e4m3 = bfloat16_to_float8<kernels::float8_e4m3>;
    using to_e5m2 = bfloat16_to_float8<kernels::float8_e5m2>;
    if (converts(bfloat16, float8_e4m3) && to_e4m3::serves(all.scale)) return turned(to_e4m3(all.scale, how.saturate));
    if (converts(bfloat16, float8_e5m2) && to_e5m2::serves(all.scale)) return turned(to_e5m2(all.scale, how.saturate));
    if (!apart && converts(float32, float8_e4m3))
      return turned(to_float8<kernels::float8_e4m3>{how.saturate, all.scale});
    if (!apart && converts(float32, float8_e5m2))
      return turned(to_float8<kernels::float8_e5m2>{how.saturate, all.scale});
    if (!apart && converts(int32, int8)) return turned(to_int8{how.saturate});
  }
  if constexpr (Word == 2) {
    if (!apart && converts(float32, float16)) return turned(to_float16{how.saturate});
    if (!apart && converts(float32, bfloat16)) return turned(to_bfloat16{how.saturate});
  }
  if constexpr (Word == 4) {
    if (converts(float16, float32)) return turned(from_float16{});
    if (converts(bfloat16, float32)) return turned(from_bfloat16{});
    if (!apart && converts(float64, float32)) return turned(to_float32{how.saturate});
    if (converts(uint8, int32)) return turned(from_byte<false>{});
    if (converts(int8, int32)) return turned(from_byte<true>{});
  }
  if constexpr (Word == 8) {
    if (converts(float32, float64)) return turned(from_float32{});
  }
#endif
  by(rows_math(work, all));
}

void apply_strips(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const apply::strips_args*>(args);
  const std::int64_t word = work.dst_word_bytes;
  const auto strips = word == 1   ? &strips_of<1>
                      : word == 2 ? &strips_of<2>
                      : word == 4 ? &strips_of<4>
                      : word == 8 ? &strips_of<8>
                                  : &strips_of<16>;
  strips(work, all, begin, end);
}

template <bool AlongSrc>
void tiles(const apply::args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  tile<AlongSrc> mine(work, all);
  if (!mine.has_memory()) return apply_one_by_one(work, all, begin, end);
  walk_units(work, begin, end, mine);
  finish_streaming();
}

void apply_tile(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tiles<false>(*static_cast<const apply::args*>(args), all, begin, end);
}
void apply_tile_src(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tiles<true>(*static_cast<const apply::args*>(args), all, begin, end);
}

void apply_runs(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const apply::args*>(args);
  constexpr std::int64_t most = 2048;  // as packed_buffer: loads and stores overlap only when they alternate often
  alignas(64) std::byte memory[most];
  std::byte* const out = memory;
  const run_function run = run_of(work.math);
  const std::int64_t src_bytes = work.word_bytes;
  const std::int64_t dst_bytes = work.dst_word_bytes;
  const std::int64_t at_once = most / HWY_MAX(src_bytes, dst_bytes);
  const bool two = work.math.second == second_array::destination;
  const std::int64_t per_outer = work.row_chunks();
  run_writer writer;
  run_writer second_writer;
  const auto put = [&](run_writer& by, std::byte* to, std::int64_t bytes) {
    if (work.streaming) return by.write(out, to, bytes);
    store_piece(out, to, bytes);
  };
  apply_walk outer(work.outer, work, begin / per_outer, false);
  std::int64_t inner = begin % per_outer;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t row = inner * work.row_chunk;
    const std::int64_t stop = HWY_MIN(row + work.row_chunk, work.rows.total);
    for (std::int64_t r = row; r < stop; r += at_once) {
      const std::int64_t n = HWY_MIN(at_once, stop - r);
      const std::int64_t second = outer.second() + r * dst_bytes;
      const std::byte* const from = all.src + outer.src() + r * src_bytes;
      const std::byte* const other = work.math.reads_second() ? all.second + second : nullptr;
      std::byte* const to = all.dst + outer.dst() + r * dst_bytes;
      if (!work.streaming && !two) {
        run(work.math, 1, &from, &other, &to, n, all.scale);
        continue;
      }
      run(work.math, 1, &from, &other, &out, n, all.scale);
      put(writer, to, n * dst_bytes);
      if (two) put(second_writer, all.second_dst + second, n * dst_bytes);
    }
    if (++inner == per_outer) {
      inner = 0;
      outer.next();
    }
  }
  writer.finish();
  second_writer.finish();
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/apply/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
