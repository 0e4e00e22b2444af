// Phases 2 to 4 of gather/kernel.cuh for elements of one or two bytes: four bytes at a time, on runs that are
// contiguous in src and on lines that are contiguous in dst.
#pragma once

#include "kernels/gpu/gather/tables.cuh"

namespace cornerturn::gpu {

// Elements of a four-byte word of dst, which a lane gathers at once.
template <int WordBytes>
inline constexpr int gather_packed = WordBytes < 4 ? 4 / WordBytes : 1;

// 2. Loads four bytes from any address. Bytes outside `readable` are 0.
GPU_INLINE uint32_t load_narrow(src_bounds readable, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  uint32_t value = 0;
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    if (address + k >= readable.begin && address + k < readable.end) value |= uint32_t{from[k]} << 8 * k;
  }
  return value;
}

// 2. Copies up to gather_steps of the run's `words` words: word `word` and every `step`th word after it. The run begins
//    at
// `start` in src, at any address, and at the aligned offset `first` in shared memory.
GPU_INLINE void fetch_narrow(const gather_args& args, src_bounds readable, const unsigned char* start, int32_t first,
                             int32_t word, int32_t step, int32_t words) {
  const unsigned char* const from = start + word * 4;
  const auto address = reinterpret_cast<std::uint64_t>(from);
  const auto shift = static_cast<uint32_t>(address & 3);
  const bool inside = address - shift >= readable.begin && address + (gather_steps - 1) * 4 * step + 8 <= readable.end;
  const auto to = [&](int k) {
    const int32_t mine = word + k * step;
    int32_t smem_offset = first + mine * 4;
    if (args.row_pad != 0) smem_offset += static_cast<int32_t>(args.row.quotient(mine)) * args.row_pad;
    return shared_memory() + smem_offset;
  };
  if (inside && shift == 0) {
    GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
      if (word + k * step < words) start_copy<4>(to(k), from + k * 4 * step);
    }
  } else if (inside) {
    uint32_t low[gather_steps], high[gather_steps];
    GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
      const auto* const at =
          reinterpret_cast<const uint32_t*>(from - shift + (word + k * step < words ? k * 4 * step : 0));
      low[k] = load_cached(at), high[k] = load_cached(at + 1);
    }
    GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
      if (word + k * step >= words) continue;
      *reinterpret_cast<uint32_t*>(to(k)) = funnel_shift_right(low[k], high[k], 8 * shift);
    }
  } else {
    for (int k = 0; k < gather_steps && word + k * step < words; ++k) {
      *reinterpret_cast<uint32_t*>(to(k)) = load_narrow(readable, from + k * 4 * step);
    }
  }
}

// 3. Fills the shared-memory offsets of the elements of each word of dst. If a line begins `shift` elements into a
//    word,
// word q has the elements q * Packed - shift + k of a piece, 0 <= k < Packed. Negative ones are the last elements of
// the piece before. Either all lines of the box have one `shift`, or there is a table for each.
template <int WordBytes>
GPU_INLINE void fill_groups(const gather_args& args, int32_t* element_smem, int32_t shift) {
  constexpr int Packed = gather_packed<WordBytes>;
  const auto words = static_cast<int32_t>(args.piece.divisor);
  for (auto i = static_cast<int32_t>(thread_index()); i < args.line_shifts * Packed * words; i += gather_threads) {
    const int32_t group = i / Packed;
    const auto table = static_cast<int32_t>(args.piece.quotient(group));
    const int32_t p = (group - table * words) * Packed - (args.line_shifts == 1 ? shift : table) + i % Packed;
    int32_t smem_offset = 0;
    dst_offset(args.dst_axes, 0, args.line_axes, p < 0 ? p + words * Packed : p, smem_offset);
    element_smem[i] = p < 0 ? smem_offset - args.piece_smem_stride : smem_offset;
  }
}

// 4. Stores up to gather_steps words of a line: word `word` and every `step`th word after it. The line begins at
//    `start` in
// dst and at `line` in shared memory. Words of long lines are counted from the begin of a sector of dst, so that
// neighbouring lanes store whole sectors.
template <int WordBytes>
GPU_INLINE void write_narrow(const gather_args& args, const int32_t* element_smem, unsigned char* start, int32_t line,
                             int32_t word, int32_t step, int32_t elements) {
  constexpr int Packed = gather_packed<WordBytes>;
  const auto size = static_cast<int32_t>(args.piece.divisor);
  const int32_t before = (static_cast<int32_t>(reinterpret_cast<std::uint64_t>(start)) & args.line_mask) / WordBytes;
  const int32_t shift = before % Packed;
  word -= before / Packed;
  if (args.line_shifts > 1) element_smem += shift * size * Packed;
  int32_t q = word;  // in its piece; negative: before the line
  if (word >= 0) {
    const auto piece = static_cast<int32_t>(args.piece.quotient(word));
    q -= piece * size;
    line += piece * args.piece_smem_stride;
  }
  int32_t first = word * Packed - shift;
  unsigned char* to = start + first * WordBytes;
  const unsigned char* const box = shared_memory();
  GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
    if (first > -Packed && first < elements) {
      const auto group = *reinterpret_cast<const word_t<4 * Packed>*>(element_smem + q * Packed);
      const unsigned char* from[Packed] = {box + line + static_cast<int32_t>(group.x),
                                           box + line + static_cast<int32_t>(group.y)};
      if constexpr (Packed == 4) {
        from[2] = box + line + static_cast<int32_t>(group.z);
        from[3] = box + line + static_cast<int32_t>(group.w);
      }
      if (first >= 0 && first + Packed <= elements) {
        uint32_t value = 0;
        GPU_UNROLL for (int e = 0; e < Packed; ++e) {
          value |= uint32_t{*reinterpret_cast<const word_t<WordBytes>*>(from[e])} << 8 * WordBytes * e;
        }
        store_global(to, value);
      } else {
        GPU_UNROLL for (int e = 0; e < Packed; ++e) {
          if (first + e < 0 || first + e >= elements) continue;
          store_global(to + e * WordBytes, *reinterpret_cast<const word_t<WordBytes>*>(from[e]));
        }
      }
    }
    first += Packed * step;
    to += 4 * step;
    q += step;  // a piece is no shorter than a step: see cut.cpp
    if (q >= size) q -= size, line += args.piece_smem_stride;
  }
}

}  // namespace cornerturn::gpu
