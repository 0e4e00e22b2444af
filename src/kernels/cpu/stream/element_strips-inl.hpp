// A walk of large matrices of elements of 3, 6, 12, 24 and 32 bytes, in registers of 64 bytes (AVX-512).
//
//   1. lines are prefetched one by one, each with the load of a row. In groups of 8 or more, which the core cannot hold, they make
//      32 columns of 32 bytes take 0.60 of a copy's speed instead of 0.76 (Zen 4, 2026-11-25)
//   2. a piece is `side` elements of one column, 48 or 64 bytes, in a register. side x side elements are loaded from the same
//      number of rows. log2(side) perfect shuffles (block-inl.hpp) of whole elements make one piece of each column
//   3. a window is four pieces of one column: three or four lines. Each line is selected from two pieces. The lines are
//      stored from registers: nothing goes through a buffer
//   4. a strip is at most 16 rows, because hardware prefetchers do not follow more. It has one piece of elements of 3 bytes,
//      and two of elements of 6 bytes. These pieces wait in L2 for the last strip of their window
#if defined(CORNERTURN_ELEMENT_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENT_STRIPS_INL
#undef CORNERTURN_ELEMENT_STRIPS_INL
#else
#define CORNERTURN_ELEMENT_STRIPS_INL
#endif

#include <array>
#include <type_traits>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/stream/strip_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

// Selects bytes of a and b: byte k of the result is byte index[k] of both. The instruction is of AVX-512 VBMI, which is not
// part of any target of this build: selects_bytes() of dispatch.hpp tells whether the machine has it.
HWY_INLINE __m512i select_bytes_of(__m512i a, __m512i index, __m512i b) {
  asm("vpermt2b %2, %1, %0" : "+v"(a) : "v"(index), "v"(b));
  return a;
}

alignas(64) inline constexpr std::array<std::uint8_t, 128> byte_numbers = [] {
  std::array<std::uint8_t, 128> all{};
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::uint8_t>(k);
  return all;
}();

// splicer (strip_blocks-inl.hpp) for any offset, in one instruction.
class byte_splicer {
 public:
  explicit HWY_INLINE byte_splicer(std::int64_t a) noexcept
      : index_(_mm512_loadu_si512(byte_numbers.data() + 64 - a)) {}
  HWY_INLINE __m512i operator()(__m512i before, __m512i after) const noexcept {
    return select_bytes_of(before, index_, after);
  }

 private:
  __m512i index_;
};

// Rows of a few columns that are contiguous in src one after another: several are loaded as one, and its elements are brought
// in the order of columns. So these rows of one column become one wide element.
class row_fold {
 public:
  std::int64_t rows;  // 1: they are not

  // Shape   rows * cols * element_bytes <= 64. Bytes need selects_bytes()
  row_fold(std::int64_t of, std::int64_t cols, std::int64_t element_bytes) noexcept
      : rows(of), bytes_(element_bytes % 2 != 0) {
    const std::int64_t unit = bytes_ ? 1 : 2;
    const std::int64_t words = element_bytes / unit;
    for (std::int64_t k = 0; rows > 1 && k < rows * cols * words; ++k) {
      const std::int64_t element = k / words % rows * cols + k / words / rows;
      const std::int64_t from = element * words + k % words;
      const auto at = static_cast<std::size_t>(k * unit);
      order_[at] = static_cast<std::uint8_t>(from);
    }
  }

  template <std::size_t N>
  HWY_INLINE void split(__m512i (&v)[N]) const {
    const __m512i order = _mm512_load_si512(order_.data());
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < N; ++k) {
      v[k] = bytes_ ? select_bytes_of(v[k], order, v[k]) : _mm512_permutexvar_epi16(order, v[k]);
    }
  }

 private:
  alignas(64) std::array<std::uint8_t, 64> order_{};
  bool bytes_;
};

// How a window is stored.
enum class element_stores {
  cached,    // with ordinary stores at any address
  at_lines,  // every run begins at a line
  by_words,  // runs begin at a multiple of the word of an element
  by_bytes
};

// The rows of a block, from byte `offset` on, and the lines that are prefetched, one with each row that is loaded.
struct element_rows {
  const std::byte* const* row;
  std::int64_t offset;
  const std::byte* const* far;
  std::int64_t ahead;
};

