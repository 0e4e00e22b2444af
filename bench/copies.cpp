// Copies. A non-temporal copy with s streams cuts its piece into s parts and copies a block of whole lines of each part in
// turn: more pages are open in DRAM and more hardware prefetchers run than with one stream. 4 streams are the best number: 2
// streams are 3 % slower and 8 streams 8 % (AMD Zen 4, 2026-11-21).
#include "bench/copies.hpp"

#include <algorithm>
#include <cstring>

#include "bench/parallel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cornerturn::bench {

namespace {

void copy_memcpy(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}

// Inverts each byte of dst in place. src is not read.
void rewrite_plain(const std::byte* /*src*/, std::byte* dst, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) dst[i] = ~dst[i];
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) void rewrite_avx2(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  const __m256i ones = _mm256_set1_epi8(-1);
  std::int64_t i = 0;
  for (; i + 128 <= bytes; i += 128) {
    for (int k = 0; k < 128; k += 32) {
      auto* const at = reinterpret_cast<__m256i*>(dst + i + k);
      _mm256_storeu_si256(at, _mm256_xor_si256(_mm256_loadu_si256(at), ones));
    }
  }
  rewrite_plain(src, dst + i, bytes - i);
}
__attribute__((target("avx512f"))) void rewrite_avx512(const std::byte* src, std::byte* dst, std::int64_t bytes) {
  const __m512i ones = _mm512_set1_epi32(-1);
  std::int64_t i = 0;
  for (; i + 256 <= bytes; i += 256) {
    for (int k = 0; k < 256; k += 64) {
      std::byte* const at = dst + i + k;
      _mm512_storeu_si512(at, _mm512_xor_si512(_mm512_loadu_si512(at), ones));
    }
  }
  rewrite_plain(src, dst + i, bytes - i);
}

// Copies one block of 256 bytes. src may be unaligned; dst is aligned to 64 bytes.
__attribute__((target("avx512f"), always_inline)) inline void block_avx512_nt(const std::byte* src, std::byte* dst) {
  const __m512i a = _mm512_loadu_si512(src), b = _mm512_loadu_si512(src + 64);
  const __m512i c = _mm512_loadu_si512(src + 128), d = _mm512_loadu_si512(src + 192);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), a);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + 64), b);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + 128), c);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + 192), d);
}
__attribute__((target("avx512f"), always_inline)) inline void block_avx512(const std::byte* src, std::byte* dst) {
  for (int i = 0; i < 256; i += 64) _mm512_storeu_si512(dst + i, _mm512_loadu_si512(src + i));
}
__attribute__((target("avx2"), always_inline)) inline void block_avx2_nt(const std::byte* src, std::byte* dst) {
  for (int i = 0; i < 256; i += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i + 32), b);
  }
}
__attribute__((target("avx2"), always_inline)) inline void block_avx2(const std::byte* src, std::byte* dst) {
  for (int i = 0; i < 256; i += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i)));
  }
}

// Copies with software prefetch, for cores whose hardware prefetchers are too slow.
template <int Bytes>
__attribute__((always_inline)) inline void fetch_ahead(const std::byte* src) {
  for (int i = 0; i < 256; i += 64) __builtin_prefetch(src + Bytes + i, 0, 3);
}
// Prefetches one line of each of the four pages after the current 16 KiB, so that the stalls at their begins overlap.
__attribute__((always_inline)) inline void fetch_pages(const std::byte* src) {
  constexpr std::uintptr_t four_pages = 16384;
  const std::uintptr_t inside = reinterpret_cast<std::uintptr_t>(src) % four_pages;
  const std::byte* const next = src - inside + four_pages + inside / 256 * 64;
  for (int page = 0; page < 4; ++page) __builtin_prefetch(next + page * 4096, 0, 3);
}
__attribute__((target("avx512f"), always_inline)) inline void block_avx512_pages(const std::byte* src, std::byte* dst) {
  fetch_pages(src);
  block_avx512_nt(src, dst);
}
__attribute__((target("avx512f"), always_inline)) inline void block_avx512_ahead(const std::byte* src, std::byte* dst) {
  fetch_ahead<512>(src);
  block_avx512_nt(src, dst);
}
__attribute__((target("avx2"), always_inline)) inline void block_avx2_ahead(const std::byte* src, std::byte* dst) {
  fetch_ahead<512>(src);
  block_avx2_nt(src, dst);
}

