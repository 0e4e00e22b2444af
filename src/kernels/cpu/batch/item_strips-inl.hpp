// Transposes a matrix whose columns are contiguous in dst, with AVX-512, while src is in L2. A strip has 64 / word rows, so
// that one column of a strip is one line.
//
//   1. a strip goes through registers, tile by tile (line_tile-inl.hpp), so src is read in its order
//   2. the new bytes of a column follow the bytes that the strip before left in `kept_`. Full lines are stored to dst
//   3. a column begins in the line in which the column before it ends. The first strip keeps that line in `begun_`, and the
//      last strip completes and writes it. If rows are left over, the last strip overlaps its neighbour
#if defined(CORNERTURN_ITEM_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ITEM_STRIPS_INL
#undef CORNERTURN_ITEM_STRIPS_INL
#else
#define CORNERTURN_ITEM_STRIPS_INL
#endif

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/line_tile-inl.hpp"
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

  // Shape  columns longer than a line, and at least one tile of columns. dst is a multiple of the word
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

  // Transposes one strip: the last `bytes` bytes of each of its columns are new. They go to `to`, one run apart.
  template <strip_part Part>
  HWY_NOINLINE void strip(const std::byte* from, std::byte* to, std::int64_t bytes) {
    constexpr auto across = static_cast<std::int64_t>(line_tile<Word>::cols);
    const splicer<Word> to_front(bytes % line_bytes);
    std::byte* kept = kept_;
    std::byte* begun = begun_;
    for (std::int64_t c = 0; c < cols_; c += across) {
      const std::int64_t before = HWY_MAX(c + across - cols_, std::int64_t{0});  // columns that an earlier tile had
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
  std::byte* kept_;   // for each column, its line of the strip before
  std::byte* begun_;  // for each column, the line in which it begins
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
