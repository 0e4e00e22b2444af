// Elements of 3 to 15 bytes through the register blocks of words: each is widened to 4, 8 or 16 bytes behind the load, and
// narrowed before the store.
//
//   load      16 bytes of a row, which hold `n` whole elements, n = 16 / Wide
//   widen     a byte shuffle puts element k at byte k * Wide
//   turn      n x n words are transposed (block-inl.hpp)
//   narrow    a byte shuffle puts element k at byte k * element_bytes; n * element_bytes bytes are stored
//
// A load may take bytes of its own row only. So the first block of a row has its surplus bytes behind its elements, and all
// other blocks have them in front.
#if defined(CORNERTURN_WIDENED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_WIDENED_INL
#undef CORNERTURN_WIDENED_INL
#else
#define CORNERTURN_WIDENED_INL
#endif

#include "kernels/cpu/policy/fill-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Wide>
class widened_block {
 public:
  static constexpr std::int64_t n = 16 / static_cast<std::int64_t>(Wide);  // rows and columns
  static constexpr std::int64_t least_row_bytes = 16;

  explicit widened_block(std::int64_t element_bytes) noexcept : e_(element_bytes), surplus_(16 - n * element_bytes) {
    alignas(16) std::uint8_t from_first[16] = {}, from_later[16] = {}, back[16] = {};
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t byte = 0; byte < e_; ++byte) {
        const auto narrow = k * e_ + byte, wide = k * static_cast<std::int64_t>(Wide) + byte;
        from_first[wide] = static_cast<std::uint8_t>(narrow);
        from_later[wide] = static_cast<std::uint8_t>(narrow + surplus_);
        back[narrow] = static_cast<std::uint8_t>(wide);
      }
    }
    const bytes_tag d;
    widen_first_ = hn::Load(d, from_first);
    widen_later_ = hn::Load(d, from_later);
    narrow_ = hn::Load(d, back);
  }

  // Effect  transposes elements [c, c + cols) of n rows into runs at `to`, `pitch` bytes apart. Exact: no byte behind the n
  //         elements of a run is written. Else up to 16 bytes are
  // Shape   the rows have least_row_bytes or more from their begin to column c + cols; cols >= n
  template <bool Exact>
  HWY_INLINE void move(const std::byte* const* rows, std::int64_t c, std::int64_t cols, std::byte* to,
                       std::int64_t pitch) const {
    const std::byte* row[n];
    HWY_UNROLL(4)
    for (std::int64_t r = 0; r < n; ++r) row[r] = rows[r] + c * e_;
    std::int64_t k = 0;
    if (c * e_ < surplus_) {
      turn<Exact>(row, 0, widen_first_, to, pitch);
      k = n;
    }
    for (; k + n <= cols; k += n) turn<Exact>(row, k * e_ - surplus_, widen_later_, to + k * pitch, pitch);
    if (k < cols) turn<Exact>(row, (cols - n) * e_ - surplus_, widen_later_, to + (cols - n) * pitch, pitch);
  }

 private:
  using bytes_tag = hn::FixedTag<std::uint8_t, 16>;
  using vector = hn::VFromD<bytes_tag>;

  template <bool Exact>
  HWY_INLINE void turn(const std::byte* const (&row)[n], std::int64_t offset, vector widen, std::byte* to,
                       std::int64_t pitch) const {
    using T = typename word_of<Wide>::type;
    const hn::FixedTag<T, 16 / sizeof(T)> d;
    const bytes_tag as_bytes;
    hn::VFromD<decltype(d)> v[n];
    HWY_UNROLL(4)
    for (std::int64_t r = 0; r < n; ++r) {
      v[r] = hn::BitCast(d, hn::TableLookupBytes(load(as_bytes, row[r] + offset), widen));
    }
    if constexpr (n > 1) shuffle_times<log2_of(static_cast<std::size_t>(n))>(d, v);
    HWY_UNROLL(4)
    for (std::int64_t k = 0; k < n; ++k) {
      const vector narrowed =
          n == 1 ? hn::BitCast(as_bytes, v[k]) : hn::TableLookupBytes(hn::BitCast(as_bytes, v[k]), narrow_);
      if constexpr (Exact) {
        alignas(16) std::byte piece[16];
        store(narrowed, as_bytes, piece);
        std::memcpy(to + k * pitch, piece, 8);
        std::memcpy(to + k * pitch + n * e_ - 8, piece + n * e_ - 8, 8);
      } else {
        store(narrowed, as_bytes, to + k * pitch);
      }
    }
  }

  std::int64_t e_;
  std::int64_t surplus_;  // bytes of a load that are not of its elements
  vector widen_first_, widen_later_, narrow_;
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
