// Arithmetic for the walk of strips-inl.hpp, in one of three places. converted-inl.hpp is a fourth one:
//
//   rows    there is no second array: a block of src is computed into L1, row by row, and transposed from there
//   lines   the arithmetic is a product or a change of sign: transposed lines are computed in registers. Blocks whose lines
//           are not in registers are computed as `rows`
//   pieces  the second array has the strides of dst: transposed pieces are summed with it before they are written
#if defined(CORNERTURN_STRIPS_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_STRIPS_MATH_INL
#undef CORNERTURN_STRIPS_MATH_INL
#else
#define CORNERTURN_STRIPS_MATH_INL
#endif

#include <array>

#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/walk.hpp"
#include "kernels/cpu/stream/strips-inl.hpp"
#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// The arguments for the walk of strips-inl.hpp, which expects one size of words: here words are bytes.
HWY_INLINE stream::strips_args in_bytes(const apply::strips_args& work) noexcept {
  stream::strips_args made;
  static_cast<blocking&>(made) = work;
  made.lines = work.lines;
  for (fused_axes* one : {&made.rows, &made.cols, &made.outer}) {
    for (int k = 0; k < one->rank; ++k) {
      one->axes[static_cast<std::size_t>(k)].src_stride *= work.word_bytes;
      one->axes[static_cast<std::size_t>(k)].dst_stride *= work.dst_word_bytes;
    }
  }
  made.word_bytes = 1;
  made.element_bytes = work.dst_word_bytes;
  return made;
}

class strip_math {
 public:
  static constexpr std::size_t pairs_apart = 16;  // see waiting_block
  strip_math(const apply::args& work, const arrays& all) noexcept : work_(work), all_(all), run_(run_of(work.math)) {}

  void without_memory(std::int64_t begin, std::int64_t end) const noexcept {
    apply_one_by_one(work_, all_, begin, end);
  }

 protected:
  const apply::args& work_;
  const arrays& all_;
  run_function run_;
};

// Prefetches `distance` bytes ahead in the rows of a strip. Beyond their end it continues in the next strip.
struct coming_rows {
  template <std::size_t Side>
  HWY_INLINE coming_rows(const strip_of_rows<Side>& now, const strip_of_rows<Side>& next, std::int64_t offset,
                         std::int64_t distance) noexcept
      : row(now.row), at(offset + distance) {
    if (at < now.row_bytes) return;
    at -= now.row_bytes;
    if (next.count != 0) row = next.row;
    if (next.count == 0 || at >= next.row_bytes) at = offset;
  }
  HWY_INLINE void fetch(std::int64_t r, std::int64_t bytes) const noexcept {
    for (std::int64_t b = 0; b < bytes; b += line_bytes) __builtin_prefetch(row[r] + at + b, 0, 3);
  }

  const std::byte* const* row;
  std::int64_t at;
};

struct rows_math : strip_math {
  static constexpr bool computes_rows = true;
  static constexpr bool computes_lines = false;
  static constexpr bool computes_pieces = false;
  static constexpr bool computes_blocks = false;
  using strip_math::strip_math;

  // Effect  computes columns [c, c + cols) of the strip into the rows at `to`. Prefetches a share of later data with each
  //         four rows
  template <std::size_t Side>
  HWY_NOINLINE void rows(const strip_of_rows<Side>& now, const strip_of_rows<Side>& next, std::int64_t c,
                         std::int64_t cols, std::byte* const* to) const noexcept {
    constexpr std::int64_t at_once = 4;
    const std::int64_t offset = c * work_.word_bytes;
    const std::int64_t bytes = cols * work_.word_bytes;
    const coming_rows coming(now, next, offset, work_.prefetch_bytes);
    for (std::int64_t r = 0; r < now.count; r += at_once) {
      const std::byte* from[at_once];
      const std::int64_t some = HWY_MIN(at_once, now.count - r);
      for (std::int64_t k = 0; k < some; ++k) {
        from[k] = now.row[r + k] + offset;
        coming.fetch(r + k, bytes);
      }
      run_(work_.math, some, from, nullptr, to + r, cols, all_.scale);
    }
  }
};

// With Product, numbers are multiplied by `factors`, and a NaN gets all bits except the sign. Without it, each number is
// negated whose factor is negative.
template <class Part, bool Product>
struct lines_math : rows_math {
  static constexpr bool computes_lines = true;

