// Arithmetic on a GPU: kernels::apply for a few neighbouring elements in registers. Every bit equals the result of
// kernels/element.hpp. The vendor's conversions are used if they give the same bits.
//
//   1. elements in words
//   2. small floats, two at a time
//   3. one struct for each arithmetic_kind; the factors in arithmetic_args make one formula of all terms
//   4. with_math(): selects the struct for an arithmetic_args, once for each thread
#pragma once

#include "kernels/element.hpp"
#include "kernels/gpu/apply/args.hpp"

namespace cornerturn::gpu {

// 1. Words of `Count` elements of `Bytes` bytes; elements of less than a word are in its low bits.
template <int Bytes, int Count>
inline constexpr int words_of = (Bytes * Count + 3) / 4;

template <class T>
GPU_INLINE T element_of(const uint32_t* words, int k) {
  constexpr int size = sizeof(T);
  if constexpr (size == 1) {
    return kernels::bits_as<T>(static_cast<std::uint8_t>(words[k / 4] >> k % 4 * 8));
  } else if constexpr (size == 2) {
    return kernels::bits_as<T>(static_cast<std::uint16_t>(words[k / 2] >> k % 2 * 16));
  } else if constexpr (size == 4) {
    return kernels::bits_as<T>(words[k]);
  } else {
    return kernels::bits_as<T>(std::uint64_t{words[2 * k + 1]} << 32 | words[2 * k]);
  }
}

// Requires  the words are 0 before, if Bytes < 4
template <int Bytes>
GPU_INLINE void put_element(uint32_t* words, int k, std::uint64_t bits) {
  if constexpr (Bytes < 4) {
    words[k * Bytes / 4] |= (static_cast<uint32_t>(bits) & ((1u << 8 * Bytes) - 1)) << k * Bytes % 4 * 8;
  } else {
    words[k * Bytes / 4] = static_cast<uint32_t>(bits);
    if constexpr (Bytes == 8) words[2 * k + 1] = static_cast<uint32_t>(bits >> 32);
  }
}

GPU_INLINE float wide(kernels::float16 x) {
  if constexpr (has_small_floats) return float_of_float16(x.bits);
  return kernels::widen(x);
}
GPU_INLINE float wide(kernels::bfloat16 x) { return kernels::widen(x); }
GPU_INLINE float wide(float x) { return x; }
GPU_INLINE double wide(double x) { return x; }

// 2. Two numbers as Dst, the first in the low bits. The vendor's conversions differ from element.hpp in two ways, which
//    are
// corrected here: a NaN has all bits set but the sign, and without `saturate` a float8 may become infinity or NaN.
template <class Dst>
GPU_INLINE uint32_t narrow_pair(float low, float high, bool saturate) {
  if constexpr (!has_small_floats) {
    const uint32_t upper = kernels::narrow<Dst>(high, saturate).bits;
    return kernels::narrow<Dst>(low, saturate).bits | upper << 8 * sizeof(Dst);
  } else if constexpr (std::is_same_v<Dst, kernels::float8_e4m3>) {
    // 464 is halfway between 448, the largest number, and 480, the next one if it existed. Larger numbers become NaN.
    const float limit = saturate ? std::numeric_limits<float>::infinity() : 464.0f;
    const float nan = kernels::bits_as<float>(0x7fffffffu);
    return pair_of_e4m3(std::fabs(low) <= limit ? low : nan, std::fabs(high) <= limit ? high : nan);
  } else if constexpr (std::is_same_v<Dst, kernels::float8_e5m2>) {
    // 61440 is halfway between 57344, the largest number, and 65536. It and larger numbers become infinity.
    uint32_t pair = pair_of_e5m2(low != low ? kernels::bits_as<float>(0x7fffffffu) : low,
                                 high != high ? kernels::bits_as<float>(0x7fffffffu) : high);
    if (!saturate && std::fabs(low) >= 61440.0f) pair = (pair & 0xff80u) | 0x7cu;
    if (!saturate && std::fabs(high) >= 61440.0f) pair = (pair & 0x80ffu) | 0x7c00u;
    return pair;
  } else {
    constexpr bool half = std::is_same_v<Dst, kernels::float16>;
    constexpr float most = half ? 65504.0f : 0x1.fep127f;
    const float limit = saturate ? most : std::numeric_limits<float>::infinity();
    low = clamped(low, limit), high = clamped(high, limit);
    return half ? pair_of_float16(low, high) : pair_of_bfloat16(low, high);
  }
}

// 3. make() takes the words of Count elements of src and of the second array, and makes the words of dst.
template <int Bytes>
struct move_math {
  uint32_t flip;