// The selections of elements of Bytes bytes.
template <std::size_t Bytes>
struct element_block {
  static constexpr std::size_t side = element_block_side(Bytes);
  static constexpr std::size_t piece_bytes = side * Bytes;
  static constexpr std::size_t lines = element_window_pieces * piece_bytes / 64;
  static constexpr std::size_t rows = element_strip_rows(Bytes);
  static constexpr std::size_t held = rows / side;                          // pieces of a strip
  static constexpr std::size_t strips = element_window_pieces / held;       // of a window
  static constexpr std::size_t word = Bytes % 8 == 0 ? 8 : Bytes & -Bytes;  // the largest that divides an element
  static constexpr std::size_t park_bytes = held * side * 64;               // a strip that waits
  static_assert(lines * 64 == element_window_pieces * piece_bytes && held * strips == element_window_pieces);

  template <element_stores Stores>
  using splices =
      std::conditional_t<Bytes % 2 != 0, byte_splicer, splicer<Stores == element_stores::by_words ? word : 1>>;

  static HWY_INLINE __m512i select(__m512i a, __m512i index, __m512i b) {
    if constexpr (word == 1) return select_bytes_of(a, index, b);
    if constexpr (word == 2) return _mm512_permutex2var_epi16(a, index, b);
    if constexpr (word == 4) return _mm512_permutex2var_epi32(a, index, b);
    return _mm512_permutex2var_epi64(a, index, b);
  }

  // Transposes side x side elements of the rows from `first` on. It loads 64 bytes of each.
  static HWY_INLINE void turn(const element_rows& from, std::size_t first, const row_fold& fold, __m512i (&v)[side]) {
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) {
      __builtin_prefetch(from.far[first + k] + from.ahead, 0, 3);
      v[k] = _mm512_loadu_si512(from.row[first + k] + from.offset);
    }
    if (side <= 8 && fold.rows > 1) fold.split(v);
    shuffle<log2_of(side)>(v, _mm512_load_si512(lower_half.data()), _mm512_load_si512(upper_half.data()));
  }

  // Makes lines of the pieces of a window. Its selections stay in registers.
  class joiner {
   public:
    HWY_INLINE joiner() noexcept {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) from_[k] = _mm512_load_si512(joins[k].data());
    }
    HWY_INLINE void operator()(const __m512i (&piece)[element_window_pieces], __m512i (&line)[lines]) const noexcept {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) {
        if constexpr (piece_bytes == 64) {
          line[k] = piece[k];
        } else {
          line[k] = select(piece[first_piece(k)], from_[k], piece[first_piece(k) + 1]);
        }
      }
    }

   private:
    __m512i from_[lines];
  };

 private:
  // `Rounds` perfect shuffles, as shuffle_times() of block-inl.hpp.
  template <std::size_t Rounds>
  static HWY_INLINE void shuffle(__m512i (&v)[side], __m512i lower, __m512i upper) {
    __m512i t[side];
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < side / 2; ++k) {
      t[2 * k] = select(v[k], lower, v[k + side / 2]);
      t[2 * k + 1] = select(v[k], upper, v[k + side / 2]);
    }
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) v[k] = t[k];
    if constexpr (Rounds > 1) shuffle<Rounds - 1>(v, lower, upper);
  }

  using lane = typename word_of<word>::type;
  static constexpr std::size_t lanes = 64 / word;
  using selection = std::array<lane, lanes>;

  // The elements of one half of two registers, in turn.
  static constexpr selection half(std::size_t first) {
    selection all{};
    constexpr std::size_t words = Bytes / word;
    for (std::size_t k = 0; k < side * words; ++k) {
      const std::size_t element = k / words;
      all[k] = static_cast<lane>(element % 2 * lanes + (first + element / 2) * words + k % words);
    }
    return all;
  }
  static constexpr std::size_t first_piece(std::size_t line) { return line * 64 / piece_bytes; }
  static constexpr selection join_of(std::size_t line) {
    selection all{};
    for (std::size_t k = 0; k < lanes; ++k) {
      const std::size_t at = line * 64 - first_piece(line) * piece_bytes + k * word;
      all[k] = static_cast<lane>((at < piece_bytes ? at : at - piece_bytes + 64) / word);
    }
    return all;
  }
  alignas(64) static constexpr selection lower_half = half(0);
  alignas(64) static constexpr selection upper_half = half(side / 2);
  alignas(64) static constexpr std::array<selection, 4> joins = {join_of(0), join_of(1), join_of(2), join_of(3)};
};

