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

// The byte shuffles for one size of elements. Made once for a problem.
struct widening {
  std::int64_t element_bytes = 0;
  std::int64_t wide = 0;                     // 4, 8 or 16; 0: elements of this size are not widened
  std::int64_t surplus = 0;                  // bytes of a load that are not of its elements
  alignas(16) std::uint8_t first[16] = {};   // widens, surplus bytes behind the elements
  alignas(16) std::uint8_t later[16] = {};   // widens, surplus bytes in front
  alignas(16) std::uint8_t narrow[32] = {};  // from byte k on: the narrowed elements without their first k bytes

  explicit widening(std::int64_t size) noexcept : element_bytes(size) {
    wide = size == 3 ? 4 : size >= 5 && size <= 7 ? 8 : size >= 9 && size <= 15 ? 16 : 0;
    if (wide == 0) return;
    surplus = 16 - 16 / wide * size;
    for (std::int64_t k = 0; k < 16 / wide; ++k) {
      for (std::int64_t byte = 0; byte < size; ++byte) {
        first[k * wide + byte] = static_cast<std::uint8_t>(k * size + byte);
        later[k * wide + byte] = static_cast<std::uint8_t>(k * size + byte + surplus);
        narrow[k * size + byte] = static_cast<std::uint8_t>(k * wide + byte);
      }
    }
  }
};

// Chunk is 0 if the buffer has room for 16 bytes at each store. Else the bytes of a run of `count` elements, Chunk to
// 2 * Chunk, are stored as two chunks that may overlap.
template <std::size_t Wide, std::size_t Chunk>
class widened_block {
 public:
  static constexpr std::int64_t n = 16 / static_cast<std::int64_t>(Wide);  // rows and columns

  // Shape   1 <= count <= n
  widened_block(const widening& by, std::int64_t count) noexcept
      : e_(by.element_bytes), surplus_(by.surplus), count_(count) {
    const bytes_tag d;
    first_ = hn::Load(d, by.first);
    later_ = hn::Load(d, by.later);
    narrow_ = hn::Load(d, by.narrow);
    if constexpr (Chunk > 0) narrow_end_ = hn::LoadU(d, by.narrow + count * e_ - static_cast<std::int64_t>(Chunk));
  }

  // Effect  transposes elements [c, c + cols) of `count` rows into runs at `to`, `pitch` bytes apart
  // Shape   the rows have 16 bytes or more from their begin to column c + cols; cols >= n
  HWY_INLINE void move(const std::byte* const* rows, std::int64_t c, std::int64_t cols, std::byte* to,
                       std::int64_t pitch) const {
    const std::byte* row[n];
    HWY_UNROLL(4)
    for (std::int64_t r = 0; r < n; ++r) row[r] = rows[HWY_MIN(r, count_ - 1)] + c * e_;
    std::int64_t k = 0;
    if (c * e_ < surplus_) {
      turn(row, 0, first_, to, pitch);
      k = n;
    }
    for (; k + n <= cols; k += n) turn(row, k * e_ - surplus_, later_, to + k * pitch, pitch);
    if (k < cols) turn(row, (cols - n) * e_ - surplus_, later_, to + (cols - n) * pitch, pitch);
  }

 private:
  using bytes_tag = hn::FixedTag<std::uint8_t, 16>;
  using vector = hn::VFromD<bytes_tag>;

  static HWY_INLINE void store_chunk(vector v, std::byte* to) {
    using T = typename word_of<HWY_MAX(Chunk, std::size_t{1})>::type;
    const T low = hn::GetLane(hn::BitCast(hn::FixedTag<T, 16 / sizeof(T)>(), v));
    std::memcpy(to, &low, sizeof low);
  }

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
      const vector column = hn::BitCast(as_bytes, v[k]);
      const vector narrowed = n == 1 ? column : hn::TableLookupBytes(column, narrow_);
      if constexpr (Chunk == 0) {
        store(narrowed, as_bytes, to + k * pitch);
      } else {
        store_chunk(narrowed, to + k * pitch);
        store_chunk(hn::TableLookupBytes(column, narrow_end_),
                    to + k * pitch + count_ * e_ - static_cast<std::int64_t>(Chunk));
      }
    }
  }

  std::int64_t e_;
  std::int64_t surplus_;
  std::int64_t count_;
  vector first_, later_, narrow_, narrow_end_{};
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
