// Plain loops over kernels::apply. The compiler vectorizes them for each SIMD target.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/apply/elementwise.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/small_floats-inl.hpp"
#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
HWY_INLINE void write(const T& value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

// Complex numbers are copied part by part. A copy of the whole number would be one wide integer, and vectors have no lanes
// of that width.
template <class T>
requires is_complex<T> HWY_INLINE T read(const std::byte* from) {
  using part = typename T::part;
  return {read<part>(from), read<part>(from + sizeof(part))};
}
template <class T>
requires is_complex<T> HWY_INLINE void write(const T& value, std::byte* to) {
  write(value.re, to);
  write(value.im, to + sizeof value.re);
}
template <class T>
requires std::is_same_v<T, word16> HWY_INLINE T read(const std::byte* from) {
  return {read<std::uint64_t>(from), read<std::uint64_t>(from + 8)};
}
HWY_INLINE void write(const word16& value, std::byte* to) {
  write(value.low, to);
  write(value.high, to + 8);
}

// Promises the compiler that loop iterations are independent: an iteration loads its elements before it stores to them, and
// no other iteration stores there.
#if defined(__clang__)
#define CORNERTURN_NO_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CORNERTURN_NO_DEPENDENCE _Pragma("GCC ivdep")
#endif

// With Parts = 2 the loop runs over the real and imaginary parts of complex numbers: two elements of the loop are one
// element of the problem.
template <terms Terms, class Src, class Dst, int Parts>
void run(const op& how, std::int64_t count, const std::byte* const* src, const std::byte* const* second,
         std::byte* const* to, std::int64_t n, float scale) {
  constexpr bool reads_src = Terms != terms::beta && Terms != terms::zero;
  constexpr bool reads_second = Terms == terms::both || Terms == terms::beta;
  constexpr auto src_bytes = static_cast<std::int64_t>(sizeof(Src));
  constexpr auto dst_bytes = static_cast<std::int64_t>(sizeof(Dst));
  const op mine = how;  // a local copy: the compiler knows that no store changes it
  n *= Parts;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::byte* const from = reads_src ? src[r] : nullptr;
    const std::byte* const other = reads_second ? second[r] : nullptr;
    std::byte* const into = to[r];
    CORNERTURN_NO_DEPENDENCE
    for (std::int64_t k = 0; k < n; ++k) {
      Src s{};
      Dst d{};
      if constexpr (reads_src) s = read<Src>(from + k * src_bytes);
      if constexpr (reads_second) d = read<Dst>(other + k * dst_bytes);
      write(kernels::apply<Terms>(mine, s, d, scale), into + k * dst_bytes);
    }
  }
}

// The arithmetic runs on floats, one piece of this many elements at a time, and vector code then narrows the piece. Compilers
// would make three times as many instructions of narrow().
inline constexpr std::int64_t piece = 256;

HWY_INLINE void widen_all(const std::byte* from, float* to, std::int64_t n) {
  std::int64_t k = 0;
  if constexpr (converts_float16) {
    const floats wide;
    const hn::Rebind<hwy::float16_t, floats> small;
    constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(floats()));
    for (; k + step <= n; k += step) {
      hn::StoreU(hn::PromoteTo(wide, hn::LoadU(small, reinterpret_cast<const hwy::float16_t*>(from + 2 * k))), wide,
                 to + k);
    }
  }
  for (; k < n; ++k) to[k] = widen(read<float16>(from + 2 * k));
}

#if HWY_TARGET <= HWY_AVX3
template <class T>
inline constexpr bool narrows_two = !std::is_same_v<T, float16>;
#else
template <class T>
inline constexpr bool narrows_two = std::is_same_v<T, bfloat16>;
#endif

// Narrows the floats of one vector, or of two vectors if narrows_two.
template <class T>
HWY_INLINE void narrow_some(const float* from, bool saturate, std::byte* to) {
  const floats wide;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (is_float8<T>) {
    const auto two = narrower<T>::rounded_two(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16), saturate);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), two);
    return;
  }
#endif
  const auto rounded = narrower<T>::rounded(hn::LoadU(wide, from), saturate);
  if constexpr (std::is_same_v<T, bfloat16>) {
    const hn::Repartition<std::uint16_t, floats> halves;
    const auto upper = narrower<T>::rounded(hn::LoadU(wide, from + hn::MaxLanes(wide)), saturate);
    hn::StoreU(hn::ConcatOdd(halves, hn::BitCast(halves, upper), hn::BitCast(halves, rounded)), halves,
               reinterpret_cast<std::uint16_t*>(to));
  } else if constexpr (std::is_same_v<T, float16>) {
    const hn::Rebind<hwy::float16_t, floats> small;
    hn::StoreU(rounded, small, reinterpret_cast<hwy::float16_t*>(to));
  } else {
    const hn::Rebind<std::uint8_t, floats> bytes;
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, reinterpret_cast<std::uint8_t*>(to));
  }
}

