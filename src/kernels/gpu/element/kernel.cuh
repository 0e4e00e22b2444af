// Elements: any axes and any strides, also 0 and negative ones on either side, without shared memory. src is read through
// L1.
//   1. each thread has a word of dst, neighbouring threads neighbouring ones. It splits the number of the word into a row
//      of dst and a word of that row, and the row over the outer axes
//   2. it splits each element of the word over the axes of a row, and loads it
//   3. it stores the word. Only a word that is cut by an end of its row is stored by elements
// A word is one element, or 8 bytes of narrower ones where dst is contiguous. A row may begin anywhere: its first word is
// aligned down.
//
// several_elements_kernel: dst has gaps, or rows of few elements. A thread has up to four elements of a row, and splits the number of
// the first one only. In long rows they are 32 apart, so that the lanes of a warp have neighbouring elements.
//
// run_kernel: rows that are contiguous on both sides, at any addresses; src may be read backwards. A thread has 16 bytes of dst: it loads
// the aligned chunks of src around its elements, and shifts and turns them.
//
// triples_kernel: pixels of three bytes, any step apart in src, whose bytes may be read backwards. A thread has 16 bytes of dst, which
// are parts of six pixels: it loads the aligned words that hold each pixel.
//
// mirrored_triples_kernel: pixels of three words that are contiguous in src. Either the pixels of a row or the words of each pixel are
// read backwards. A thread loads the aligned chunks of src around the pixels of its 16 bytes of dst.
//
// repeated_element_kernel: src is broadcast along an outer axis, or along the row. A thread loads its word once and stores it at
// several places.
#pragma once

#include "kernels/gpu/element/args.hpp"
#include "kernels/gpu/policy/element_grid.cuh"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// Makes 8 bytes of their elements; element 0 becomes the lowest bytes.
template <int ElementBytes>
GPU_INLINE word_t<8> join_elements(const word_t<ElementBytes> (&e)[8 / ElementBytes]) {
  if constexpr (ElementBytes == 1) {
    return {byte_permute(byte_permute(e[0], e[1], 0x0040), byte_permute(e[2], e[3], 0x0040), 0x5410),
            byte_permute(byte_permute(e[4], e[5], 0x0040), byte_permute(e[6], e[7], 0x0040), 0x5410)};
  } else if constexpr (ElementBytes == 2) {
    return {byte_permute(e[0], e[1], 0x5410), byte_permute(e[2], e[3], 0x5410)};
  } else {
    return {e[0], e[1]};
  }
}

template <int ElementBytes, int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
element_kernel(GPU_PARAMETER element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int V = WordBytes / ElementBytes;
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  const uint32_t word = here.word;
  auto* from = static_cast<const unsigned char*>(args.src) + here.src;
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst;
  if constexpr (V == 1) {
    int64_t offset[1];
    set_offsets(args, static_cast<int32_t>(word), offset);  // 2.
    wait_for_earlier_launches<WordBytes * element_threads>();
    store_global(to + static_cast<int32_t>(word) * int64_t{args.dst_bytes},
                 load_cached(reinterpret_cast<const element*>(from + offset[0])));  // 3.
  } else {
    const auto misplaced = static_cast<int32_t>(low_word(to) / ElementBytes % V);
    const int32_t first = static_cast<int32_t>(word * V) - misplaced;
    to += int64_t{first} * ElementBytes;
    const bool is_whole = first >= 0 && static_cast<uint32_t>(first) + V <= args.row_elements;
    element value[V];
    wait_for_earlier_launches<WordBytes * element_threads>();
    if (is_whole && args.row_rank == 1) {  // nearly all words of large problems
      from += first * int64_t{args.src_bytes};
      GPU_UNROLL for (int k = 0; k < V; ++k) {
        value[k] = load_cached(reinterpret_cast<const element*>(from + k * int64_t{args.src_bytes}));
      }
      return store_global(to, join_elements<ElementBytes>(value));
    }
    constexpr int Part = V < 4 ? V : 4;  // fewer offsets take fewer registers
    GPU_UNROLL for (int part = 0; part < V; part += Part) {
      int64_t offset[Part];
      set_offsets(args, first + part, offset);  // 2.
      GPU_UNROLL for (int k = 0; k < Part; ++k) {
        const bool is_of_row = static_cast<uint32_t>(first + part + k) < args.row_elements;
        value[part + k] = is_of_row ? load_cached(reinterpret_cast<const element*>(from + offset[k])) : 0;
      }
    }
    if (is_whole) return store_global(to, join_elements<ElementBytes>(value));  // 3.
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (static_cast<uint32_t>(first + k) < args.row_elements) store_global(to + k * ElementBytes, value[k]);
    }
  }
}

