// The GPU rows of kernels.inc, run by the emulator.
#pragma once

#include <cstdint>
#include <string_view>

namespace cornerturn::emulated {

// As kernels::launch_function; the stream is a session.
using row_function = const char* (*)(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;

// Null when no GPU row has that name.
[[nodiscard]] row_function find_row(std::string_view name) noexcept;

}  // namespace cornerturn::emulated
