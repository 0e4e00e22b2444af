// Plain loops over kernels::apply, which the compiler turns into those of each SIMD target.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h
#include <hwy/highway.h>

#include "kernels/cpu/elementwise.hpp"
#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// `Parts` elements of the loop are one of the problem: components of complex numbers that are computed by themselves.
template <terms Terms, class Src, class Dst, int Parts>
void run(const op& how, const std::byte* src, const std::byte* second, std::byte* HWY_RESTRICT to, std::int64_t n,
         float scale) {
  const op mine = how;  // no store changes it
  n *= Parts;
  for (std::int64_t k = 0; k < n; ++k) {
    Src s{};
    Dst other{};
    if constexpr (Terms != terms::beta && Terms != terms::zero) {
      std::memcpy(&s, src + k * static_cast<std::int64_t>(sizeof s), sizeof s);
    }
    if constexpr (Terms == terms::both || Terms == terms::beta) {
      std::memcpy(&other, second + k * static_cast<std::int64_t>(sizeof other), sizeof other);
    }
    const Dst made = apply<Terms>(mine, s, other, scale);
    std::memcpy(to + k * static_cast<std::int64_t>(sizeof made), &made, sizeof made);
  }
}

template <terms Terms, class Src, class Dst>
run_function run_of_types(const op& how) {
  if constexpr (is_complex<Src>) {
    using Part = typename Src::part;
    if (!how.conj && !how.complex_scalars) return &run<Terms, Part, Part, 2>;
  }
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

#if HWY_ONCE
namespace cornerturn::kernels::cpu {

HWY_EXPORT(find_run);
run_function run_of(const op& how) noexcept { return HWY_DYNAMIC_DISPATCH(find_run)(how); }

}  // namespace cornerturn::kernels::cpu
#endif  // HWY_ONCE
