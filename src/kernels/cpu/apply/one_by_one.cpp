// Elements of any strides without memory for a buffer: gathered on the stack, computed there and scattered. Each unit walks runs of
// the innermost row axis, and repeats each run for all of its columns.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/walk.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {
namespace {

template <std::size_t Bytes>
void gather(const std::byte* from, std::int64_t step, std::byte* to, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k, from += step, to += Bytes) std::memcpy(to, from, Bytes);
}
template <std::size_t Bytes>
void scatter(const std::byte* from, std::byte* to, std::int64_t step, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k, from += Bytes, to += step) std::memcpy(to, from, Bytes);
}

template <class F>
void with_size(std::int64_t bytes, const F& f) {
  if (bytes == 1) f(std::integral_constant<std::size_t, 1>{});
  if (bytes == 2) f(std::integral_constant<std::size_t, 2>{});
  if (bytes == 4) f(std::integral_constant<std::size_t, 4>{});
  if (bytes == 8) f(std::integral_constant<std::size_t, 8>{});
  if (bytes == 16) f(std::integral_constant<std::size_t, 16>{});
}

constexpr std::int64_t gathered = 256;  // elements at a time

}  // namespace

void apply_one_by_one(const apply::args& work, const arrays& all, std::int64_t begin, std::int64_t end) noexcept {
  alignas(64) std::byte memory[3][gathered * 16];
  std::byte* const to = memory[0];
  std::byte* const src = memory[1];
  std::byte* const other = memory[2];
  const std::byte* const from = src;
  const std::byte* const second = other;
  const run_function run = run_of(work.math);
  const std::int64_t src_bytes = work.word_bytes;
  const std::int64_t dst_bytes = work.dst_word_bytes;
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  const bool two = work.math.second == second_array::destination;
  // Runs are along the innermost axis of the rows.
  const axis inner = work.rows.rank > 0 ? work.rows.axes[0] : axis{};
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const apply_walk outer(work.outer, work, unit / per_outer, false);
    const std::int64_t chunk = unit % per_outer % work.row_chunks();
    const std::int64_t panel = unit % per_outer / work.row_chunks();
    const std::int64_t first_row = chunk * work.row_chunk;
    const std::int64_t rows_end = std::min(first_row + work.row_chunk, work.rows.total);
    const std::int64_t first_col = panel * work.panel;
    const std::int64_t cols_end = std::min(first_col + work.panel, work.cols.total);
    for (std::int64_t r = first_row; r < rows_end;) {
      const std::int64_t n = std::min({gathered, rows_end - r, inner.extent - r % inner.extent});
      const apply_walk row(work.rows, work, r, true);
      apply_walk col(work.cols, work, first_col, true);
      for (std::int64_t c = first_col; c < cols_end; ++c, col.next()) {
        const std::int64_t at = outer.second() + col.second() + row.second();
        with_size(src_bytes, [&](auto size) {
          gather<size.value>(all.src + outer.src() + col.src() + row.src(), inner.src_stride * src_bytes, src, n);
        });
        with_size(dst_bytes, [&](auto size) {
          if (work.math.reads_second()) {
            gather<size.value>(all.second + at, inner.second_stride * dst_bytes, other, n);
          }
          run(work.math, 1, &from, &second, &to, n, all.scale);
          scatter<size.value>(to, all.dst + outer.dst() + col.dst() + row.dst(), inner.dst_stride * dst_bytes, n);
          if (two) scatter<size.value>(to, all.second_dst + at, inner.second_stride * dst_bytes, n);
        });
      }
      r += n;
    }
  }
}

}  // namespace cornerturn::kernels::cpu