// One copy for a target, a kind of block and a number of streams. A macro, because a function with a target attribute is not
// inlined through a template parameter.
#define STREAMED_COPY(name, isa, block, streams)                                                     \
  __attribute__((target(isa))) void name(const std::byte* src, std::byte* dst, std::int64_t bytes) { \
    const std::int64_t part = bytes / (streams) / 256 * 256;                                         \
    for (std::int64_t at = 0; at < part; at += 256) {                                                \
      for (std::int64_t stream = 0; stream < (streams); ++stream) {                                  \
        block(src + stream * part + at, dst + stream * part + at);                                   \
      }                                                                                              \
    }                                                                                                \
    const std::int64_t done = part * (streams);                                                      \
    std::memcpy(dst + done, src + done, static_cast<std::size_t>(bytes - done));                     \
    _mm_sfence();                                                                                    \
  }

STREAMED_COPY(copy_avx512_nt1, "avx512f", block_avx512_nt, 1)
STREAMED_COPY(copy_avx512_nt4, "avx512f", block_avx512_nt, 4)
STREAMED_COPY(copy_avx512_pages1, "avx512f", block_avx512_pages, 1)
STREAMED_COPY(copy_avx512_ahead4, "avx512f", block_avx512_ahead, 4)
STREAMED_COPY(copy_avx512, "avx512f", block_avx512, 1)
STREAMED_COPY(copy_avx2_nt1, "avx2", block_avx2_nt, 1)
STREAMED_COPY(copy_avx2_nt4, "avx2", block_avx2_nt, 4)
STREAMED_COPY(copy_avx2_ahead4, "avx2", block_avx2_ahead, 4)
STREAMED_COPY(copy_avx2, "avx2", block_avx2, 1)
#undef STREAMED_COPY

void fill_piece(std::byte* dst, std::int64_t bytes, unsigned char value) {
  const __m128i wide = _mm_set1_epi8(static_cast<char>(value));
  std::int64_t i = 0;
  for (; i < bytes && reinterpret_cast<std::uintptr_t>(dst + i) % 16 != 0; ++i) dst[i] = std::byte{value};
  for (; i + 16 <= bytes; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i), wide);
  for (; i < bytes; ++i) dst[i] = std::byte{value};
  _mm_sfence();
}

#else

void fill_piece(std::byte* dst, std::int64_t bytes, unsigned char value) {
  std::memset(dst, value, static_cast<std::size_t>(bytes));
}

#endif

std::vector<copy_kind> present_rewrites() {
  std::vector<copy_kind> kinds{{"plain", rewrite_plain}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kinds.push_back({"avx2", rewrite_avx2});
  if (__builtin_cpu_supports("avx512f")) kinds.push_back({"avx512", rewrite_avx512});
#endif
  return kinds;
}

std::vector<copy_kind> present_copies() {
  std::vector<copy_kind> kinds{{"memcpy", copy_memcpy}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    kinds.push_back({"avx2", copy_avx2});
    kinds.push_back({"avx2_nt1", copy_avx2_nt1});
    kinds.push_back({"avx2_nt4", copy_avx2_nt4});
    kinds.push_back({"avx2_ahead4", copy_avx2_ahead4, true});
  }
  if (__builtin_cpu_supports("avx512f")) {
    kinds.push_back({"avx512", copy_avx512});
    kinds.push_back({"avx512_nt1", copy_avx512_nt1});
    kinds.push_back({"avx512_nt4", copy_avx512_nt4});
    kinds.push_back({"avx512_pages1", copy_avx512_pages1, true});
    kinds.push_back({"avx512_ahead4", copy_avx512_ahead4, true});
  }
#endif
  return kinds;
}

}  // namespace

const std::vector<copy_kind>& copies() {
  static const std::vector<copy_kind> kinds = present_copies();
  return kinds;
}

const std::vector<copy_kind>& rewrites() {
  static const std::vector<copy_kind> kinds = present_rewrites();
  return kinds;
}

void parallel_copy(const copy_kind& kind, const std::byte* src, std::byte* dst, std::int64_t bytes, int threads) {
  if (threads <= 1) {
    kind.run(src, dst, bytes);
    return;
  }
  const int parts = 4 * threads;  // more than threads, as in the library: a late thread takes fewer
  const std::int64_t piece = ((bytes + parts - 1) / parts + 4095) / 4096 * 4096;  // whole pages: aligned stores
  parallel_tasks(threads, parts, [&](int part) {
    const std::int64_t begin = std::min(bytes, part * piece);
    const std::int64_t end = std::min(bytes, begin + piece);
    if (begin < end)
      kind.run(src == nullptr ? nullptr : src + begin, dst + begin, end - begin);  // a rewrite has no src
  });
}

void fill_past_cache(std::byte* dst, std::int64_t bytes, unsigned char value) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  parallel_ranges(bytes, piece,
                  [&](std::int64_t begin, std::int64_t end) { fill_piece(dst + begin, end - begin, value); });
}

}  // namespace cornerturn::bench
