// Copies one element of up to 128 bytes: a vector of each half, which may overlap in the middle. No byte beside the element is touched,
// but for the begin of the next one by copy_masked.
#if defined(CORNERTURN_ELEMENT_COPY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENT_COPY_INL
#undef CORNERTURN_ELEMENT_COPY_INL
#else
#define CORNERTURN_ELEMENT_COPY_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bytes is a power of two: one word up to 8 bytes, else the widest vectors of the target.
template <std::size_t Bytes>
HWY_INLINE void copy_chunk(std::byte* to, const std::byte* from) {
  if constexpr (Bytes <= 8) {
    std::memcpy(to, from, Bytes);
  } else {
    const hn::CappedTag<std::uint8_t, Bytes> d;
    for (std::size_t k = 0; k < Bytes; k += hn::MaxLanes(d)) {
      hn::StoreU(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + k)), d,
                 reinterpret_cast<std::uint8_t*>(to + k));
    }
  }
}

template <std::size_t Bytes>
struct copy_one {
  static constexpr bool overlaps = false;
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const { copy_chunk<Bytes>(to, from); }
};

// Elements of Chunk to Chunk + Tail bytes.
template <std::size_t Chunk, std::size_t Tail>
struct copy_two {
  static constexpr bool overlaps = false;
  std::int64_t tail;  // where it begins
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    copy_chunk<Chunk>(to, from);
    copy_chunk<Tail>(to + tail, from + tail);
  }
};

// Elements of three words: the compiler knows where the tail begins.
template <std::size_t Chunk>
struct copy_triple {
  static constexpr bool overlaps = false;
  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    copy_chunk<Chunk>(to, from);
    copy_chunk<Chunk / 2>(to + Chunk, from + Chunk);
  }
};

// The smallest tail that reaches the end: fewer of its loads and stores cross a cache line. 468 x 12 of 33 bytes in cache takes 8.6 us
// with 32 + 8 bytes, 15.6 with 32 + 32 (Intel Xeon, model 207, 2026-11-27).
template <std::size_t Chunk, class With>
HWY_INLINE void with_two_copies(std::int64_t size, const With& with) {
  const auto chunk = static_cast<std::int64_t>(Chunk);
  if (size <= chunk + chunk / 4) return with(copy_two<Chunk, Chunk / 4>{size - chunk / 4});
  if (size <= chunk + chunk / 2) return with(copy_two<Chunk, Chunk / 2>{size - chunk / 2});
  with(copy_two<Chunk, Chunk>{size - chunk});
}

// Effect  calls with(copy), where copy(to, from) copies an element
// Shape   1 <= size <= 128
template <class With>
HWY_INLINE void with_element_copy(std::int64_t size, const With& with) {
  switch (size) {
    case 1:
      return with(copy_one<1>{});
    case 2:
      return with(copy_one<2>{});
    case 3:
      return with(copy_triple<2>{});
    case 4:
      return with(copy_one<4>{});
    case 6:
      return with(copy_triple<4>{});
    case 8:
      return with(copy_one<8>{});
    case 12:
      return with(copy_triple<8>{});
    case 16:
      return with(copy_one<16>{});
    case 24:
      return with(copy_triple<16>{});
    case 32:
      return with(copy_one<32>{});
    case 64:
      return with(copy_one<64>{});
    default:
      break;
  }
  if (size < 8) return with_two_copies<4>(size, with);
  if (size < 16) return with_two_copies<8>(size, with);
  if (size <= 32) return with_two_copies<16>(size, with);
  if (size <= 64) return with_two_copies<32>(size, with);
  with_two_copies<64>(size, with);
}

// Elements of more than half of Bytes by one load and one store each. The store also writes the begin of the next element of the row;
// the last one of a row is stored by copy_last. Loops of known sizes take 119 ns for 20 x 21 of 12 bytes, by two words each 165 (Zen 4,
// 2026-11-30).
#if HWY_TARGET <= HWY_AVX3
template <std::size_t Bytes>
struct copy_masked {
  static constexpr bool overlaps = true;
  using tag = hn::FixedTag<std::uint8_t, Bytes>;
  hn::Mask<tag> mask;

  HWY_INLINE void operator()(std::byte* to, const std::byte* from) const {
    hn::StoreU(load(from), tag(), reinterpret_cast<std::uint8_t*>(to));
  }
  HWY_INLINE void copy_last(std::byte* to, const std::byte* from) const {
    hn::BlendedStore(load(from), mask, tag(), reinterpret_cast<std::uint8_t*>(to));
  }

 private:
  HWY_INLINE hn::VFromD<tag> load(const std::byte* from) const {
    return hn::MaskedLoad(mask, tag(), reinterpret_cast<const std::uint8_t*>(from));
  }
};
#endif

// Effect  calls with(copy) for elements that are neighbours in dst, if the target has such a copy of them
// Returns false if it has none
template <class With>
HWY_INLINE bool with_masked_copy([[maybe_unused]] std::int64_t size, [[maybe_unused]] const With& with) {
#if HWY_TARGET <= HWY_AVX3
  const auto masked = [&](auto copy) {
    copy.mask = hn::FirstN(typename decltype(copy)::tag(), static_cast<std::size_t>(size));
    with(copy);
    return true;
  };
  if ((size & (size - 1)) == 0 || size > 64) return false;
  if (size < 4) return masked(copy_masked<4>{});
  if (size < 8) return masked(copy_masked<8>{});
  if (size < 16) return masked(copy_masked<16>{});
  return size < 32 ? masked(copy_masked<32>{}) : masked(copy_masked<64>{});
#else
  return false;
#endif
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
