// Switches between the stacks of the emulator's threads, on x86-64 and aarch64.
#pragma once

namespace cornerturn::emulated {

// Returns the stack pointer of an unused stack. The first switch to it calls begin(), which must not return.
//   end   one past the highest byte of the stack, at a multiple of 16 bytes
[[nodiscard]] void* prepare_stack(void* end, void (*begin)()) noexcept;

// Saves the registers that a called function must preserve and writes the stack pointer to *save. Continues the stack `load`.
extern "C" void cornerturn_switch_stack(void** save, void* load);

}  // namespace cornerturn::emulated
