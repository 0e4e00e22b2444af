// The tile buffer of a thread: grows once to what its jobs need and is given back when the thread ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::kernels::cpu {

// Page-aligned, contents unspecified; null when there is no memory.
[[nodiscard]] std::byte* scratch(std::int64_t bytes) noexcept;

// Another one, for what calls kernels that use the first.
[[nodiscard]] std::byte* item_buffer(std::int64_t bytes) noexcept;

}  // namespace cornerturn::kernels::cpu