template <int ElementBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
several_elements_kernel(GPU_PARAMETER several_args args) {
  static_assert(threads_of(Limits) == element_threads);
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  const uint32_t apart = 1u << args.apart_log2, along = here.word & (apart - 1);
  const uint32_t first = (here.word - along) * elements_of_thread + along;
  auto* from = static_cast<const unsigned char*>(args.src) + here.src + first * int64_t{args.src_bytes};
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst + first * int64_t{args.dst_bytes};
  const int64_t src_step = int64_t{args.src_bytes} << args.apart_log2;
  const int64_t dst_step = int64_t{args.dst_bytes} << args.apart_log2;
  wait_for_earlier_launches<ElementBytes * element_threads>();
  element value[elements_of_thread];
  GPU_UNROLL for (uint32_t k = 0; k < elements_of_thread; ++k) {
    if (first + k * apart < args.row_elements) {
      value[k] = load_cached(reinterpret_cast<const element*>(from + k * src_step));
    }
  }
  GPU_UNROLL for (uint32_t k = 0; k < elements_of_thread; ++k) {
    if (first + k * apart < args.row_elements) store_global(to + k * dst_step, value[k]);  // 3.
  }
}

// Turns the elements of a chunk, of at most 8 bytes.
template <int ElementBytes>
GPU_INLINE word_t<16> turned(const uint32_t (&words)[4]) {
  uint32_t made[4];
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    made[k] = words[ElementBytes == 8 ? k ^ 2 : 3 - k];
    if constexpr (ElementBytes < 4) made[k] = byte_permute(made[k], 0, ElementBytes == 1 ? 0x0123 : 0x1032);
  }
  return {made[0], made[1], made[2], made[3]};
}

template <int ElementBytes, bool Backwards, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
run_kernel(GPU_PARAMETER element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int V = 16 / ElementBytes;
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst;
  const auto misplaced = static_cast<int32_t>(low_word(to) / ElementBytes % V);
  const int32_t first = static_cast<int32_t>(here.word * V) - misplaced;
  const int64_t first_bytes = int64_t{first} * ElementBytes;
  to += first_bytes;
  // Backwards, the last element of the chunk is the first one in src.
  const auto* const from = static_cast<const unsigned char*>(args.src) + here.src +
                           (Backwards ? ElementBytes - 16 - first_bytes : first_bytes);
  const uint32_t shift = low_word(from) & 15;
  const unsigned char* const aligned = from - shift;
  const auto address = reinterpret_cast<std::uint64_t>(aligned);
  const auto left = static_cast<int32_t>(args.row_elements) - first;
  wait_for_earlier_launches<16 * element_threads>();
  if (address >= args.src_begin && address + (shift == 0 ? 16 : 32) <= args.src_end) {
    const auto low = load_cached(reinterpret_cast<const word_t<16>*>(aligned));
    const auto high = shift == 0 ? low : load_cached(reinterpret_cast<const word_t<16>*>(aligned + 16));
    uint32_t words[4];
    realign<ElementBytes>(words, low, high, shift);
    const word_t<16> value =
        Backwards ? turned<ElementBytes>(words) : word_t<16>{words[0], words[1], words[2], words[3]};
    if (first >= 0 && left >= V) return store_global(to, value);  // 3.
    return store_bytes<ElementBytes>(to, value, first < 0 ? -first * ElementBytes : 0,
                                     left < V ? left * ElementBytes : 16);
  }
  GPU_UNROLL_BY(1) for (int k = 0; k < V; ++k) {  // at an end of src
    if (static_cast<uint32_t>(first + k) >= args.row_elements) continue;
    store_global(to + k * ElementBytes,
                 load_cached(reinterpret_cast<const element*>(from + (Backwards ? V - 1 - k : k) * ElementBytes)));
  }
}