  lines_math(const apply::args& work, const arrays& all) noexcept : rows_math(work, all) {
    for (std::size_t k = 0; k < factors.size(); ++k) {
      const auto factor = static_cast<Part>(work.math.alpha_re);
      factors[k] = work.math.conj && k % 2 == 1 ? -factor : factor;
    }
  }

  template <class D>
  HWY_INLINE hn::VFromD<D> line(D d, hn::VFromD<D> words) const {
    const hn::Repartition<Part, D> parts;
    const auto factor = hn::Load(parts, factors.data());
    const auto number = hn::BitCast(parts, words);
    if constexpr (!Product) return hn::BitCast(d, hn::Xor(number, hn::And(factor, hn::SignBit(parts))));
    const auto nan = hn::Set(parts, narrow<Part>(std::numeric_limits<Part>::quiet_NaN(), false));
    const auto product = hn::Mul(number, factor);
    return hn::BitCast(d, hn::IfThenElse(hn::IsNaN(product), nan, product));
  }

 private:
  alignas(64) std::array<Part, 64 / sizeof(Part)> factors;
};

// Prefetches the pieces of the second array, one piece of each column. It takes two lines of each of eight pieces in turn,
// because one piece after another stalls at each begin. A struct and not a lambda: see ahead_of_rows.
template <bool Write>
class piece_prefetcher {
 public:
  HWY_INLINE piece_prefetcher(std::byte* const* to, std::int64_t cols, std::int64_t apart, std::int64_t bytes) noexcept
      : to_(to), cols_(cols), apart_(apart), bytes_(bytes) {}
  // Prefetches as many bytes as the caller sums next.
  HWY_INLINE void fetch(std::int64_t bytes) noexcept {
    for (; bytes > 0 && cols_ > 0; bytes -= at_once) step();
  }

  static constexpr std::int64_t together = 8;

 private:
  static constexpr std::int64_t at_once = 2 * line_bytes;
  HWY_INLINE void step() noexcept {
    const std::byte* const from = to_[col_] + apart_ + done_;
    __builtin_prefetch(from, Write ? 1 : 0, 3);
    __builtin_prefetch(from + line_bytes, Write ? 1 : 0, 3);
    const std::int64_t some = HWY_MIN(together, cols_);
    if (++col_ < some) return;
    col_ = 0;
    if ((done_ += at_once) < bytes_) return;
    done_ = 0;
    to_ += some;
    cols_ -= some;
  }

  std::byte* const* to_;
  std::int64_t cols_;  // columns that are left
  std::int64_t apart_;
  std::int64_t bytes_;
  std::int64_t col_ = 0;
  std::int64_t done_ = 0;  // bytes of each of the eight columns that are prefetched
};

struct pieces_math : strip_math {
  static constexpr bool computes_rows = false;
  static constexpr bool computes_lines = false;
  static constexpr bool computes_pieces = true;
  static constexpr bool computes_blocks = false;
  using strip_math::strip_math;

  // Effect  sums `cols` windows with the second array and writes them to `piece` of each run in `to`. Window c begins at
  //         front + c * pitch; its data begins `behind` bytes later
  void pieces(std::byte* front, std::int64_t behind, std::int64_t pitch, std::byte* const* to, std::int64_t cols,
              piece_of_run piece) const noexcept {
    if (work_.streaming) return sum<true>(front, behind, pitch, to, cols, piece);
    sum<false>(front, behind, pitch, to, cols, piece);
  }

 private:
  template <bool Streaming>
  HWY_NOINLINE void sum(std::byte* front, std::int64_t behind, std::int64_t pitch, std::byte* const* to,
                        std::int64_t cols, piece_of_run piece) const noexcept {
    alignas(64) std::byte sums[line_bytes + summed_piece_bytes];
    const std::int64_t apart = all_.second - all_.dst + piece.from;
    using prefetcher = piece_prefetcher<!Streaming>;
    prefetcher ahead(to, cols, apart, piece.bytes);
    ahead.fetch(prefetcher::together * piece.bytes);
    for (std::int64_t c = 0; c < cols; ++c, front += pitch) {
      ahead.fetch(piece.bytes);
      const std::byte* const src = front + behind;
      const std::byte* const other = to[c] + apart;
      std::byte* const run = to[c] + piece.from;
      std::byte* const into = Streaming ? sums + line_bytes : run;
      run_(work_.math, 1, &src, &other, &into, piece.bytes / work_.dst_word_bytes, all_.scale);
      if (Streaming) stream_piece(into, run, piece.bytes, front, piece.from == 0, piece.last);
    }
  }
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
