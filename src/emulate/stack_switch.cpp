#include "emulate/stack_switch.hpp"

#include <algorithm>

#if defined(__x86_64__)
asm(R"(
.text
.globl cornerturn_switch_stack
.type cornerturn_switch_stack, @function
cornerturn_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cornerturn_switch_stack, .-cornerturn_switch_stack
)");
constexpr int saved_words = 8;  // six registers, the return address, and a word that aligns the stack as behind a call
constexpr int return_word = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl cornerturn_switch_stack
.type cornerturn_switch_stack, %function
cornerturn_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cornerturn_switch_stack, .-cornerturn_switch_stack
)");
constexpr int saved_words = 20;
constexpr int return_word = 11;  // x30
#else
#error "the emulator has no stack switch for this processor"
#endif

namespace cornerturn::emulated {

void* prepare_stack(void* end, void (*begin)()) noexcept {
  void** const saved = static_cast<void**>(end) - saved_words;
  std::fill(saved, saved + saved_words, nullptr);
  saved[return_word] = reinterpret_cast<void*>(begin);
  return saved;
}

}  // namespace cornerturn::emulated