// The columns of a block, and their runs.
struct element_columns {
  std::int64_t count;      // at most `side` are stored
  std::byte* const* run;   // dst addresses
  std::int64_t from;       // offset of the window in the runs
  std::byte* kept;         // a line of each column: the last one that was stored
  const std::byte* parks;  // the strips of the window that wait
  bool first;              // the window is the first one of the runs
};

template <std::size_t Bytes>
HWY_NOINLINE void park_elements(const element_rows& from, const row_fold& fold, std::byte* to) {
  using block = element_block<Bytes>;
  for (std::size_t k = 0; k < block::held; ++k) {
    __m512i v[block::side];
    block::turn(from, k * block::side, fold, v);
    HWY_UNROLL(16)
    for (std::size_t c = 0; c < block::side; ++c, to += 64) _mm512_store_si512(to, v[c]);
  }
}

// Takes the last strip of a window, which has all its rows, and stores the window.
template <std::size_t Bytes, element_stores Stores>
HWY_NOINLINE void close_elements(const element_rows& from, const row_fold& fold, const element_columns& given) {
  const element_columns cols = given;  // in registers along the stores
  using block = element_block<Bytes>;
  constexpr std::size_t side = block::side;
  constexpr std::size_t lines = block::lines;
  constexpr std::size_t parked = element_window_pieces - block::held;
  __m512i v[block::held][side];
  HWY_UNROLL(4)
  for (std::size_t k = 0; k < block::held; ++k) block::turn(from, k * side, fold, v[k]);
  const typename block::joiner join;
  HWY_UNROLL(16)
  for (std::size_t c = 0; c < side; ++c) {
    if (HWY_UNLIKELY(static_cast<std::int64_t>(c) == cols.count)) return;
    __m512i piece[element_window_pieces];
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < element_window_pieces; ++k) {
      piece[k] = k < parked ? _mm512_load_si512(cols.parks + (k * side + c) * 64) : v[k - HWY_MIN(k, parked)][c];
    }
    __m512i line[lines];
    join(piece, line);
    std::byte* to = cols.run[c] + cols.from;
    if constexpr (Stores == element_stores::cached) {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) _mm512_storeu_si512(to + 64 * k, line[k]);
    } else if constexpr (Stores == element_stores::at_lines) {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) stream_register(line[k], to + 64 * k);
    } else {
      const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
      const typename block::template splices<Stores> splice(a);
      std::byte* const kept = cols.kept + c * 64;
      const __m512i begun = splice(_mm512_loadu_si512(kept), line[0]);
      to -= a;
      if (cols.first) {
        _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} << a, begun);
      } else {
        stream_register(begun, to);
      }
      HWY_UNROLL(4)
      for (std::size_t k = 1; k < lines; ++k) stream_register(splice(line[k - 1], line[k]), to + 64 * k);
      _mm512_store_si512(kept, line[lines - 1]);
    }
  }
}

// Stores the bytes of the last line of each run, which are kept. to: offset of the end of the runs.
HWY_INLINE void end_kept(const element_columns& cols, std::int64_t to) {
  for (std::int64_t c = 0; c < cols.count; ++c) {
    std::byte* const end = cols.run[c] + to;
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(end) % line_bytes);
    const std::uint64_t mine = (std::uint64_t{1} << a) - 1;
    _mm512_mask_storeu_epi8(end - a, mine, _mm512_maskz_loadu_epi8(mine, cols.kept + c * 64 + 64 - a));
  }
}

