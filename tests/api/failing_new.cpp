#include "failing_new.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace cornerturn::testing {

std::atomic<long> allocations_left{-1};
std::atomic<bool> all_later_ones_fail{false};

static void* allocated(std::size_t bytes, std::size_t alignment) {
  if (allocations_left.load() >= 0 && allocations_left.fetch_sub(1) == 0) {
    if (all_later_ones_fail.load()) allocations_left.store(0);
    return nullptr;
  }
  return std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
}

static void* allocated_or_not(std::size_t bytes, std::size_t alignment) {
  if (void* const made = allocated(bytes, alignment); made != nullptr) return made;
  throw std::bad_alloc();
}

}  // namespace cornerturn::testing

using cornerturn::testing::allocated;
using cornerturn::testing::allocated_or_not;

void* operator new(std::size_t bytes) { return allocated_or_not(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated_or_not(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*how*/) noexcept { return allocated(bytes, 16); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
