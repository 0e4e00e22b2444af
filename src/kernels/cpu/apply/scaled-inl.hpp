// The transpose of block-inl.hpp with a product: words are floats or complex numbers, and each number is multiplied while it
// is in a register. The rows object holds the factor.
#if defined(CORNERTURN_SCALED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SCALED_INL
#undef CORNERTURN_SCALED_INL
#else
#define CORNERTURN_SCALED_INL
#endif

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <class Part, std::size_t Rows>
struct scaled_rows {
  const std::byte* row[Rows];
  Part alpha;
  HWY_INLINE const std::byte* operator[](std::size_t k) const { return row[k]; }
};

// A tall_block that multiplies before it stores. A NaN gets all bits except the sign.
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

template <std::size_t Word, class Part>
struct scaled_blocks {
  using best = scaled_block<Word, vector_bytes, Part>;
  using small = scaled_block<Word, 16, Part>;
};

template <class Part>
struct scaled_by {
  Part alpha;
  template <std::size_t Rows>
  HWY_INLINE scaled_rows<Part, Rows> operator()(const std::byte* const (&row)[Rows]) const {
    scaled_rows<Part, Rows> mine;
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < Rows; ++k) mine.row[k] = row[k];
    mine.alpha = alpha;
    return mine;
  }
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