// The 16 bytes of dst of a thread, in a row of pixels of `Bytes` bytes each.
template <int Bytes>
struct pixel_chunk {
  int64_t src;  // of the row, bytes
  unsigned char* to;
  int32_t first;  // byte of the row; negative: before it
  int32_t pixel;  // that has this byte

  GPU_INLINE pixel_chunk(const element_args& args, uint32_t number) {
    const element_word here = locate_word(args, number);
    src = here.src;
    to = static_cast<unsigned char*>(args.dst) + here.dst;
    first = static_cast<int32_t>(here.word * 16) - static_cast<int32_t>(low_word(to) & 15);
    to += first;
    pixel = static_cast<int32_t>((static_cast<uint32_t>(first) + 16 * Bytes) / Bytes) - 16;  // 2.
  }
};

template <std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
triples_kernel(GPU_PARAMETER element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int Bytes = 3, Count = 6;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const auto [offset, to, first, pixel] = pixel_chunk<Bytes>(args, number);
  const auto pixels = static_cast<int32_t>(args.row_elements) / Bytes;
  // The lowest byte of pixel 0. `src_bytes` is 1 or -1.
  const auto* const from = static_cast<const unsigned char*>(args.src) + offset - (args.src_bytes < 0 ? Bytes - 1 : 0);
  const int64_t step = args.row[0].above_src_bytes;
  uint32_t value[Count];
  wait_for_earlier_launches<16 * element_threads>();
  GPU_UNROLL for (int k = 0; k < Count; ++k) {
    int32_t mine =
        pixel + k < pixels ? pixel + k : pixels - 1;  // others replace pixels beside the row: they are not stored
    mine = mine < 0 ? 0 : mine;
    const unsigned char* const at = from + mine * step;
    const uint32_t shift = low_word(at) & 3;
    const auto aligned = reinterpret_cast<std::uint64_t>(at) - shift;
    if (aligned >= args.src_begin && aligned + 8 <= args.src_end) {
      const auto* const words = reinterpret_cast<const uint32_t*>(at - shift);
      const uint32_t low = load_cached(words), high = shift > 1 ? load_cached(words + 1) : 0;
      value[k] = funnel_shift_right(low, high, shift * 8);
    } else {
      value[k] = at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16;
    }
    if (args.src_bytes < 0) value[k] = byte_permute(value[k], 0, 0x4012);
  }
  const word_t<16> made = join_triples(value, static_cast<uint32_t>(first - pixel * Bytes));
  const int32_t left = static_cast<int32_t>(args.row_elements) - first;
  if (first >= 0 && left >= 16) return store_global(to, made);  // 3.
  store_bytes<1>(to, made, first < 0 ? -first : 0, left < 16 ? left : 16);
}

// Words [shift / 4, shift / 4 + N) of three chunks, shifted down by shift % 4 bytes.
template <int N>
GPU_INLINE void take_window(uint32_t (&taken)[N], const word_t<16> (&chunk)[3], uint32_t shift) {
  const uint32_t all[12] = {chunk[0].x, chunk[0].y, chunk[0].z, chunk[0].w, chunk[1].x, chunk[1].y,
                            chunk[1].z, chunk[1].w, chunk[2].x, chunk[2].y, chunk[2].z, chunk[2].w};
  uint32_t from[N + 2], words[N + 1];
  GPU_UNROLL for (int k = 0; k < N + 2; ++k) from[k] = (shift & 8) != 0 ? all[k + 2] : all[k];
  GPU_UNROLL for (int k = 0; k < N + 1; ++k) words[k] = (shift & 4) != 0 ? from[k + 1] : from[k];
  GPU_UNROLL for (int k = 0; k < N; ++k) taken[k] = funnel_shift_right(words[k], words[k + 1], (shift & 3) * 8);
}

