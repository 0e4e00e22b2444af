// Kernels with one mistake each, that the emulator must find, and one without.
#pragma once

#include <cstdint>

namespace cornerturn::testing {

enum class mistake {
  none,
  no_barrier,         // between writing shared memory and reading it
  no_second_barrier,  // between reading it and writing it again
  no_wait,            // for a copy that was started
  no_wait_at_all,     // and the copy is never read
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
inline constexpr int planted_block_bytes = planted_threads * 4;  // of src, moved to dst, each block's in reverse

struct planted_job {
  const void* src = nullptr;
  void* dst = nullptr;
  mistake made = mistake::none;
  int thread = 5;  // who makes it
};

const char* launch_planted(const void* job, std::uint32_t blocks, int shared_bytes, void* stream) noexcept;

}  // namespace cornerturn::testing
