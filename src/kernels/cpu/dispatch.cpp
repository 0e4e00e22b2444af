#include "kernels/cpu/targets.hpp"  // before Highway
// This file is compiled once, not once per target: it only needs Highway's list of targets.
#include <hwy/highway.h>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"

namespace cornerturn::kernels {
namespace cpu {
namespace {

std::atomic<dispatched*> chosen{nullptr};

std::atomic<std::int64_t> known_targets{0};  // 0: to be detected

template <std::size_t... Bytes>
bool is_listed(std::int64_t bytes, std::index_sequence<Bytes...> /*all*/) noexcept {
  return ((bytes == static_cast<std::int64_t>(Bytes)) || ...);
}

}  // namespace

std::int64_t simd_target_bits() noexcept {
  std::int64_t found = known_targets.load(std::memory_order_relaxed);
  if (found == 0) {
    found = hwy::SupportedTargets() & HWY_TARGETS;
    known_targets.store(found, std::memory_order_relaxed);
  }
  return found;
}

bool stores_lines_from_registers() noexcept {
#if defined(__x86_64__)
  return (simd_target_bits() & (HWY_AVX3 | (HWY_AVX3 - 1))) != 0;
#else
  return false;
#endif
}

bool selects_bytes() noexcept {
#if defined(__x86_64__)
  return stores_lines_from_registers() && __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}

bool turns_in_registers(std::int64_t element_bytes) noexcept {
  return is_listed(element_bytes, block_elements()) &&
         (element_bytes % 2 == 0 ? stores_lines_from_registers() : selects_bytes());
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

}  // namespace cpu

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
  return name.empty() || wanted != 0;
}

}  // namespace cornerturn::kernels
