// Whole cache lines: how a dst run at any address is written with aligned non-temporal stores.
//
// A piece of a run is stored in the buffer behind room for one line:
//
//        room             piece
//   |..............|xxxxxxxxxxxxxxxxxxxxxxxxxxx|      buffer, `data` points at the first x
//           ^ data - a                                a = dst mod 64
//
// The carry is the last a bytes of the piece before. It is copied in front of the piece, and all lines that end inside the
// piece are stored, from data - a on. The bytes that are left become the next carry. Only the first and the last line of a
// run are stored byte-wise, so the cache never fetches a line for ownership in the middle of a run. If a is 0, there is no
// carry.
#if defined(CORNERTURN_LINE_STORES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_LINE_STORES_INL
#undef CORNERTURN_LINE_STORES_INL
#else
#define CORNERTURN_LINE_STORES_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t line_bytes = 64;

HWY_INLINE void stream_line(const std::byte* from, std::byte* to) {
  const hn::CappedTag<std::uint8_t, 64> d;
  constexpr auto step = static_cast<std::int64_t>(HWY_MIN(HWY_MAX_BYTES, 64));
  for (std::int64_t k = 0; k < line_bytes; k += step) {
    hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + k)), d,
               reinterpret_cast<std::uint8_t*>(to + k));
  }
}

// Effect  writes the piece of `bytes` at `data` to `to`, as the figure shows
// Shape   `carry`: 64 bytes that the run keeps from piece to piece. first, last: the piece is the first or the last one of
//         its run. A first piece that is not the last has at least 64 bytes
HWY_INLINE void stream_piece(std::byte* data, std::byte* to, std::int64_t bytes, std::byte* carry, bool first,
                             bool last) {
  const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  std::int64_t done = -a;  // bytes of the piece that are stored; negative: bytes of the carry that are not yet stored
  if (a != 0) {
    if (first) {
      done = HWY_MIN(line_bytes - a, bytes);
      std::memcpy(to, data, static_cast<std::size_t>(done));
    } else {
      std::memcpy(data - line_bytes, carry, line_bytes);
    }
  }
  for (; done + line_bytes <= bytes; done += line_bytes) stream_line(data + done, to + done);
  if (last) {
    std::memcpy(to + done, data + done, static_cast<std::size_t>(bytes - done));
  } else if (done != bytes) {
    std::memcpy(carry, data + bytes - line_bytes, line_bytes);
  }
}

// Effect  stream_piece for a window: the carry is stored in front of the piece, at `front`. If the piece is not the first
//         one, `data` is `front` + 64. The carry of the next piece is stored at `front`
HWY_INLINE void stream_window(const std::byte* data, std::byte* to, std::int64_t bytes, std::byte* front, bool first,
                              bool last) {
  const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  std::int64_t done = 0;
  if (a != 0) {
    done = -a;
    if (first) {
      done = HWY_MIN(line_bytes - a, bytes);
      std::memcpy(to, data, static_cast<std::size_t>(done));
    }
  }
  for (; done + line_bytes <= bytes; done += line_bytes) stream_line(data + done, to + done);
  if (done == bytes) return;
  if (last) {
    std::memcpy(to + done, data + done, static_cast<std::size_t>(bytes - done));
  } else {
    std::memcpy(front, data + bytes - line_bytes, line_bytes);
  }
}

// stream_window for a whole window of Bytes bytes in the middle of its run. The data is at front + 64.
template <std::int64_t Bytes>
HWY_INLINE void stream_whole_window(std::byte* front, std::byte* to) {
  const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  const std::byte* const data = front + line_bytes - a;
  to -= a;
  HWY_UNROLL(4)
  for (std::int64_t k = 0; k < Bytes; k += line_bytes) stream_line(data + k, to + k);
  if (a != 0) std::memcpy(front, front + Bytes, line_bytes);
}

HWY_INLINE void store_piece(const std::byte* data, std::byte* to, std::int64_t bytes) {
  std::memcpy(to, data, static_cast<std::size_t>(bytes));
}

// Writes contiguous runs to dst in whole lines. A run that begins at the end of the run before completes its last line.
class run_writer {
 public:
  HWY_INLINE void write(const std::byte* from, std::byte* to, std::int64_t bytes) {
    if (to != end_) {
      finish();
      kept_ = 0;
    }
    end_ = to + bytes;
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    if (a != 0) {
      const std::int64_t head = HWY_MIN(line_bytes - a, bytes);
      if (fills_line(from, a, bytes)) {
        stream_filled(from - a, to - a, a);
      } else if (kept_ == 0) {  // the begin of this line is not ours to write
        std::memcpy(to, from, static_cast<std::size_t>(head));
      } else {
        std::memcpy(line_ + a, from, static_cast<std::size_t>(head));
        kept_ += head;
        if (a + head == line_bytes) {
          stream_line(line_, to - a);
          kept_ = 0;
        }
      }
      from += head;
      to += head;
      bytes -= head;
    }
    for (; bytes >= line_bytes; bytes -= line_bytes, from += line_bytes, to += line_bytes) stream_line(from, to);
    if (bytes > 0) {
      keep(from, bytes);
      kept_ = bytes;
    }
  }

