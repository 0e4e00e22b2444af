#include "kernels/cpu/scratch.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

namespace cornerturn::kernels::cpu {
namespace {

struct release {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

struct buffer {
  std::unique_ptr<std::byte, release> memory;
  std::int64_t bytes = 0;
};

std::atomic<bool> are_refused{false};

std::byte* grow(buffer& mine, std::int64_t bytes) noexcept {
  if (are_refused.load(std::memory_order_relaxed)) return nullptr;
  if (bytes > mine.bytes) {
    constexpr std::int64_t page = 4096;
    const std::int64_t rounded = (bytes + page - 1) / page * page;
    mine.memory.reset();
    mine.bytes = 0;
    mine.memory.reset(static_cast<std::byte*>(std::aligned_alloc(page, static_cast<std::size_t>(rounded))));
    if (mine.memory != nullptr) mine.bytes = rounded;
  }
  return mine.memory.get();
}

}  // namespace

void refuse_buffers(bool refused) noexcept { are_refused.store(refused, std::memory_order_relaxed); }

std::byte* scratch(std::int64_t bytes) noexcept {
  static thread_local buffer mine;
  return grow(mine, bytes);
}

std::byte* item_buffer(std::int64_t bytes) noexcept {
  static thread_local buffer mine;
  return grow(mine, bytes);
}

std::byte* selection_buffer(std::int64_t bytes) noexcept {
  static thread_local buffer mine;
  return grow(mine, bytes);
}

}  // namespace cornerturn::kernels::cpu