// Stores the first `bytes` bytes of a window, which end their runs. Some of its strips are parked, and the last of them, in
// slot `slot`, at `strip`.
template <std::size_t Bytes, element_stores Stores>
HWY_NOINLINE void end_elements(const element_columns& cols, std::int64_t slot, const std::byte* strip,
                               std::int64_t bytes) {
  using block = element_block<Bytes>;
  const typename block::joiner join;
  for (std::int64_t c = 0; c < cols.count; ++c) {
    __m512i piece[element_window_pieces];
    for (std::size_t k = 0; k < element_window_pieces; ++k) {
      const auto of = static_cast<std::int64_t>(k / block::held);
      const std::byte* const from = of < slot ? cols.parks + of * static_cast<std::int64_t>(block::park_bytes) : strip;
      piece[k] = _mm512_load_si512(from + (k % block::held * block::side + static_cast<std::size_t>(c)) * 64);
    }
    __m512i line[block::lines];
    join(piece, line);
    std::byte* to = cols.run[c] + cols.from;
    const auto a = Stores == element_stores::cached
                       ? std::int64_t{0}
                       : static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    const typename block::template splices<Stores> splice(a);
    to -= a;
    std::int64_t left = a + bytes;
    std::int64_t skip = cols.first ? a : 0;
    __m512i before = _mm512_load_si512(cols.kept + c * 64);
    HWY_UNROLL(5)
    for (std::size_t k = 0; k <= block::lines; ++k) {
      if (left <= 0) break;
      const __m512i now = k < block::lines ? line[HWY_MIN(k, block::lines - 1)] : before;
      const std::uint64_t mine = ~std::uint64_t{0} >> (64 - HWY_MIN(left, line_bytes)) & ~std::uint64_t{0} << skip;
      _mm512_mask_storeu_epi8(to, mine, splice(before, now));
      before = now;
      to += 64;
      left -= 64;
      skip = 0;
    }
  }
}

template <std::size_t Bytes, element_stores Stores>
void move_element_strips(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                         std::int64_t end, const row_fold& fold, const std::byte* readable_end) {
  using block = element_block<Bytes>;
  using rows_of = strip_of_rows<block::rows>;
  constexpr auto element = static_cast<std::int64_t>(Bytes);
  constexpr auto side = static_cast<std::int64_t>(block::side);
  constexpr auto strip_rows = static_cast<std::int64_t>(block::rows);
  constexpr auto strips = static_cast<std::int64_t>(block::strips);
  constexpr auto park_bytes = static_cast<std::int64_t>(block::park_bytes);
  constexpr auto window_bytes = static_cast<std::int64_t>(block::lines * 64);
  constexpr std::int64_t parks_bytes = (strips - 1) * park_bytes;  // of a block
  constexpr std::int64_t step = side * element;                    // bytes of a row that a block takes

  const std::int64_t blocks = base::ceil_div(work.panel, side);
  std::byte* const parks =
      scratch(blocks * (parks_bytes + side * (64 + static_cast<std::int64_t>(sizeof(std::byte*)))));
  if (parks == nullptr) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const kept = parks + blocks * parks_bytes;
  auto** const place = reinterpret_cast<std::byte**>(kept + blocks * side * 64);
  alignas(64) std::byte parked[block::park_bytes];
  alignas(64) std::byte copied[block::rows][64] = {};  // the ends of rows, where 64 bytes must not be loaded
  const std::byte* copies[block::rows];
  for (std::size_t k = 0; k < block::rows; ++k) copies[k] = copied[k];

  for (strip_queue<block::rows> queue(work, src, begin, end); queue.front().count != 0; queue.pop()) {
    const rows_of& now = queue.front();
    if (now.number == 0) {
      run_places(work, now.unit.col, now.unit.cols, dst + now.outer_dst + now.unit.row * element, place);
    }
    const std::int64_t slot = now.number % strips;
    const std::int64_t window = now.number / strips;
    const bool closes = slot == strips - 1 && now.count == strip_rows;
    const bool reads_on = readable_end != nullptr && now.row[strip_rows - 1] + now.row_bytes + 64 <= readable_end;
    element_rows from = {now.row, 0, now.row, 0};
    std::int64_t known = 0;  // blocks whose prefetches are at from.far
    for (std::int64_t c = 0; c < now.unit.cols; c += side) {
      const std::int64_t number = c / side;
      if (known-- == 0) {
        const auto target = queue.find(number + work.prefetch_bytes / step, step);
        from.far = target.row;
        from.ahead = target.offset;
        known = target.blocks - 1;
      } else {
        from.ahead += step;
      }
      from.row = now.row;
      from.offset = c * element;
      if (!reads_on && from.offset + 64 > now.row_bytes) {
        const std::uint64_t mine = (std::uint64_t{1} << (now.row_bytes - from.offset)) - 1;
        for (std::size_t k = 0; k < block::rows; ++k) {
          _mm512_store_si512(copied[k], _mm512_maskz_loadu_epi8(mine, now.row[k] + from.offset));
        }
        from.row = copies;
        from.offset = 0;
      }
      std::byte* const wait = parks + number * parks_bytes;
      const element_columns cols{
          HWY_MIN(side, now.unit.cols - c), place + c, window * window_bytes, kept + c * 64, wait, window == 0};
      if (closes) {
        close_elements<Bytes, Stores>(from, fold, cols);
        if (now.last && Stores >= element_stores::by_words) end_kept(cols, cols.from + window_bytes);
      } else if (!now.last) {
        park_elements<Bytes>(from, fold, wait + slot * park_bytes);
      } else {
        park_elements<Bytes>(from, fold, parked);
        end_elements<Bytes, Stores>(cols, slot, parked, (slot * strip_rows + now.count) * element);
      }
    }
  }
  if (Stores != element_stores::cached) finish_streaming();
}