template <class T>
HWY_INLINE void narrow_all(const std::byte* from, bool saturate, std::byte* to, std::int64_t n) {
  constexpr auto step = static_cast<std::int64_t>((narrows_two<T> ? 2 : 1) * hn::MaxLanes(floats()));
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  std::int64_t k = 0;
  for (; k + step <= n; k += step) {
    narrow_some<T>(reinterpret_cast<const float*>(from + 4 * k), saturate, to + bytes * k);
  }
  for (; k < n; ++k) write(narrow<T>(read<float>(from + 4 * k), saturate), to + bytes * k);
}

template <terms Terms, class Src, class Dst>
void run_pieces(const op& how, std::int64_t count, const std::byte* const* src, const std::byte* const* second,
                std::byte* const* to, std::int64_t n, float scale) {
  constexpr bool reads_src = Terms != terms::beta && Terms != terms::zero;
  constexpr bool reads_second = Terms == terms::both || Terms == terms::beta;
  constexpr bool from_half = std::is_same_v<Src, float16>;
  constexpr bool to_half = std::is_same_v<Dst, float16>;
  constexpr bool narrows = !std::is_same_v<Dst, float>;
  constexpr auto src_bytes = static_cast<std::int64_t>(from_half ? sizeof(float) : sizeof(Src));
  constexpr auto second_bytes = static_cast<std::int64_t>(to_half ? sizeof(float) : sizeof(Dst));
  using src_float = std::conditional_t<from_half, float, Src>;
  using second_float = std::conditional_t<to_half, float, Dst>;
  const auto alpha = static_cast<float>(how.alpha_re);
  const auto beta = static_cast<float>(how.beta_re);
  const bool saturate = how.saturate;
  alignas(64) float wide_s[piece];
  alignas(64) float wide_d[piece];
  alignas(64) float made[piece];
  // A pointer to elements [k, k + some): where they are stored or, for float16, widened into `room`.
  const auto part = [](const std::byte* from, std::int64_t k, std::int64_t some, std::int64_t bytes, bool half,
                       float* room) HWY_ATTR {
    if (!half) return from + bytes * k;
    widen_all(from + 2 * k, room, some);
    return reinterpret_cast<const std::byte*>(room);
  };
  for (std::int64_t run = 0; run < count; ++run) {
    for (std::int64_t k = 0; k < n; k += piece) {
      const std::int64_t some = HWY_MIN(piece, n - k);
      const std::byte* const s = reads_src ? part(src[run], k, some, src_bytes, from_half, wide_s) : nullptr;
      const std::byte* const d = reads_second ? part(second[run], k, some, second_bytes, to_half, wide_d) : nullptr;
      std::byte* const into = to[run] + k * static_cast<std::int64_t>(sizeof(Dst));
      if constexpr (narrows && !is_float8<Dst> && Terms == terms::value && std::is_same_v<src_float, float>) {
        narrow_all<Dst>(s, saturate, into, some);
        continue;
      }
      CORNERTURN_NO_DEPENDENCE
      for (std::int64_t j = 0; j < some; ++j) {
        float x = 0, y = 0;
        if constexpr (reads_src) x = widen(read<src_float>(s + src_bytes * j));
        if constexpr (reads_second) y = widen(read<second_float>(d + second_bytes * j));
        float r = combine<Terms>(alpha, x, beta, y);
        if constexpr (is_float8<Dst>) r *= scale;
        if constexpr (narrows) {
          made[j] = r;
        } else {
          write(narrow<Dst>(r, saturate), into + 4 * j);
        }
      }
      if constexpr (narrows) narrow_all<Dst>(reinterpret_cast<const std::byte*>(made), saturate, into, some);
    }
  }
}

template <terms Terms, class Src, class Dst>
run_function run_of_types(const op& how) {
  if constexpr (is_complex<Src>) {
    using Part = typename Src::part;
    if (!how.conj && !how.complex_scalars) return &run<Terms, Part, Part, 2>;
  }
  constexpr bool half = std::is_same_v<Src, float16> || std::is_same_v<Dst, float16>;
  constexpr bool narrows = is_float8<Dst> || std::is_same_v<Dst, bfloat16>;
  constexpr bool same = std::is_same_v<Src, Dst> && Terms == terms::value;
  if constexpr ((half ? converts_float16 : narrows) && !same) return &run_pieces<Terms, Src, Dst>;
  return &run<Terms, Src, Dst, 1>;
}

run_function find_run(const op& how) {
  run_function found = nullptr;
  visit(how, [&](auto src, auto dst, auto which) {
    found = run_of_types<which.value, typename decltype(src)::storage, typename decltype(dst)::storage>(how);
  });
  return found;
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#undef CORNERTURN_NO_DEPENDENCE

#if HWY_ONCE
namespace cornerturn::kernels::cpu {

HWY_EXPORT(find_run);
run_function run_of(const op& how) noexcept { return HWY_DYNAMIC_DISPATCH(find_run)(how); }

}  // namespace cornerturn::kernels::cpu
#endif  // HWY_ONCE
