// The roof: all kinds of copies that this CPU supports, on one thread and split over a team of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cornerturn::bench {

struct copy_kind {
  const char* name;
  void (*run)(const std::byte* src, std::byte* dst, std::int64_t bytes);  // on one thread; dst 64-byte aligned
  bool fetches = false;                                                   // uses software prefetch
};

// Effect  returns the copies that this CPU supports: memcpy, and ordinary and non-temporal copies by AVX2 and AVX-512
[[nodiscard]] const std::vector<copy_kind>& copies();

// Effect  returns the rewrites that this CPU supports, the roof of cases in place: each byte of dst is loaded, inverted and
//         stored back
[[nodiscard]] const std::vector<copy_kind>& rewrites();

// Effect  copies one contiguous piece on each thread of an OpenMP team, which each call starts
void parallel_copy(const copy_kind& kind, const std::byte* src, std::byte* dst, std::int64_t bytes, int threads);

// Effect  fills dst on all threads. On x86 with non-temporal stores, so that no part of dst stays in the cache
void fill_past_cache(std::byte* dst, std::int64_t bytes, unsigned char value);

}  // namespace cornerturn::bench
