// Small matrices whose columns are end to end in dst: register blocks, whose surplus rows and columns are dropped.
//
//   1. a matrix is taken one block of columns at a time, and in each the blocks of rows from the last one to the first
//   2. a block loads 16 bytes of each row. Behind the last column these are bytes of other rows, which are dropped
//   3. it stores 16 bytes of each column. Behind the last row these are places of the next columns, which are stored later.
//      Nothing is stored behind the end of the matrix
#if defined(CORNERTURN_ITEMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ITEMS_INL
#undef CORNERTURN_ITEMS_INL
#else
#define CORNERTURN_ITEMS_INL
#endif

#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/register_tile/args.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Stores the first `count` words.
template <std::size_t Word, class V, class D>
HWY_INLINE void store_first(V v, D d, std::byte* to, std::int64_t count) {
  alignas(16) std::byte all[16];
  store(v, d, all);
  for (std::int64_t k = 0; k < count * static_cast<std::int64_t>(Word); k += Word) std::memcpy(to + k, all + k, Word);
}

template <std::size_t Word>
HWY_INLINE void turn_item(const register_tile::args& work, const std::byte* from, const std::byte* src_end,
                          std::byte* to) {
  using block = tall_block<Word, 16>;
  constexpr auto n = static_cast<std::int64_t>(block::n);
  constexpr auto word = static_cast<std::int64_t>(Word);
  const typename block::Tag d;
  const std::byte* const end = to + work.cols * work.dst_pitch;
  const std::byte* const last_row = from + HWY_MAX(std::int64_t{0}, (work.rows - 1) * work.src_pitch);
  for (std::int64_t c = 0; c < work.cols; c += n) {  // 1.
    const std::int64_t cols = HWY_MIN(n, work.cols - c);
    std::byte* const columns = to + c * work.dst_pitch;
    if (last_row + c * word + 16 > src_end) {
      for (std::int64_t k = 0; k < cols; ++k) {
        for (std::int64_t r = 0; r < work.rows; ++r) {
          std::memcpy(columns + k * work.dst_pitch + r * word, from + r * work.src_pitch + (c + k) * word, Word);
        }
      }
      continue;
    }
    for (std::int64_t r = (work.rows - 1) / n * n; r >= 0; r -= n) {
      const std::int64_t rows = HWY_MIN(n, work.rows - r);
      const std::byte* row[block::n];
      HWY_UNROLL(16)
      for (std::int64_t k = 0; k < n; ++k) row[k] = from + (r + HWY_MIN(k, rows - 1)) * work.src_pitch;
      hn::VFromD<typename block::Tag> v[block::n];
      block::turn(row, c * word, v);  // 2.
      std::byte* at = columns + r * word;
      HWY_UNROLL(16)
      for (std::int64_t k = 0; k < n; ++k, at += work.dst_pitch) {  // 3.
        if (k >= cols) break;
        if (at + 16 <= end) {
          store(v[k], d, at);
        } else {
          store_first<Word>(v[k], d, at, rows);
        }
      }
    }
  }
}

template <std::size_t Word>
void turn_items(const register_tile::items_args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                std::int64_t end) {
  const std::byte* const src_end = src + work.src_end_bytes;
  const std::int64_t row_bytes = work.cols * static_cast<std::int64_t>(Word);
  // Rows with gaps of a line or more are prefetched one by one.
  const bool dense = work.src_pitch >= 0 && work.src_pitch <= row_bytes + line_bytes;
  const std::int64_t runs = dense ? 1 : work.rows;
  const std::int64_t run_bytes = dense ? row_bytes + (work.rows - 1) * work.src_pitch : row_bytes;
  odometer outer(work.outer, work.word_bytes, begin, false);
  odometer coming(work.outer, work.word_bytes, HWY_MIN(begin + work.ahead, work.outer.total - 1), false);
  for (std::int64_t unit = begin; unit < end; ++unit, outer.next()) {
    if (work.ahead > 0) {
      const std::byte* const next = src + coming.src();
      for (std::int64_t k = 0; k < runs; ++k) {
        const std::byte* const run = next + k * work.src_pitch;
        for (std::int64_t line = 0; line < run_bytes; line += line_bytes) __builtin_prefetch(run + line, 0, 2);
      }
      coming.next();
    }
    turn_item<Word>(work, src + outer.src(), src_end, dst + outer.dst());
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
