// The tile buffer of a thread: it grows to the largest size that a kernel asks for, and is freed when the thread destroys its
// thread_local variables. Later calls of the thread, such as out of an atexit() handler, get none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::kernels::cpu {

// Page-aligned, contents unspecified. Null when there is no memory.
[[nodiscard]] std::byte* scratch(std::int64_t bytes) noexcept;

// A second buffer of the thread, for code that calls kernels which use scratch().
[[nodiscard]] std::byte* item_buffer(std::int64_t bytes) noexcept;

// A buffer of the thread for the selections of byte shuffles.
[[nodiscard]] std::byte* selection_buffer(std::int64_t bytes) noexcept;

// For tests: while true, these buffers are null, as if there were no memory.
void refuse_buffers(bool refused) noexcept;

}  // namespace cornerturn::kernels::cpu
