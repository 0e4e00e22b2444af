// The turn of block-inl.hpp with a product on its way: words are floats, or parts of complex numbers, and each is
// multiplied while it is in a register. The rows bring the factor along.
#if defined(CORNERTURN_SCALED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SCALED_INL
#undef CORNERTURN_SCALED_INL
#else
#define CORNERTURN_SCALED_INL
#endif

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/block-inl.hpp"
#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <class Part, std::size_t Rows>
struct scaled_rows {
  const std::byte* row[Rows];
  Part alpha;
  HWY_INLINE const std::byte* operator[](std::size_t k) const { return row[k]; }
};

// tall_block, with the product before the store; a NaN has all bits but the sign.
template <std::size_t Word, std::size_t Vector, class Part>
struct scaled_block {
  static constexpr std::size_t n = 16 / Word;
  static constexpr std::size_t rows = Vector / Word;
  static constexpr std::size_t cols = n;

  template <class Rows>
  static HWY_INLINE void move(const Rows& row, std::int64_t offset, std::byte* to, std::int64_t pitch) {
    using block = tall_block<Word, Vector>;
    const hn::FixedTag<Part, Vector / sizeof(Part)> parts;
    hn::VFromD<typename block::Tag> v[n];
    block::turn(row, offset, v);
    const auto nan = hn::Set(parts, narrow<Part>(std::numeric_limits<Part>::quiet_NaN(), false));
    const auto alpha = hn::Set(parts, row.alpha);
    HWY_UNROLL(16)
    for (std::size_t c = 0; c < n; ++c) {
      const auto product = hn::Mul(hn::BitCast(parts, v[c]), alpha);
      store(hn::IfThenElse(hn::IsNaN(product), nan, product), parts, to + static_cast<std::int64_t>(c) * pitch);
    }
  }
};

// As fill_strip, with that product.
template <class Block, std::size_t Word, class Part, class Ahead>
HWY_INLINE void fill_scaled_strip(const std::byte* const* row, int rows, std::int64_t offset, std::int64_t cols,
                                  std::byte* to, std::int64_t pitch, const Ahead& ahead, Part alpha) {
  for (int r = 0; r < rows; r += static_cast<int>(Block::rows)) {
    scaled_rows<Part, Block::rows> mine;
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < Block::rows; ++k) mine.row[k] = row[r + static_cast<int>(k)] + offset;
    mine.alpha = alpha;
    fill_rows<Block, Word>(mine, cols, to + r * static_cast<std::int64_t>(Word), pitch,
                           ahead_of_rows<Block::rows, Ahead>{ahead, r, offset});
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
