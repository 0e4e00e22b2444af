// A kernel with one planted mistake, which the emulator must find, or with none.
#pragma once

#include <cstdint>

namespace cornerturn::testing {

enum class mistake {
  none,
  no_barrier,         // between writes to shared memory and their reads
  no_second_barrier,  // between these reads and the next writes
  no_wait,            // for a copy
  no_wait_at_all,     // for a copy that is never read
  early_exit,         // of one thread, before a barrier
  two_barriers,       // half of the threads wait at each
  lane_apart,         // asks for no value of the next lane, as the other lanes do
  two_writers,        // of one shared byte
  unwritten,          // a load of shared memory before any store
  past_src,
  past_dst,
  past_shared,          // a started copy
  past_shared_plainly,  // an ordinary store
  before_src_plainly,
  misaligned_load,
  misaligned_store,
  misaligned_copy,
  written_twice,
  src_written,
  dst_read,
  past_dst_plainly,
  early_access,  // before the wait for earlier launches
  endless,       // a loop behind a fault
  endless_plainly,
};

inline constexpr int planted_threads = 64;
inline constexpr std::uint32_t planted_nowhere = 0xfedcba98;  // no word of src in the tests
inline constexpr int planted_shared_bytes = planted_threads * 4;
inline constexpr int planted_block_bytes = planted_threads * 4;  // of src, which a block copies to dst in reverse

struct planted_args {
  const void* src = nullptr;
  void* dst = nullptr;
  mistake made = mistake::none;
  int thread = 5;  // the thread that makes it
};

// Blocks that pass their bytes on in place: each loads its own, raises its flag, waits for the next block's flag and
// stores there, in reverse.
enum class flag_mistake {
  none,
  no_barrier_before_signal,
  no_signal,
  no_wait,
  no_barrier_after_wait,
  wait_for_another_flag,
  copy_ends_after_signal,
  no_barrier_in_block,  // a thread stores to bytes that another thread of its block loads
};

struct planted_flag_args {
  void* data = nullptr;
  std::uint32_t* flags = nullptr;
  std::uint32_t blocks = 1;
  flag_mistake made = flag_mistake::none;
  bool counts = false;  // flags count; else they are bits
};

const char* launch_planted_flags(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;
const char* launch_planted(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;

}  // namespace cornerturn::testing