template <std::size_t Bytes>
void move_element_strips(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                         std::int64_t end, const row_fold& fold) {
  const bool dense =
      work.rows.rank == 1 && work.rows.axes[0].src_stride * work.word_bytes == work.cols.total * work.src_col_bytes;
  const std::byte* const readable = dense ? src + work.src_end_bytes : nullptr;
  const auto with = [&]<element_stores Stores>() {
    move_element_strips<Bytes, Stores>(work, src, dst, begin, end, fold, readable);
  };
  if (!work.streaming) return with.template operator()<element_stores::cached>();
  if (runs_begin_at(work, dst, line_bytes)) return with.template operator()<element_stores::at_lines>();
  if (Bytes % 2 != 0 || !runs_begin_at(work, dst, element_block<Bytes>::word)) {
    return with.template operator()<element_stores::by_bytes>();
  }
  if constexpr (Bytes % 2 == 0) with.template operator()<element_stores::by_words>();
}

inline void move_element_strips(const stream::elements_args& given, const std::byte* src, std::byte* dst,
                                std::int64_t begin, std::int64_t end) {
  blocking work = given;
  const row_fold fold(given.folded, given.cols.total, given.element_bytes);
  if (fold.rows > 1) {
    axis& down = work.rows.axes[0];
    down = {down.extent / fold.rows, down.src_stride * fold.rows, down.dst_stride * fold.rows};
    work.rows.total = down.extent;
    work.row_chunk = base::ceil_div(given.row_chunk, fold.rows);
    work.element_bytes *= fold.rows;
    work.src_col_bytes = work.element_bytes;
  }
  const auto with = [&]<std::size_t Bytes>() { move_element_strips<Bytes>(work, src, dst, begin, end, fold); };
  switch (work.element_bytes) {
    case 3:
      with.template operator()<3>();
      break;
    case 6:
      with.template operator()<6>();
      break;
    case 12:
      with.template operator()<12>();
      break;
    case 16:
      with.template operator()<16>();
      break;
    case 24:
      with.template operator()<24>();
      break;
    default:
      with.template operator()<32>();
  }
  // The rows that are left over, fewer than fold.rows: one element at a time.
  const std::int64_t done = work.rows.total * fold.rows;
  const std::int64_t chunks = work.row_chunks();
  for (std::int64_t unit = begin; done < given.rows.total && unit < end; ++unit) {
    if (unit % chunks != chunks - 1) continue;
    const odometer outer(work.outer, work.word_bytes, unit / chunks, false);
    odometer col(work.cols, work.word_bytes, 0, true);
    for (std::int64_t c = 0; c < work.cols.total; ++c, col.next()) {
      odometer row(given.rows, work.word_bytes, done, true);
      for (std::int64_t r = done; r < given.rows.total; ++r, row.next()) {
        std::memcpy(dst + outer.dst() + col.dst() + row.dst(), src + outer.src() + col.src() + row.src(),
                    static_cast<std::size_t>(given.element_bytes));
      }
    }
  }
}
#else
inline void move_element_strips(const stream::elements_args& work, const std::byte* src, std::byte* dst,
                                std::int64_t begin, std::int64_t end) {
  move_without_buffer(work, src, dst, begin, end);
}
#endif

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
