// Rows of elements of any size are transposed into runs: through register blocks of wider words, or one element at a time.
#if defined(CORNERTURN_ELEMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENTS_INL
#undef CORNERTURN_ELEMENTS_INL
#else
#define CORNERTURN_ELEMENTS_INL
#endif

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/policy/element_block-inl.hpp"
#include "kernels/cpu/policy/element_copy-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/policy/widened-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

struct element_turn {
  widening by;
  std::int64_t col_bytes;  // from one column to the next in a row
  bool in_registers;       // AVX-512: blocks of whole elements

  element_turn(std::int64_t element_bytes, std::int64_t bytes_of_col) noexcept
      : by(element_bytes),
        col_bytes(bytes_of_col),
        in_registers(HWY_TARGET <= HWY_AVX3 && bytes_of_col == element_bytes &&
                     turns_in_registers(simd_in_use(), element_bytes)) {}

  // Effect  transposes elements [c, c + cols) of each row into runs at `to`, `pitch` bytes apart
  // Shape   Exact: nothing is stored behind the last row of a run. Else up to 15 bytes are
  template <bool Exact>
  HWY_NOINLINE void transpose(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                              std::int64_t pitch) const {
#if HWY_TARGET <= HWY_AVX3
    // Blocks of which half is empty lose: 2 x 671000 of 12 bytes 0.52 of a copy, 0.60 without (Zen 4, 2026-11-25).
    if (in_registers &&
        2 * rows.count > static_cast<int>(element_block_side(static_cast<std::size_t>(by.element_bytes)))) {
      return blocks(rows, c, cols, to, pitch, block_elements());
    }
#endif
    const bool whole = col_bytes == by.element_bytes && (c + cols) * by.element_bytes >= 16;
    if (!whole || by.wide == 0 || cols < 16 / by.wide) return one_by_one(rows, c, cols, to, pitch);
    if (by.wide == 4) return widened<Exact, 4>(rows, c, cols, to, pitch);
    if (by.wide == 8) return widened<Exact, 8>(rows, c, cols, to, pitch);
    widened<Exact, 16>(rows, c, cols, to, pitch);
  }

 private:
#if HWY_TARGET <= HWY_AVX3
  template <std::size_t... Bytes>
  HWY_INLINE void blocks(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                         std::index_sequence<Bytes...> /*sizes*/) const {
    ((by.element_bytes == static_cast<std::int64_t>(Bytes) ? blocks_of<Bytes>(rows, c, cols, to, pitch) : void()), ...);
  }
  template <std::size_t Bytes>
  HWY_NOINLINE static void blocks_of(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                                     std::int64_t pitch) {
    constexpr auto side = static_cast<std::int64_t>(element_block<Bytes>::side);
    constexpr auto element = static_cast<std::int64_t>(Bytes);
    for (std::int64_t r = 0; r < rows.count; r += side, to += side * element) {
      const std::byte* const* const row = rows.row + r;
      const std::int64_t down = HWY_MIN(side, rows.count - r);
      for (std::int64_t k = 0; k < cols; k += side) {
        const std::int64_t across = HWY_MIN(side, cols - k);
        if (down == side && across == side) {
          move_element_block<Bytes, true>(row, (c + k) * element, side, side, to + k * pitch, pitch);
        } else {
          move_element_block<Bytes, false>(row, (c + k) * element, down, across, to + k * pitch, pitch);
        }
      }
    }
  }
#endif

  template <bool Exact, std::size_t Wide>
  HWY_INLINE void widened(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                          std::int64_t pitch) const {
    constexpr auto n = static_cast<int>(16 / Wide);
    for (int r = 0; r < rows.count; r += n) {
      const int count = HWY_MIN(n, rows.count - r);
      const std::int64_t bytes = count * by.element_bytes;
      const auto with = [&](const auto& block) { block.move(rows.row + r, c, cols, to + r * by.element_bytes, pitch); };
      if (!Exact || (rows.count - r - n) * by.element_bytes >= by.surplus) {  // later rows overwrite the surplus
        with(widened_block<Wide, 0>(by, count));
      } else if (bytes >= 8) {
        with(widened_block<Wide, 8>(by, count));
      } else if (bytes >= 4) {
        with(widened_block<Wide, 4>(by, count));
      } else {
        with(widened_block<Wide, 2>(by, count));
      }
    }
  }

  HWY_NOINLINE void one_by_one(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to,
                               std::int64_t pitch) const {
    const std::int64_t size = by.element_bytes;
    const auto with = [&](const auto& copy) { each_element(rows, c, cols, to, pitch, copy); };
    if (size <= 128) return with_element_copy(size, with);
    with([size](std::byte* at, const std::byte* from) { std::memcpy(at, from, static_cast<std::size_t>(size)); });
  }

  template <class Copy>
  HWY_INLINE void each_element(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                               const Copy& copy) const {
    // 20 problems of 24 and 32 bytes: 0.537 column by column with two copies of 16 bytes each, 0.555 now (Zen 4, 2026-11-25).
    for (int r = 0; r < rows.count; ++r, to += by.element_bytes) {
      const std::byte* from = rows.row[r] + c * col_bytes;
      std::byte* at = to;
      for (std::int64_t k = 0; k < cols; ++k, from += col_bytes, at += pitch) copy(at, from);
    }
  }
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
