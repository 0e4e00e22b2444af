// A matrix whose columns are contiguous in dst, by AVX-512, where src is in the L2: strips of so many rows that a column of
// one is a line.
//
//   1. a strip goes through registers, tile by tile (line_tile-inl.hpp), so src is read in its order
//   2. what comes of a column goes behind what the strip before left of its line, and lines that are full to dst
//   3. where a column begins it shares a line with the end of the one before: the first strip puts that by, the last
//      strip, which overlaps its neighbour where rows are left over, writes it
#if defined(CORNERTURN_ITEM_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ITEM_STRIPS_INL
#undef CORNERTURN_ITEM_STRIPS_INL
#else
#define CORNERTURN_ITEM_STRIPS_INL
#endif

#include "kernels/cpu/block.hpp"
#include "kernels/cpu/policy/line_tile-inl.hpp"
#include "kernels/cpu/policy/lines-inl.hpp"
#include "kernels/cpu/register_tile/args.hpp"
#include "kernels/cpu/stream/strip_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
inline constexpr bool strips_of_items = true;

enum class strip_part { first, middle, last };

template <std::size_t Word, class Prefetcher>
class item_in_strips {
 public:
  // memory: item_strips_bytes
  HWY_INLINE item_in_strips(const register_tile::args& work, std::byte* memory, run_writer& writer,
                            Prefetcher& prefetcher) noexcept
      : src_pitch_(work.src_pitch),
        run_bytes_(work.rows * word),
        cols_(work.cols),
        kept_(memory),
        begun_(memory + item_strip_cols * line_bytes),
        writer_(writer),
        prefetcher_(prefetcher) {}

  // More than a line of each column, a tile of columns at least; dst is a multiple of the word.
  HWY_INLINE void move(const std::byte* src, std::byte* dst) {
    const std::int64_t strip_src = line_bytes / word * src_pitch_;
    strip<strip_part::first>(src, dst, line_bytes);
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % line_bytes);
    writer_.write(begun_ + a, dst, line_bytes - a);
    std::int64_t done = line_bytes;
    for (; done + line_bytes < run_bytes_; done += line_bytes) {
      src += strip_src;
      strip<strip_part::middle>(src, dst + done, line_bytes);
    }
    const std::int64_t left = run_bytes_ - done;
    strip<strip_part::last>(src + left / word * src_pitch_, dst + done, left);
  }

 private:
  static constexpr auto word = static_cast<std::int64_t>(Word);

  // `bytes` of each column, which go to `to`, one run apart; the strip ends with them.
  template <strip_part Part>
  HWY_NOINLINE void strip(const std::byte* from, std::byte* to, std::int64_t bytes) {
    constexpr auto across = static_cast<std::int64_t>(line_tile<Word>::cols);
    const splicer<Word> to_front(bytes % line_bytes);
    std::byte* kept = kept_;
    std::byte* begun = begun_;
    for (std::int64_t c = 0; c < cols_; c += across) {
      const std::int64_t before = HWY_MAX(c + across - cols_, std::int64_t{0});  // of the tile, that were in another
      prefetcher_.fetch((across - before) * bytes);
      __m512i lines[across];
      line_tile<Word>::turn(from + (c - before) * word, src_pitch_, lines);
      HWY_UNROLL(16)
      for (std::int64_t k = 0; k < across; ++k) {
        if (k < before) continue;
        const __m512i line = lines[k];
        const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
        const splicer<Word> splice(a);
        if constexpr (Part == strip_part::first) {
          _mm512_store_si512(begun, splice(line, line));
          _mm512_store_si512(kept, line);
        } else if constexpr (Part == strip_part::middle) {
          stream_register(splice(_mm512_load_si512(kept), line), to - a);
          _mm512_store_si512(kept, line);
        } else {
          const __m512i end = bytes == line_bytes ? line : to_front(line, line);
          __m512i rest = splice(_mm512_load_si512(kept), end);
          std::byte* at = to - a;
          std::int64_t filled = a + bytes;
          if (filled >= line_bytes) {
            stream_register(rest, at);
            rest = splice(end, end);
            at += line_bytes;
            filled -= line_bytes;
          }
          if (c + k - before + 1 < cols_) {
            stream_register(_mm512_mask_loadu_epi8(rest, ~std::uint64_t{0} << filled, begun + line_bytes), at);
          } else {
            alignas(64) std::byte end_of_item[line_bytes];
            _mm512_store_si512(end_of_item, rest);
            writer_.write(end_of_item, at, filled);
          }
        }
        to += run_bytes_;
        kept += line_bytes;
        begun += line_bytes;
      }
    }
  }

  std::int64_t src_pitch_;
  std::int64_t run_bytes_;
  std::int64_t cols_;
  std::byte* kept_;   // of each column, the line of the strip before
  std::byte* begun_;  // ... the line it begins in
  run_writer& writer_;
  Prefetcher& prefetcher_;
};
#else
inline constexpr bool strips_of_items = false;
template <std::size_t Word, class Prefetcher>
struct item_in_strips {
  item_in_strips(const register_tile::args&, std::byte*, run_writer&, Prefetcher&) noexcept {}
  void move(const std::byte*, std::byte*) {}
};
#endif

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
