// The family gather: problems that register blocks cannot take.
//   elements  any size and src stride, one at a time, dst in whole lines   policy/panels-inl.hpp
//   packed    short dst runs of such elements, put together                policy/packed-inl.hpp
//   shuffled  small blocks that are permuted within themselves, as elements   policy/line_shuffle-inl.hpp
//   box       short axes that alternate in src and dst                     box-inl.hpp
//   strided   any strides: one word at a time, in the order of dst
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gather/gather.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/gather/box-inl.hpp"
#include "kernels/cpu/policy/elements-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/line_shuffle-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Prefetches for elements whose columns may be far apart: the lines of the elements, and none between them.
HWY_INLINE read_ahead ahead_of_columns(const strip& rows, const blocking& work, std::int64_t cols,
                                       std::int64_t distance) {
  const std::int64_t column = work.src_col_bytes;
  if (column <= line_bytes) return {rows, distance, cols * column};
  // As many lines ahead, a column each.
  return {rows, base::ceil_div(distance, line_bytes) * column, cols * column, column};
}

struct element_fill {
  static constexpr std::int64_t spare_cols = 0;
  static constexpr bool pads = false;
  const blocking& work;
  const element_turn turn;

  explicit element_fill(const blocking& of) noexcept : work(of), turn(of.element_bytes, of.src_col_bytes) {}

  // The panel takes a line of each row, or less, and then the next rows. The hardware prefetchers of AMD do not follow so
  // many rows.
  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    ahead_of_columns(rows, work, panel_cols, work.prefetch_bytes)
        .each_row(c * work.src_col_bytes, cols * work.src_col_bytes);
    turn.transpose<false>(rows, c, cols, to, pitch);
  }
  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    // These columns of the next rows.
    read_ahead{rows, 1, 1, HWY_MAX(work.src_col_bytes, line_bytes)}.each_row(0, cols * work.src_col_bytes);
    turn.transpose<true>(rows, 0, cols, to, pitch);
  }
};

#if HWY_TARGET <= HWY_AVX3
// Elements that are permuted within themselves.
struct shuffled_fill {
  static constexpr std::int64_t spare_cols = 0;
  static constexpr bool pads = false;
  const blocking& work;
  mutable line_shuffle items;

  shuffled_fill(const gather::shuffled_args& of, const std::byte* src) noexcept
      : work(of), items(of.item, src + of.src_end_bytes) {}

  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    ahead_of_columns(rows, work, panel_cols, work.prefetch_bytes)
        .each_row(c * work.src_col_bytes, cols * work.src_col_bytes);
    for (int r = 0; r < rows.count; ++r, to += work.element_bytes) {
      const std::byte* from = rows.row[r] + c * work.src_col_bytes;
      for (std::int64_t k = 0; k < cols; ++k, from += work.src_col_bytes) items.move_item(from, to + k * pitch);
    }
  }
  HWY_INLINE void copy_element(const std::byte* from, std::byte* to) const { items.move_item(from, to); }
};
#endif

void gather_shuffled([[maybe_unused]] const void* args, [[maybe_unused]] const arrays& all,
                     [[maybe_unused]] std::int64_t begin, [[maybe_unused]] std::int64_t end) {
#if HWY_TARGET <= HWY_AVX3
  const auto& work = *static_cast<const gather::shuffled_args*>(args);
  move_panels(work, all.src, all.dst, begin, end, shuffled_fill(work, all.src));
#endif
}
void gather_elements(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::elements_args*>(args);
  move_panels(work, all.src, all.dst, begin, end, element_fill(work));
}
void gather_packed(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::packed_args*>(args);
  move_packed(work, all.src, all.dst, begin, end, element_fill(work));
}
void gather_box(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::box_args*>(args);
  const auto e = work.element_bytes;
  const auto move = e <= 1    ? move_boxes<1>
                    : e <= 2  ? move_boxes<2>
                    : e <= 4  ? move_boxes<4>
                    : e <= 8  ? move_boxes<8>
                    : e <= 16 ? move_boxes<16>
                    : e <= 32 ? move_boxes<32>
                              : move_boxes<64>;
  move(work, all.src, all.dst, begin, end);
}
void gather_strided(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const gather::strided_args*>(args);
  odometer walk(work.outer, work.word_bytes, begin, false);
  const auto word = static_cast<std::size_t>(work.word_bytes);
  for (std::int64_t i = begin; i < end; ++i, walk.next()) std::memcpy(all.dst + walk.dst(), all.src + walk.src(), word);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/gather/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
