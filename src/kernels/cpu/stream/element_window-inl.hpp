// Blocks of elements (policy/element_block-inl.hpp) are put together into lines of dst, for element_strips-inl.hpp.
//
//   piece   `side` elements of one column, 48 or 64 bytes, at the begin of a register. side x side elements are loaded from as
//           many rows. They are transposed into one piece of each column
//   window  four pieces of one column: three or four lines. Each line is selected from two pieces. Words of 4 and 8 bytes have
//           one and two pieces. The lines are stored from registers: nothing goes through a buffer
//   strip   at most 16 rows, because hardware prefetchers do not follow more. It has one piece of elements of 3 bytes, and two
//           of elements of 6 bytes. These pieces wait, parked in L2, for the last strip of their window
//
// Lines are put together in registers, and what is parked is loaded as it was stored: no load needs bytes of two recent stores.
#if defined(CORNERTURN_ELEMENT_WINDOW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENT_WINDOW_INL
#undef CORNERTURN_ELEMENT_WINDOW_INL
#else
#define CORNERTURN_ELEMENT_WINDOW_INL
#endif

#include <array>
#include <type_traits>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/stream/strip_blocks-inl.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

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

  // Shape   rows * cols * element_bytes <= 64. Bytes need AVX-512 VBMI
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

// The bytes of one block in its rows. With each row that is loaded, a line is prefetched; `mine` has a bit for each byte that is
// loaded.
struct listed_rows {
  const std::byte* const* row;
  std::int64_t offset;
  const std::byte* const* later;
  std::int64_t ahead;
  __mmask64 mine;

  HWY_INLINE const std::byte* at(std::size_t k) const { return row[k] + offset; }
  HWY_INLINE const std::byte* far(std::size_t k) const { return later[k] + ahead; }
};
struct even_element_rows {
  const std::byte* first;
  std::int64_t pitch;
  const std::byte* later;
  std::int64_t later_pitch;
  __mmask64 mine;

  HWY_INLINE const std::byte* at(std::size_t k) const { return first + static_cast<std::int64_t>(k) * pitch; }
  HWY_INLINE const std::byte* far(std::size_t k) const { return later + static_cast<std::int64_t>(k) * later_pitch; }
};

// The windows of elements of Bytes bytes.
template <std::size_t Bytes>
struct element_window : element_block<Bytes> {
  using block = element_block<Bytes>;
  using block::piece_bytes, block::side;
  static constexpr std::size_t pieces = element_window_pieces(Bytes);
  static constexpr std::size_t lines = pieces * piece_bytes / 64;
  static constexpr std::size_t rows = element_strip_rows(Bytes);
  static constexpr std::size_t held = rows / side;             // pieces of a strip
  static constexpr std::size_t strips = pieces / held;         // of a window
  static constexpr std::size_t park_bytes = held * side * 64;  // a strip that waits
  static_assert(lines * 64 == pieces * piece_bytes && held * strips == pieces);

  // Calls `store` with a splicer for runs that begin `a` bytes inside a line.
  template <element_stores Stores, class Store>
  static HWY_INLINE void with_splices(std::int64_t a, const Store& store) {
    constexpr std::size_t word = Stores == element_stores::by_words ? block::word : 1;
    if constexpr (Bytes % 2 == 0) {
      store(splicer<word>(a));
    } else if (has_select_bytes()) {
      store(byte_splicer(a));
    } else {
      store(splicer<1>(a));
    }
  }

  // Transposes side x side elements of the rows from `first` on.
  template <class Rows>
  static HWY_INLINE void turn(const Rows& from, std::size_t first, const row_fold& fold, __m512i (&v)[side]) {
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) {
      __builtin_prefetch(from.far(first + k), 0, 3);
      v[k] = _mm512_maskz_loadu_epi8(from.mine, from.at(first + k));
    }
    if (side <= 8 && fold.rows > 1) fold.split(v);
    block::turn(v);
  }

  // Makes lines of the pieces of a window. Its selections stay in registers.
  class joiner {
   public:
    HWY_INLINE joiner() noexcept {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) from_[k] = _mm512_load_si512(joins[k].data());
    }
    HWY_INLINE void operator()(const __m512i (&piece)[pieces], __m512i (&line)[lines]) const noexcept {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < lines; ++k) {
        if constexpr (piece_bytes == 64) {
          line[k] = piece[k];
        } else {
          line[k] = _mm512_permutex2var_epi64(piece[first_piece(k)], from_[k], piece[first_piece(k) + 1]);
        }
      }
    }

   private:
    __m512i from_[lines];
  };

 private:
  using selection = std::array<std::uint64_t, 8>;  // pieces of 48 bytes are whole words of 8 bytes

  static constexpr std::size_t first_piece(std::size_t line) { return line * 64 / piece_bytes; }
  static constexpr selection join_of(std::size_t line) {
    selection all{};
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t at = line * 64 - first_piece(line) * piece_bytes + k * 8;
      all[k] = (at < piece_bytes ? at : at - piece_bytes + 64) / 8;
    }
    return all;
  }
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
  bool ends;               // the window ends the runs
};

