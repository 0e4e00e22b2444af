#include "kernels/cpu/targets.hpp"  // before Highway
// This file is compiled once, not once per target: it only needs Highway's list of targets.
#include <hwy/highway.h>

#include "base/lazy.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn::kernels {
namespace cpu {
namespace {

std::atomic<dispatched*> chosen{nullptr};

std::atomic<std::int64_t> known_targets{0};  // 0: to be detected

}  // namespace

std::int64_t simd_target_bits() noexcept {
  std::int64_t found = known_targets.load(std::memory_order_relaxed);
  if (found == 0) {
    found = hwy::SupportedTargets() & HWY_TARGETS;
    known_targets.store(found, std::memory_order_relaxed);
  }
  return found;
}

base::simd_target simd_in_use() noexcept {
#if defined(__x86_64__)
  using base::simd_target;
  const std::int64_t bits = simd_target_bits();  // a better target is a lower bit
  if ((bits & (HWY_AVX3 | (HWY_AVX3 - 1))) != 0) {
    return __builtin_cpu_supports("avx512vbmi") != 0 ? simd_target::avx512_vbmi : simd_target::avx512;
  }
  return (bits & HWY_AVX2) != 0 ? simd_target::avx2 : simd_target::sse4;
#else
  return base::simd_target::neon;
#endif
}

void dispatched::remember(function best) noexcept {
  chosen_.store(best, std::memory_order_relaxed);
  if (listed_.exchange(true, std::memory_order_relaxed)) return;
  next_ = chosen.load(std::memory_order_relaxed);
  while (!chosen.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) continue;
}

void dispatched::forget_all() noexcept {
  known_targets.store(0, std::memory_order_relaxed);
  for (dispatched* one = chosen.load(std::memory_order_acquire); one != nullptr; one = one->next_) {
    one->chosen_.store(one->first_, std::memory_order_relaxed);
  }
}

namespace {

base::machine& known_machine() {
  constinit static base::lazy<base::machine> found;
  return found.get([] {
    base::machine here = base::read_machine();
    here.simd = simd_in_use();
    return here;
  });
}

}  // namespace
}  // namespace cpu

const base::machine& this_machine() {
  static_cast<void>(known_machines());  // read here: costs_of() may not throw
  return cpu::known_machine();
}

std::vector<std::string_view> simd_targets() {
  std::vector<std::string_view> names;
  for (std::int64_t left = cpu::simd_target_bits(); left != 0; left &= left - 1)
    names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

bool force_simd_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t wanted = 0;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    if (name == hwy::TargetName(left & -left)) wanted = left & -left;
  }
  if (name.empty() || wanted != 0) hwy::SetSupportedTargetsForTest(wanted);
  cpu::dispatched::forget_all();
  cpu::known_machine().simd = cpu::simd_in_use();
  return name.empty() || wanted != 0;
}

}  // namespace cornerturn::kernels
