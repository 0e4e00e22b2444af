// The roof: copies of every kind this CPU has, single-threaded pieces and their split over a team.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cornerturn::bench {

struct copy_kind {
  const char* name;
  void (*run)(const std::byte* src, std::byte* dst, std::int64_t bytes);  // on one thread; dst 64-byte aligned
  bool fetches = false;                                                   // reads are fetched ahead
};

// Effect  the copies this CPU runs: memcpy always; ordinary and non-temporal AVX2 / AVX-512 ones where present
[[nodiscard]] const std::vector<copy_kind>& copies();

// Effect  the rewrites this CPU runs, for what moves in place: each byte of dst is read, inverted and written back
[[nodiscard]] const std::vector<copy_kind>& rewrites();

// Effect  one contiguous piece per thread of an OpenMP team, started anew for each call
void parallel_copy(const copy_kind& kind, const std::byte* src, std::byte* dst, std::int64_t bytes, int threads);

// Effect  fills on all threads, with streaming stores on x86 so that nothing of it stays cached
void fill_past_cache(std::byte* dst, std::int64_t bytes, unsigned char value);

}  // namespace cornerturn::bench
