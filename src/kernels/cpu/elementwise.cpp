// Plain loops over kernels::apply, which the compiler turns into those of each SIMD target.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "kernels/cpu/elementwise.hpp"
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

// Two by two: a copy of the whole would be one wide integer, of which there are no vectors.
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

// Each element is read before it is written, and nothing else is written there.
#if defined(__clang__)
#define CORNERTURN_NO_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CORNERTURN_NO_DEPENDENCE _Pragma("GCC ivdep")
#endif

// `Parts` elements of the loop are one of the problem: components of complex numbers that are computed by themselves.
template <terms Terms, class Src, class Dst, int Parts>
void run(const op& how, std::int64_t count, const std::byte* const* src, const std::byte* const* second,
         std::byte* const* to, std::int64_t n, float scale) {
  constexpr bool reads_src = Terms != terms::beta && Terms != terms::zero;
  constexpr bool reads_second = Terms == terms::both || Terms == terms::beta;
  constexpr auto src_bytes = static_cast<std::int64_t>(sizeof(Src));
  constexpr auto dst_bytes = static_cast<std::int64_t>(sizeof(Dst));
  const op mine = how;  // no store changes it
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
      write(apply<Terms>(mine, s, d, scale), into + k * dst_bytes);
    }
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define CORNERTURN_CONVERTS_FLOAT16 1
// float16 goes by the processor's own conversions, a piece at a time, and the arithmetic is done on floats in between.
inline constexpr std::int64_t piece = 256;

HWY_INLINE void widen_all(const std::byte* from, float* to, std::int64_t n) {
  const hn::CappedTag<float, 8> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> small;
  constexpr std::int64_t step = 8;
  std::int64_t k = 0;
  for (; k + step <= n; k += step) {
    hn::StoreU(hn::PromoteTo(wide, hn::LoadU(small, reinterpret_cast<const hwy::float16_t*>(from + 2 * k))), wide,
               to + k);
  }
  for (; k < n; ++k) to[k] = widen(read<float16>(from + 2 * k));
}

// The largest number is taken beforehand, and NaN is what it is to become.
HWY_INLINE void narrow_all(const std::byte* from, bool saturate, std::byte* to, std::int64_t n) {
  const hn::CappedTag<float, 8> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> small;
  constexpr std::int64_t step = 8;
  const auto nan = hn::Set(wide, bits_as<float>(0x7fffffffu));
  const auto most = hn::Set(wide, saturate ? 65504.0F : bits_as<float>(0x7f800000u));
  std::int64_t k = 0;
  for (; k + step <= n; k += step) {
    const auto x = hn::LoadU(wide, reinterpret_cast<const float*>(from + 4 * k));
    const auto within = hn::Max(hn::Min(x, most), hn::Neg(most));
    const auto made = hn::IfThenElse(hn::IsNaN(x), nan, within);
    hn::StoreU(hn::DemoteTo(small, made), small, reinterpret_cast<hwy::float16_t*>(to + 2 * k));
  }
  for (; k < n; ++k) write(narrow<float16>(read<float>(from + 4 * k), saturate), to + 2 * k);
}

template <terms Terms, class Src, class Dst>
void run_pieces(const op& how, std::int64_t count, const std::byte* const* src, const std::byte* const* second,
                std::byte* const* to, std::int64_t n, float scale) {
  constexpr bool reads_src = Terms != terms::beta && Terms != terms::zero;
  constexpr bool reads_second = Terms == terms::both || Terms == terms::beta;
  constexpr bool from_half = std::is_same_v<Src, float16>;
  constexpr bool to_half = std::is_same_v<Dst, float16>;
  const auto alpha = static_cast<float>(how.alpha_re);
  const auto beta = static_cast<float>(how.beta_re);
  const bool saturate = how.saturate;
  alignas(64) float wide_s[piece];
  alignas(64) float wide_d[piece];
  alignas(64) float made[piece];
  // The floats of k ... k + some: where they lie, or widened.
  const auto floats = [](const std::byte* from, std::int64_t k, std::int64_t some, bool half, float* room) HWY_ATTR {
    if (!half) return from + 4 * k;
    widen_all(from + 2 * k, room, some);
    return reinterpret_cast<const std::byte*>(room);
  };
  for (std::int64_t run = 0; run < count; ++run) {
    for (std::int64_t k = 0; k < n; k += piece) {
      const std::int64_t some = HWY_MIN(piece, n - k);
      const std::byte* const s = reads_src ? floats(src[run], k, some, from_half, wide_s) : nullptr;
      const std::byte* const d = reads_second ? floats(second[run], k, some, to_half, wide_d) : nullptr;
      std::byte* const into = to[run] + k * static_cast<std::int64_t>(sizeof(Dst));
      if constexpr (to_half && Terms == terms::value) {
        narrow_all(s, saturate, into, some);
        continue;
      }
      CORNERTURN_NO_DEPENDENCE
      for (std::int64_t j = 0; j < some; ++j) {
        float r = combine<Terms>(alpha, reads_src ? read<float>(s + 4 * j) : 0.0F, beta,
                                 reads_second ? read<float>(d + 4 * j) : 0.0F);
        if constexpr (is_float8<Dst>) r *= scale;
        if constexpr (to_half) {
          made[j] = r;
        } else {
          write(narrow<Dst>(r, saturate), into + j * static_cast<std::int64_t>(sizeof(Dst)));
        }
      }
      if constexpr (to_half) narrow_all(reinterpret_cast<const std::byte*>(made), saturate, into, some);
    }
  }
}
#else
#define CORNERTURN_CONVERTS_FLOAT16 0
#endif

template <terms Terms, class Src, class Dst>
run_function run_of_types(const op& how) {
  if constexpr (is_complex<Src>) {
    using Part = typename Src::part;
    if (!how.conj && !how.complex_scalars) return &run<Terms, Part, Part, 2>;
  }
#if CORNERTURN_CONVERTS_FLOAT16
  constexpr bool half = std::is_same_v<Src, float16> || std::is_same_v<Dst, float16>;
  if constexpr (half && !(std::is_same_v<Src, Dst> && Terms == terms::value)) return &run_pieces<Terms, Src, Dst>;
#endif
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
#undef CORNERTURN_CONVERTS_FLOAT16
#undef CORNERTURN_NO_DEPENDENCE

#if HWY_ONCE
namespace cornerturn::kernels::cpu {

HWY_EXPORT(find_run);
run_function run_of(const op& how) noexcept { return HWY_DYNAMIC_DISPATCH(find_run)(how); }

}  // namespace cornerturn::kernels::cpu
#endif  // HWY_ONCE