// 3. Pixels of three words, of 1 or 2 bytes. Pixel k of the window, in the order of src, is in `low` and, of words of 2 bytes, `high`.
template <int WordBytes>
struct pixel_window;

template <>
struct pixel_window<1> {
  static constexpr int count = 6, words = 5;  // of 16 bytes of dst
  uint32_t low[count];

  GPU_INLINE explicit pixel_window(const uint32_t (&from)[words]) {
    GPU_UNROLL for (int k = 0; k < count; ++k) {
      low[k] = funnel_shift_right(from[k * 3 / 4], from[k * 3 / 4 + (k % 4 == 0 ? 0 : 1)], k * 3 % 4 * 8);
    }
  }
  GPU_INLINE word_t<16> join(bool mirrored, uint32_t skipped) const {
    uint32_t pixel[count];
    GPU_UNROLL for (int k = 0; k < count; ++k) pixel[k] =
        mirrored ? low[count - 1 - k] : byte_permute(low[k], 0, 0x4012);
    return join_triples(pixel, skipped);
  }
};

template <>
struct pixel_window<2> {
  static constexpr int count = 4, words = 6;
  uint32_t low[count], high[count];

  GPU_INLINE explicit pixel_window(const uint32_t (&from)[words]) {
    GPU_UNROLL for (int k = 0; k < count; k += 2) {
      const int first = k * 3 / 2;
      low[k] = from[first], high[k] = from[first + 1];
      low[k + 1] = funnel_shift_right(from[first + 1], from[first + 2], 16), high[k + 1] = from[first + 2] >> 16;
    }
  }
  GPU_INLINE word_t<16> join(bool mirrored, uint32_t skipped) const {
    uint32_t first[count], last[count];  // two words, and one
    GPU_UNROLL for (int k = 0; k < count; ++k) {
      first[k] = mirrored ? low[count - 1 - k] : byte_permute(low[k], high[k], 0x3254);
      last[k] = mirrored ? high[count - 1 - k] : low[k];
    }
    uint32_t all[words];
    GPU_UNROLL for (int k = 0; k < count; k += 2) {
      uint32_t* const made = all + k * 3 / 2;
      made[0] = first[k];
      made[1] = byte_permute(last[k], first[k + 1], 0x5410);
      made[2] = byte_permute(first[k + 1], last[k + 1], 0x5432);
    }
    uint32_t made[4];
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      made[k] = skipped < 4 ? funnel_shift_right(all[k], all[k + 1], skipped * 8) : all[k + 1];
    }
    return {made[0], made[1], made[2], made[3]};
  }
};

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
mirrored_triples_kernel(GPU_PARAMETER element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  using window = pixel_window<WordBytes>;
  using word_type = word_t<WordBytes>;
  constexpr int Bytes = 3 * WordBytes, Window = window::count * Bytes;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const auto [offset, to, first, pixel] = pixel_chunk<Bytes>(args, number);
  const auto row_bytes = static_cast<int32_t>(args.row_elements) * WordBytes;
  const bool mirrored = args.src_bytes > 0;  // else the words of each pixel are read backwards
  const auto* const src = static_cast<const unsigned char*>(args.src) + offset;
  const auto* const from =
      mirrored ? src - int64_t{pixel + window::count - 1} * Bytes : src - (Bytes - WordBytes) + int64_t{pixel} * Bytes;
  const uint32_t shift = low_word(from) & 15;
  const unsigned char* const aligned = from - shift;
  const auto address = reinterpret_cast<std::uint64_t>(aligned);
  const int32_t left = row_bytes - first;
  wait_for_earlier_launches<16 * element_threads>();
  if (address >= args.src_begin && address + 48 <= args.src_end) {
    const auto* const chunks = reinterpret_cast<const word_t<16>*>(aligned);
    word_t<16> chunk[3] = {load_cached(chunks), load_cached(chunks + 1), {}};
    if (shift + Window > 32) chunk[2] = load_cached(chunks + 2);
    uint32_t words[window::words];
    take_window(words, chunk, shift);
    const word_t<16> made = window(words).join(mirrored, static_cast<uint32_t>(first - pixel * Bytes));
    if (first >= 0 && left >= 16) return store_global(to, made);  // 3.
    return store_bytes<WordBytes>(to, made, first < 0 ? -first : 0, left < 16 ? left : 16);
  }
  GPU_UNROLL_BY(1) for (int32_t at = first; at < first + 16; at += WordBytes) {  // at an end of src
    if (at < 0 || at >= row_bytes) continue;
    const int32_t mine = at / Bytes, word = at - mine * Bytes;
    const auto* const value = src + (mirrored ? word - mine * int64_t{Bytes} : mine * int64_t{Bytes} - word);
    store_global(to + (at - first), load_cached(reinterpret_cast<const word_type*>(value)));
  }
}

