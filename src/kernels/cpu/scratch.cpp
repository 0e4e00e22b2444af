#include "kernels/cpu/scratch.hpp"

#include <atomic>
#include <cstdlib>
#include <initializer_list>

namespace cornerturn::kernels::cpu {
namespace {

struct buffer {
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;

  void release() noexcept {
    std::free(memory);
    *this = {};
  }
};

struct thread_buffers {
  buffer scratch, item, selection;
  bool is_ending = false;
};

// Trivial, so that it may be used until the thread's last instruction.
constinit thread_local thread_buffers mine;

struct thread_end {
  ~thread_end() {
    for (buffer* const one : {&mine.scratch, &mine.item, &mine.selection}) one->release();
    mine.is_ending = true;
  }
};

std::atomic<bool> are_refused{false};

std::byte* grow(buffer& one, std::int64_t bytes) noexcept {
  if (are_refused.load(std::memory_order_relaxed)) return nullptr;
  if (bytes > one.bytes) {
    // Nothing would free a buffer that is made now. The kernels do without.
    if (mine.is_ending) return nullptr;
    static thread_local const thread_end frees_the_buffers;
    static_cast<void>(frees_the_buffers);
    constexpr std::int64_t page = 4096;
    const std::int64_t rounded = (bytes + page - 1) / page * page;
    one.release();
    one.memory = static_cast<std::byte*>(std::aligned_alloc(page, static_cast<std::size_t>(rounded)));
    if (one.memory != nullptr) one.bytes = rounded;
  }
  return one.memory;
}

}  // namespace

void refuse_buffers(bool refused) noexcept { are_refused.store(refused, std::memory_order_relaxed); }

std::byte* scratch(std::int64_t bytes) noexcept { return grow(mine.scratch, bytes); }
std::byte* item_buffer(std::int64_t bytes) noexcept { return grow(mine.item, bytes); }
std::byte* selection_buffer(std::int64_t bytes) noexcept { return grow(mine.selection, bytes); }

}  // namespace cornerturn::kernels::cpu