  GPU_INLINE explicit move_math(const arithmetic_args& args, float /*scale*/) : flip(args.flip) {}
  template <int Count>
  GPU_INLINE void make(const uint32_t* s, const uint32_t* /*second*/, uint32_t* made) const {
    GPU_UNROLL for (int k = 0; k < words_of<Bytes, Count>; ++k) {
      made[k] = (Bytes == 8 && k % 2 == 1) || (Bytes == 16 && k % 4 == 3) ? s[k] ^ flip : s[k];
    }
  }
};

template <int SrcBytes, int DstBytes>
struct integer_math {
  using number = std::conditional_t<SrcBytes == 8, int64_t, int32_t>;
  using bits = std::make_unsigned_t<number>;
  bits bias;
  number lowest, highest;
  bool is_signed;

  GPU_INLINE explicit integer_math(const arithmetic_args& args, float /*scale*/)
      : bias(static_cast<bits>(args.bias)),
        lowest(static_cast<number>(args.lowest)),
        highest(static_cast<number>(args.highest)),
        is_signed(args.is_signed != 0) {}
  template <int Count>
  GPU_INLINE void make(const uint32_t* s, const uint32_t* /*second*/, uint32_t* made) const {
    GPU_UNROLL for (int k = 0; k < words_of<DstBytes, Count>; ++k) made[k] = 0;
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      bits x = 0;
      if constexpr (SrcBytes < 4) {
        using part = std::conditional_t<SrcBytes == 1, std::uint8_t, std::uint16_t>;
        x = element_of<part>(s, k);
        if (is_signed) x = static_cast<bits>(number{static_cast<std::make_signed_t<part>>(x)});
      } else {
        x = element_of<bits>(s, k);
      }
      auto y = static_cast<number>(x ^ bias);
      y = y < lowest ? lowest : y > highest ? highest : y;
      x = static_cast<bits>(y) ^ bias;
      const auto extended = is_signed ? static_cast<std::uint64_t>(int64_t{static_cast<number>(x)}) : std::uint64_t{x};
      put_element<DstBytes>(made, k, extended);
    }
  }
};

template <class Src, class Dst>
struct real_math {
  static constexpr bool in_double = std::is_same_v<Src, double> || std::is_same_v<Dst, double>;
  using number = std::conditional_t<in_double, double, float>;
  number alpha, beta;
  float scale;
  bool saturate;

  GPU_INLINE explicit real_math(const arithmetic_args& args, float by)
      : alpha(static_cast<number>(args.alpha_re)),
        beta(static_cast<number>(args.beta_re)),
        scale(by),
        saturate(args.saturate != 0) {}
  GPU_INLINE number one(const uint32_t* s, const uint32_t* second, int k) const {
    const auto from = static_cast<number>(wide(element_of<Src>(s, k)));
    if constexpr (kernels::is_float8<Dst>) {
      return alpha * from * scale;
    } else {
      return std::fma(alpha, from, beta * static_cast<number>(wide(element_of<Dst>(second, k))));
    }
  }
  template <int Count>
  GPU_INLINE void make(const uint32_t* s, const uint32_t* second, uint32_t* made) const {
    if constexpr (sizeof(Dst) < 4) {
      GPU_UNROLL for (int k = 0; k < words_of<sizeof(Dst), Count>; ++k) made[k] = 0;
      GPU_UNROLL for (int k = 0; k < Count; k += 2) {
        const float low = one(s, second, k), high = k + 1 < Count ? one(s, second, k + 1) : low;
        made[k * sizeof(Dst) / 4] |= narrow_pair<Dst>(low, high, saturate) << k * sizeof(Dst) % 4 * 8;
      }
    } else {
      GPU_UNROLL for (int k = 0; k < Count; ++k) {
        const Dst r = kernels::narrow<Dst>(one(s, second, k), saturate);
        using bits = std::conditional_t<sizeof(Dst) == 8, std::uint64_t, uint32_t>;
        put_element<sizeof(Dst)>(made, k, kernels::bits_as<bits>(r));
      }
    }
  }
};

template <class Part>
struct parts_math {
  real_math<Part, Part> real;
  move_math<2 * sizeof(Part)> conj;

  GPU_INLINE explicit parts_math(const arithmetic_args& args, float scale) : real(args, scale), conj(args, scale) {}
  template <int Count>
  GPU_INLINE void make(const uint32_t* s, const uint32_t* second, uint32_t* made) const {
    uint32_t from[words_of<2 * sizeof(Part), Count>];
    conj.template make<Count>(s, nullptr, from);
    real.template make<2 * Count>(from, second, made);
  }
};

