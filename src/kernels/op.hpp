// The arithmetic of a problem, prepared for the kernels. This file has the numbers; element.hpp computes elements.
#pragma once

#include <cstdint>

#include "cornerturn/arithmetic.hpp"
#include "map/host_device.hpp"

namespace cornerturn::kernels {

// The terms of alpha * s + beta * S. value: s, as bits or converted. zero: no term.
enum class terms : std::int32_t { value = 0, alpha, both, beta, zero };

// op_of() computes it from problem::math: alpha and beta are rounded to the type of the arithmetic.
struct op {
  element_type src = element_type::bits;
  element_type dst = element_type::bits;
  std::int32_t word_bytes = 1;  // of src, if its type is `bits`
  kernels::terms terms = kernels::terms::value;
  second_array second = second_array::none;  // source if beta is not 0; it may be dst itself
  bool sums_into_dst = false;                // the second source is dst
  bool conj = false;
  bool saturate = false;  // false if both types are equal
  bool scaled = false;
  bool complex_scalars = false;  // an imaginary part is not 0: whole complex products
  double alpha_re = 1, alpha_im = 0;
  double beta_re = 0, beta_im = 0;

  [[nodiscard]] CORNERTURN_HOST_DEVICE constexpr bool reads_src() const {
    return terms != kernels::terms::beta && terms != kernels::terms::zero;
  }
  [[nodiscard]] CORNERTURN_HOST_DEVICE constexpr bool reads_second() const {
    return terms == kernels::terms::both || terms == kernels::terms::beta;
  }
};

// True if `math` may convert from src to dst: see the list in cornerturn/arithmetic.hpp.
[[nodiscard]] constexpr bool pair_exists(element_type src, element_type dst) noexcept {
  using enum element_type;
  if (src == dst) return true;
  if (src >= int8 && dst >= int8) return true;
  if (dst == float8_e4m3 || dst == float8_e5m2) return src == float32 || src == float16 || src == bfloat16;
  if (src == float32) return dst == float16 || dst == bfloat16 || dst == float64;
  return dst == float32 && (src == float16 || src == bfloat16 || src == float64);
}

// Requires  math that api/check.cpp accepts
[[nodiscard]] inline op op_of(const arithmetic& math, std::int64_t element_bytes) noexcept {
  using enum element_type;
  op made;
  made.src = math.src;
  made.dst = math.dst;
  made.word_bytes = static_cast<std::int32_t>(element_bytes);
  made.conj = math.conj;
  made.saturate = math.saturate && math.src != math.dst;
  made.scaled = math.scaled;
  const auto is_wide = [](element_type type) { return type == float64 || type == complex128; };
  const bool wide = is_wide(math.src) || is_wide(math.dst);
  const auto rounded = [wide](double x) { return wide ? x : static_cast<double>(static_cast<float>(x)); };
  made.alpha_re = rounded(math.alpha.re);
  made.alpha_im = rounded(math.alpha.im);
  made.beta_re = rounded(math.beta.re);
  made.beta_im = rounded(math.beta.im);
  made.complex_scalars = made.alpha_im != 0 || made.beta_im != 0;
  const bool no_alpha = made.alpha_re == 0 && made.alpha_im == 0;
  const bool one = made.alpha_re == 1 && made.alpha_im == 0;
  const bool no_beta = made.beta_re == 0 && made.beta_im == 0;
  made.terms = no_alpha  ? (no_beta ? terms::zero : terms::beta)
               : no_beta ? (one ? terms::value : terms::alpha)
                         : terms::both;
  made.second = math.second == second_array::destination ? math.second
                : no_beta                                ? second_array::none
                                                         : second_array::source;
  made.sums_into_dst = made.second == second_array::source && math.second == second_array::none;
  return made;
}

}  // namespace cornerturn::kernels