  // Writes `bytes` bytes of `pattern`, which begins again after `period` bytes. These are whole lines, and 64 bytes more follow.
  HWY_INLINE void repeat(const std::byte* pattern, std::int64_t period, std::byte* to, std::int64_t bytes) {
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    const std::int64_t head = a == 0 ? 0 : HWY_MIN(line_bytes - a, bytes);
    write(pattern, to, head);
    const std::byte* from = pattern + head;
    to += head;
    bytes -= head;
    for (const std::byte* const end = from + period; bytes >= line_bytes; bytes -= line_bytes, to += line_bytes) {
      stream_line(from, to);
      from += line_bytes;
      if (from == end) from -= period;
    }
    end_ = to;
    write(from, to, bytes);
  }

#if HWY_TARGET <= HWY_AVX3
  // Writes `bytes` bytes: byte k of each line is byte k of `line`.
  HWY_INLINE void repeat(__m512i line, std::byte* to, std::int64_t bytes) {
    if (to != end_) {
      finish();
      kept_ = 0;
    }
    end_ = to + bytes;
    const std::int64_t a = inside(to);
    std::byte* at = to - a;
    std::int64_t left = a + bytes;  // from the begin of the first line
    if (a != 0) {
      const std::uint64_t mine =
          ~std::uint64_t{0} << a & (left < line_bytes ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0});
      const __m512i filled = _mm512_mask_mov_epi8(_mm512_load_si512(line_), mine, line);
      if (kept_ == 0) {  // the begin of this line is not ours to write
        _mm512_mask_storeu_epi8(at, mine, line);
      } else if (left >= line_bytes) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(at), filled);
        kept_ = 0;
      } else {
        _mm512_store_si512(line_, filled);
        kept_ = left;
      }
      if (left < line_bytes) return;
      left -= line_bytes;
      at += line_bytes;
    }
    for (; left >= line_bytes; left -= line_bytes, at += line_bytes)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(at), line);
    if (left > 0) _mm512_store_si512(line_, line);
    kept_ = left;
  }
#endif

  HWY_INLINE void finish() {
    if (kept_ > 0) std::memcpy(end_ - kept_, line_, static_cast<std::size_t>(kept_));
  }

 private:
  // With AVX-512, a line is put together in a register: a load of line_ would wait for the stores of its parts. Runs of 128
  // bytes, src and dst from address 16 on: 14 GB/s without it, 19 with it (AMD EPYC 4th generation, 2026-11-23).
#if HWY_TARGET <= HWY_AVX3
  // A masked load accesses all lines that its 64 bytes touch, also those without a byte of the run: where runs are apart in src, such
  // a line takes as long as the run. 84-byte records of 512 x 308 0.46 of a copy without these loads, 0.24 with them for all runs
  // (Intel Xeon, model 85, 2026-11-29).
  // True if the kept bytes and the run fill a line, and the load of 64 bytes begins in the run's first line.
  [[nodiscard]] HWY_INLINE bool fills_line(const std::byte* from, std::int64_t a, std::int64_t bytes) const {
    return kept_ == a && a + bytes >= line_bytes && inside(from) >= a;
  }
  HWY_INLINE void stream_filled(const std::byte* from, std::byte* line, std::int64_t a) {
    const __m512i filled = _mm512_mask_loadu_epi8(_mm512_load_si512(line_), ~std::uint64_t{0} << a, from);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(line), filled);
    kept_ = 0;
  }
  HWY_INLINE void keep(const std::byte* from, std::int64_t bytes) {
    const std::int64_t in_line = inside(from);
    if (in_line != 0 && in_line + bytes <= line_bytes)
      return void(std::memcpy(line_, from, static_cast<std::size_t>(bytes)));
    _mm512_store_si512(line_, _mm512_maskz_loadu_epi8((std::uint64_t{1} << bytes) - 1, from));
  }
  [[nodiscard]] HWY_INLINE static std::int64_t inside(const std::byte* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % line_bytes);
  }
#else
  [[nodiscard]] HWY_INLINE static bool fills_line(const std::byte*, std::int64_t, std::int64_t) { return false; }
  HWY_INLINE static void stream_filled(const std::byte*, std::byte*, std::int64_t) {}
  HWY_INLINE void keep(const std::byte* from, std::int64_t bytes) {
    std::memcpy(line_, from, static_cast<std::size_t>(bytes));
  }
#endif

  std::byte* end_ = nullptr;
  std::int64_t kept_ = 0;  // the first kept_ bytes of line_ are not in dst yet
  alignas(64) std::byte line_[line_bytes];
};

HWY_INLINE void finish_streaming() { hwy::FlushStream(); }

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
