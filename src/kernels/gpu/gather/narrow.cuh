// The two walks of a box of one- or two-byte elements whose lines are contiguous in dst: four bytes at a time.
#pragma once

#include "kernels/gpu/gather/tables.cuh"

namespace cornerturn::gpu {

// Elements of a line that a lane collects at once: those of a four-byte word.
template <int WordBytes>
inline constexpr int gather_packed = WordBytes < 4 ? 4 / WordBytes : 1;

// 2. Four bytes of a run from any address. What lies outside of src is not read.
GPU_INLINE uint32_t load_narrow(src_bounds readable, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  uint32_t value = 0;
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    if (address + k >= readable.begin && address + k < readable.end) value |= uint32_t{from[k]} << 8 * k;
  }
  return value;
}

// 2. Up to gather_steps words of a run, word `word` and every `step`th from there, of `words` in all; `first` is where the
// run begins in shared memory. Wherever it begins in src, there it begins with a word.
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

// 3. The places of elements that share a word of dst: where a line begins `shift` elements into a word, the elements
// q * Packed - shift + k of a piece, k = 0 ... Packed - 1. Those before the piece are the last of the one before it.
// All lines of the box begin `shift` elements into a word, or there is a table for each shift.
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

// 4. Up to gather_steps words of a line that begins at `start`, and in shared memory at `line`: word `word` and every
// `step`th from there. Words are counted from where the sector of dst begins, when lines are long, so that neighbours
// write whole sectors.
template <int WordBytes>
GPU_INLINE void write_narrow(const gather_args& args, const int32_t* element_smem, unsigned char* start, int32_t line,
                             int32_t word, int32_t step, int32_t elements) {
  constexpr int Packed = gather_packed<WordBytes>;
  const auto size = static_cast<int32_t>(args.piece.divisor);
  const int32_t before = (static_cast<int32_t>(reinterpret_cast<std::uint64_t>(start)) & args.line_mask) / WordBytes;
  const int32_t shift = before % Packed;
  word -= before / Packed;
  if (args.line_shifts > 1) element_smem += shift * size * Packed;
  int32_t q = word;  // in its piece; below 0 where no element is
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
    q += step;  // a piece is no shorter than a step: see plan/box.cpp
    if (q >= size) q -= size, line += args.piece_smem_stride;
  }
}

}  // namespace cornerturn::gpu