template <class Part>
struct complex_math {
  Part ar, ai, br, bi;
  bool reads_src, reads_second;
  move_math<2 * sizeof(Part)> conj;

  GPU_INLINE explicit complex_math(const arithmetic_args& args, float scale)
      : ar(static_cast<Part>(args.alpha_re)),
        ai(static_cast<Part>(args.alpha_im)),
        br(static_cast<Part>(args.beta_re)),
        bi(static_cast<Part>(args.beta_im)),
        reads_src(args.reads_src != 0),
        reads_second(args.reads_second != 0),
        conj(args, scale) {}
  template <int Count>
  GPU_INLINE void make(const uint32_t* s, const uint32_t* second, uint32_t* made) const {
    using bits = std::conditional_t<sizeof(Part) == 8, std::uint64_t, uint32_t>;
    uint32_t from[words_of<2 * sizeof(Part), Count>];
    conj.template make<Count>(s, nullptr, from);
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      const Part sr = element_of<Part>(from, 2 * k), si = element_of<Part>(from, 2 * k + 1);
      Part qr = Part{-0.0}, qi = Part{-0.0};
      if (reads_second) {
        const Part Sr = element_of<Part>(second, 2 * k), Si = element_of<Part>(second, 2 * k + 1);
        qr = std::fma(br, Sr, -(bi * Si)), qi = std::fma(br, Si, bi * Sr);
      }
      if (reads_src) {
        const Part rr = std::fma(ar, sr, std::fma(-ai, si, qr));
        qi = std::fma(ar, si, std::fma(ai, sr, qi));
        qr = rr;
      }
      put_element<sizeof(Part)>(made, 2 * k, kernels::bits_as<bits>(kernels::narrow<Part>(qr, false)));
      put_element<sizeof(Part)>(made, 2 * k + 1, kernels::bits_as<bits>(kernels::narrow<Part>(qi, false)));
    }
  }
};

// 4. Calls f(math) with the struct for `args`, if its elements have these sizes.
template <int SrcBytes, int DstBytes, class F>
GPU_INLINE void with_math(const arithmetic_args& args, float scale, const F& f) {
  using enum element_type;
  const auto real = [&](auto src, auto dst, element_type of_src, element_type of_dst) {
    using Src = decltype(src);
    using Dst = decltype(dst);
    if constexpr (sizeof(Src) == SrcBytes && sizeof(Dst) == DstBytes) {
      if (args.src == of_src && args.dst == of_dst) f(real_math<Src, Dst>(args, scale));
    }
  };
  if (args.kind == arithmetic_kind::move) {
    if constexpr (SrcBytes == DstBytes) f(move_math<SrcBytes>(args, scale));
  } else if (args.kind == arithmetic_kind::integer) {
    if constexpr (SrcBytes <= 8 && DstBytes <= 8) f(integer_math<SrcBytes, DstBytes>(args, scale));
  } else if (args.kind == arithmetic_kind::parts) {
    if constexpr (SrcBytes == 8 && DstBytes == 8) f(parts_math<float>(args, scale));
    if constexpr (SrcBytes == 16 && DstBytes == 16) f(parts_math<double>(args, scale));
  } else if (args.kind == arithmetic_kind::complex) {
    if constexpr (SrcBytes == 8 && DstBytes == 8) f(complex_math<float>(args, scale));
    if constexpr (SrcBytes == 16 && DstBytes == 16) f(complex_math<double>(args, scale));
  } else {
    const kernels::float16 half{};
    const kernels::bfloat16 brain{};
    real(half, half, float16, float16);
    real(brain, brain, bfloat16, bfloat16);
    real(0.0f, 0.0f, float32, float32);
    real(0.0, 0.0, float64, float64);
    real(half, 0.0f, float16, float32);
    real(brain, 0.0f, bfloat16, float32);
    real(0.0f, half, float32, float16);
    real(0.0f, brain, float32, bfloat16);
    real(0.0f, 0.0, float32, float64);
    real(0.0, 0.0f, float64, float32);
    real(0.0f, kernels::float8_e4m3{}, float32, float8_e4m3);
    real(0.0f, kernels::float8_e5m2{}, float32, float8_e5m2);
    real(half, kernels::float8_e4m3{}, float16, float8_e4m3);
    real(half, kernels::float8_e5m2{}, float16, float8_e5m2);
    real(brain, kernels::float8_e4m3{}, bfloat16, float8_e4m3);
    real(brain, kernels::float8_e5m2{}, bfloat16, float8_e5m2);
  }
}

}  // namespace cornerturn::gpu
