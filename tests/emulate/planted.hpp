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
  two_writers,        // of one shared byte
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
};

inline constexpr int planted_threads = 64;
inline constexpr int planted_shared_bytes = planted_threads * 4;
inline constexpr int planted_block_bytes = planted_threads * 4;  // of src, which a block copies to dst in reverse

struct planted_args {
  const void* src = nullptr;
  void* dst = nullptr;
  mistake made = mistake::none;
  int thread = 5;  // the thread that makes it
};

const char* launch_planted(const void* args, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;

}  // namespace cornerturn::testing