template <std::size_t Bytes, class Rows>
HWY_NOINLINE void park_elements(const Rows& from, const row_fold& fold, std::byte* to) {
  using block = element_window<Bytes>;
  for (std::size_t k = 0; k < block::held; ++k) {
    __m512i v[block::side];
    block::turn(from, k * block::side, fold, v);
    HWY_UNROLL(16)
    for (std::size_t c = 0; c < block::side; ++c, to += 64) _mm512_store_si512(to, v[c]);
  }
}

// Takes the last strip of a window, which has all its rows, and stores the window.
template <std::size_t Bytes, element_stores Stores, class Rows>
HWY_NOINLINE void close_elements(const Rows& from, const row_fold& fold, const element_columns& given) {
  const element_columns cols = given;  // in registers along the stores
  using block = element_window<Bytes>;
  constexpr std::size_t side = block::side;
  constexpr std::size_t lines = block::lines;
  constexpr std::size_t parked = block::pieces - block::held;
  __m512i v[block::held][side];
  HWY_UNROLL(4)
  for (std::size_t k = 0; k < block::held; ++k) block::turn(from, k * side, fold, v[k]);
  const typename block::joiner join;
  HWY_UNROLL(16)
  for (std::size_t c = 0; c < side; ++c) {
    if (HWY_UNLIKELY(static_cast<std::int64_t>(c) == cols.count)) return;
    __m512i piece[block::pieces];
    if constexpr (block::pieces == 1) {
      piece[0] = v[0][c];
    } else {
      HWY_UNROLL(4)
      for (std::size_t k = 0; k < block::pieces; ++k) {
        piece[k] = k < parked ? _mm512_load_si512(cols.parks + (k * side + c) * 64) : v[k - HWY_MIN(k, parked)][c];
      }
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
      std::byte* const kept = cols.kept + c * 64;
      to -= a;
      block::template with_splices<Stores>(a, [&](const auto& splice) {
        const __m512i begun = splice(_mm512_loadu_si512(kept), line[0]);
        if (cols.first) {
          _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} << a, begun);
        } else {
          stream_register(begun, to);
        }
        HWY_UNROLL(4)
        for (std::size_t k = 1; k < lines; ++k) stream_register(splice(line[k - 1], line[k]), to + 64 * k);
        if (cols.ends) {
          const std::uint64_t mine = (std::uint64_t{1} << a) - 1;
          _mm512_mask_storeu_epi8(to + 64 * lines, mine, splice(line[lines - 1], line[lines - 1]));
        } else {
          _mm512_store_si512(kept, line[lines - 1]);
        }
      });
    }
  }
}

// Stores the first `bytes` bytes of a window, which end their runs. Some of its strips are parked, and the last of them, in
// slot `slot`, at `strip`.
template <std::size_t Bytes, element_stores Stores>
HWY_NOINLINE void end_elements(const element_columns& cols, std::int64_t slot, const std::byte* strip,
                               std::int64_t bytes) {
  using block = element_window<Bytes>;
  const typename block::joiner join;
  for (std::int64_t c = 0; c < cols.count; ++c) {
    __m512i piece[block::pieces];
    for (std::size_t k = 0; k < block::pieces; ++k) {
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
    to -= a;
    std::int64_t left = a + bytes;
    std::int64_t skip = cols.first ? a : 0;
    __m512i before = _mm512_load_si512(cols.kept + c * 64);
    block::template with_splices<Stores>(a, [&](const auto& splice) {
      HWY_UNROLL(5)
      for (std::size_t k = 0; k <= block::lines; ++k) {
        if (left <= 0) break;
        const __m512i now = k < block::lines ? line[HWY_MIN(k, block::lines - 1)] : before;
        const std::uint64_t mine = ~std::uint64_t{0} >> (64 - HWY_MIN(left, line_bytes)) & ~std::uint64_t{0} << skip;
        // Runs shorter than a window lose by it: 137060 x 4 x 3 of 24 bytes 0.29, 0.18 (Zen 4, 2026-11-25).
        if (Stores != element_stores::cached && !cols.first && mine == ~std::uint64_t{0}) {
          stream_register(splice(before, now), to);
        } else {
          _mm512_mask_storeu_epi8(to, mine, splice(before, now));
        }
        before = now;
        to += 64;
        left -= 64;
        skip = 0;
      }
    });
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per target