template <int ElementBytes, int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
repeated_element_kernel(GPU_PARAMETER repeat_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int V = WordBytes / ElementBytes;
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  auto* from = static_cast<const unsigned char*>(args.src) + here.src;
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst;
  const bool along_row = args.repeat_elements > 0;
  int32_t repeats = args.repeats;
  if (!along_row) {
    const uint32_t below = args.below.quotient(number), apart = args.apart.divisor;
    const uint32_t place = below - args.apart.quotient(below) * apart;
    const bool has_last = place + static_cast<uint32_t>(repeats - 1) * apart < args.places;
    repeats = has_last ? repeats : repeats - 1;
  }
  const auto misplaced = V == 1 ? 0 : static_cast<int32_t>(low_word(to) / ElementBytes % V);
  uint32_t word = here.word;
  if (along_row) word += args.together.quotient(word) * args.together.divisor * static_cast<uint32_t>(repeats - 1);
  int32_t first = static_cast<int32_t>(word * V) - misplaced;
  to += first * int64_t{V == 1 ? args.dst_bytes : ElementBytes};
  element value[V];
  const int32_t known = along_row && first < 0 ? first + args.repeat_elements : first;  // has the value of `first`
  wait_for_earlier_launches<WordBytes * element_threads>();
  constexpr int Part = V < 4 ? V : 4;  // fewer offsets take fewer registers
  GPU_UNROLL for (int part = 0; part < V; part += Part) {
    int64_t offset[Part];
    set_offsets(args, known + part, offset);  // 2.
    GPU_UNROLL for (int k = 0; k < Part; ++k) {
      const bool is_of_row = along_row || static_cast<uint32_t>(first + part + k) < args.row_elements;
      value[part + k] = is_of_row ? load_cached(reinterpret_cast<const element*>(from + offset[k])) : element{};
    }
  }
  for (int32_t place = 0; place < repeats; ++place) {  // 3.
    if constexpr (V == 1) {
      if (static_cast<uint32_t>(first) < args.row_elements) store_global(to, value[0]);
    } else if (first >= 0 && static_cast<uint32_t>(first) + V <= args.row_elements) {
      store_global(to, join_elements<ElementBytes>(value));
    } else {
      GPU_UNROLL for (int k = 0; k < V; ++k) {
        if (static_cast<uint32_t>(first + k) < args.row_elements) store_global(to + k * ElementBytes, value[k]);
      }
    }
    to += args.repeat_dst_bytes;
    first += args.repeat_elements;
  }
}

}  // namespace cornerturn::gpu
