// The functions that the text of a kernel calls: of lang.cuh, and inserted by the compiler.
#include <cstring>

#include "emulate/machine.hpp"

namespace cornerturn::emulated {

std::uint32_t thread_index() noexcept { return the_machine.thread_index(); }
std::uint32_t block_index() noexcept { return the_machine.block_index(); }
unsigned char* shared_memory() noexcept { return the_machine.shared_memory(); }
void wait_for_earlier_launches() noexcept { the_machine.wait_for_earlier_launches(); }
void barrier(unsigned line) noexcept { the_machine.barrier(line, __builtin_return_address(0)); }
std::uint32_t value_of_next_lane(std::uint32_t value) noexcept { return the_machine.value_of_next_lane(value); }
void load_global(void* value, const void* from, int size) noexcept {
  the_machine.stop_if_endless();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_load, from, size);
  the_machine.load_global(value, from, size);
}
void store_global(void* to, const void* value, int size) noexcept {
  the_machine.stop_if_endless();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_store, to, size);
  the_machine.store_global(to, value, size);
}
void start_copy(void* shared, const void* global, int size, int first, int end) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::async_copy, global, size, shared);
  the_machine.start_copy(shared, global, size, first, end);
}
void wait_for_copies() noexcept {
  const machine::at_work guard(the_machine);
  the_machine.wait_for_copies(__builtin_return_address(0));
}
void bring_word(void* shared, const void* global, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.bring_word(shared, global, size, __builtin_return_address(0));
}
void send_word(void* global, const void* shared, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.send_word(global, shared, size, __builtin_return_address(0));
}
void copy_word(void* to, const void* from, int size) noexcept {
  {
    const machine::at_work guard(the_machine);
    the_machine.expect_aligned(to, size, __builtin_return_address(0), true);
    the_machine.expect_aligned(from, size, __builtin_return_address(0), false);
  }
  the_machine.accessed(__builtin_return_address(0), from, size, false);
  the_machine.accessed(__builtin_return_address(0), to, size, true);
  std::memcpy(to, from, static_cast<std::size_t>(size));
}
std::uint32_t read_flag(const std::uint32_t* flag) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  return the_machine.is_flag(flag) ? *flag : 0;
}
bool claim_bit(std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return false;
  const std::uint32_t before = *flag;
  *flag = before | bit;
  return (before & bit) == 0;
}
void publish_bit(std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return;
  *flag |= bit;
  the_machine.signal(flag, bit);
}
void wait_for_bit(const std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  the_machine.wait_for(flag, bit, true);
}
void raise_flag(std::uint32_t* flag) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return;
  ++*flag;
  the_machine.signal(flag, all_bits);
}
void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) noexcept {
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  the_machine.wait_for(flag, value, false);
}

}  // namespace cornerturn::emulated

// Inserted by g++ -fsanitize=thread, whose library is not linked, and by clang's trace-loads and trace-stores.
extern "C" {
#define EMULATOR_HOOK(name, size, write)                                                           \
  void name(const void* address) {                                                                 \
    cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, size, write); \
  }
#define EMULATOR_HOOKS(size)                              \
  EMULATOR_HOOK(__sanitizer_cov_load##size, size, false)  \
  EMULATOR_HOOK(__sanitizer_cov_store##size, size, true)  \
  EMULATOR_HOOK(__tsan_read##size, size, false)           \
  EMULATOR_HOOK(__tsan_write##size, size, true)           \
  EMULATOR_HOOK(__tsan_unaligned_read##size, size, false) \
  EMULATOR_HOOK(__tsan_unaligned_write##size, size, true)
EMULATOR_HOOKS(1)
EMULATOR_HOOKS(2)
EMULATOR_HOOKS(4)
EMULATOR_HOOKS(8)
EMULATOR_HOOKS(16)
void __tsan_read_range(const void* address, std::size_t size) {
  cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, static_cast<int>(size), false);
}
void __tsan_write_range(const void* address, std::size_t size) {
  cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, static_cast<int>(size), true);
}
void __tsan_init() {}
void __sanitizer_cov_trace_pc() { cornerturn::emulated::the_machine.pass(__builtin_return_address(0)); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
}
