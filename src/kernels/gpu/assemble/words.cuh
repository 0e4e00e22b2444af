// Assemble words: phase 3 of kernel.cuh for elements of one word, or of three.
#pragma once

#include "kernels/gpu/assemble/kernel.cuh"
#include "kernels/gpu/policy/alternating.cuh"

namespace cornerturn::gpu {

// An element is Words words of WordBytes. A chunk that starts within an element needs parts of `count` elements.
template <int WordBytes, int Words>
struct assembled {
  static constexpr int bytes = WordBytes * Words;
  static constexpr int log2_bytes = WordBytes == 1   ? 0
                                    : WordBytes == 2 ? 1
                                    : WordBytes == 4 ? 2
                                    : WordBytes == 8 ? 3
                                                     : 4;                   // of one word
  static constexpr int spare_bytes = WordBytes == 1 && Words == 3 ? 4 : 0;  // two aligned words hold three bytes
  static constexpr int count = Words == 1 ? 16 / WordBytes : WordBytes == 1 ? 6 : WordBytes == 2 ? 4 : 2;
  static constexpr int window = assemble_window(WordBytes, Words);
};

// 3. Moves word w ^ turn to w.
GPU_INLINE void turn_words(uint32_t* word, uint32_t turn) {
  GPU_UNROLL for (uint32_t bit = 1; bit < 4; bit *= 2) {
    const bool swapped = (turn & bit) != 0;
    GPU_UNROLL for (uint32_t k = 0; k < 4; ++k) {
      if ((k & bit) != 0) continue;
      const uint32_t low = word[k], high = word[k + bit];
      word[k] = swapped ? high : low;
      word[k + bit] = swapped ? low : high;
    }
  }
}

// 3. The elements of shared memory, one after another: element k ^ turn is at `from + offset[k]`. Returns bytes
// [skipped, skipped + 16).
template <int WordBytes, int Words, class Turn>
GPU_INLINE word_t<16> gather_chunk(const unsigned char* from, const int32_t* offset, uint32_t skipped, Turn turn) {
  constexpr bool in_turn = !std::is_same_v<Turn, in_order>;
  constexpr int Count = assembled<WordBytes, Words>::count;
  if constexpr (WordBytes == 16) return load_shared<word_t<16>>(from + offset[0]);
  uint32_t made[4] = {};
  if constexpr (WordBytes == 1 && Words == 3) {
    uint32_t element[Count];  // three bytes of an aligned word, or of two
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      const unsigned char* const aligned = from + (offset[k] & ~3);
      element[k] = funnel_shift_right(load_shared<uint32_t>(aligned), load_shared<uint32_t>(aligned + 4),
                                      static_cast<uint32_t>(offset[k]) * 8);
    }
    return join_triples(element, skipped);
  } else if constexpr (WordBytes == 1) {
    uint32_t byte[16];
    GPU_UNROLL for (int k = 0; k < 16; ++k) byte[k] = load_shared<unsigned char>(from + offset[k]);
    const uint32_t order = 0x5410 ^ (turn & 1) * 0x1111 ^ (turn & 2) * 0x2222;
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      made[k] = byte_permute(byte_permute(byte[4 * k], byte[4 * k + 1], 0x0040),
                             byte_permute(byte[4 * k + 2], byte[4 * k + 3], 0x0040), order);
    }
    if constexpr (in_turn) turn_words(made, turn >> 2);
  } else if constexpr (WordBytes == 2) {
    uint32_t half[Count * Words];
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      GPU_UNROLL for (int word = 0; word < Words; ++word) {
        half[k * Words + word] = load_shared<std::uint16_t>(from + offset[k] + word * 2);
      }
    }
    constexpr int Made = Count * Words / 2;
    uint32_t all[Made];
    const uint32_t order = 0x5410 ^ (turn & 1) * 0x4444;
    GPU_UNROLL for (int k = 0; k < Made; ++k) all[k] = byte_permute(half[2 * k], half[2 * k + 1], order);
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if constexpr (Words == 1) {
        made[k] = all[k];
      } else {
        const uint32_t low = skipped < 4 ? all[k] : all[k + 1], high = all[k + 1];
        made[k] = funnel_shift_right(low, high, skipped == 2 ? 16 : 0);
      }
    }
    if constexpr (in_turn) turn_words(made, turn >> 1);
  } else if constexpr (WordBytes < 16) {
    constexpr int Each = WordBytes / 4;
    uint32_t all[Count * Words * Each];
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      GPU_UNROLL for (int word = 0; word < Words; ++word) {
        const auto value = load_shared<word_t<WordBytes>>(from + offset[k] + word * WordBytes);
        if constexpr (WordBytes == 8) {
          all[(k * Words + word) * 2] = value.x, all[(k * Words + word) * 2 + 1] = value.y;
        } else {
          all[k * Words + word] = value;
        }
      }
    }
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      made[k] = all[k];
      if constexpr (Words == 3) {
        made[k] = skipped == 0 ? all[k] : skipped == WordBytes ? all[k + Each] : all[k + 2 * Each];
      }
    }
  }
  return {made[0], made[1], made[2], made[3]};
}

// 3. The shared-memory offsets of the elements that hold a chunk, from `element` on; -1: the chunk starts before the
// line. Exist: all of them are in the box. Otherwise others replace those that are not; their bytes are not stored.
template <int WordBytes, int Words, bool Fused, bool Swizzled, bool Exist, int Window, class Turn>
GPU_INLINE void locate_elements(const assemble_args& args, const assemble_tables<Window>& tables, int32_t smem_offset,
                                int32_t element, int32_t absent, int32_t elements, Turn turn, int32_t* offset) {
  constexpr int Count = assembled<WordBytes, Words>::count;
  int32_t piece_first = 0;
  if constexpr (Fused) {
    const auto piece = static_cast<int32_t>(args.piece.quotient(Exist || element > 0 ? element : 0));
    piece_first = piece * static_cast<int32_t>(args.piece.divisor);
    smem_offset += piece * args.piece_smem_stride;
  }
  if constexpr (Fused && Exist && Count > 1) {
    const uint32_t both =
        static_cast<uint32_t>(smem_offset) * 0x10001;  // a box has at most 65535 bytes, so no sum carries
    GPU_UNROLL for (int k = 0; k < Count; k += Window) {
      const int32_t turned = static_cast<int32_t>(turn) & (Count - 1) & -Window;
      const auto entries = load_shared<word_t<Window * 2>>(tables.window(element - piece_first, k ^ turned));
      uint32_t two[Window / 2] = {entries.x, entries.y};
      if constexpr (Window == 8) {
        const bool swapped = (turn & 4) != 0;
        two[0] = swapped ? entries.z : entries.x, two[1] = swapped ? entries.w : entries.y;
        two[2] = swapped ? entries.x : entries.z, two[3] = swapped ? entries.y : entries.w;
      }
      GPU_UNROLL for (int i = 0; i < Window && k + i < Count; ++i) {
        if (i % 2 == 0) two[i / 2] = Swizzled ? swizzled(args, two[i / 2] + both) : two[i / 2] + both;
        offset[k + i] = static_cast<int32_t>(i % 2 == 0 ? two[i / 2] & 0xffff : two[i / 2] >> 16);
      }
    }
    return;
  }
  if constexpr (!std::is_same_v<Turn, in_order>) {
    constexpr int Each = 4 / WordBytes;  // elements of a word
    const int32_t stride = args.elements[0].smem_stride;
    smem_offset += element * stride;
    GPU_UNROLL for (int word = 0; word < Count; word += Each) {
      const int32_t first = smem_offset + static_cast<int32_t>(word ^ (turn & ~(Each - 1u))) * stride;
      GPU_UNROLL for (int k = 0; k < Each; ++k) {
        offset[word + k] = first + static_cast<int32_t>(k ^ (turn & (Each - 1u))) * stride;
      }
    }
    return;
  }
  GPU_UNROLL for (int k = 0; k < Count; ++k) {
    int32_t mine = element + k;
    if constexpr (!Exist) {
      mine = mine < elements ? mine : elements - 1;
      mine = mine < absent ? absent : mine;
    }
    offset[k] = smem_offset + (Fused ? int32_t{tables.entry(mine - piece_first)} : mine * args.elements[0].smem_stride);
  }
  if constexpr (Swizzled) {
    GPU_UNROLL for (int k = 0; k < Count; ++k) {
      offset[k] = static_cast<int32_t>(swizzled(args, static_cast<uint32_t>(offset[k])));
    }
  }
}

// 3. The elements of a chunk are words, or three words each.
template <int WordBytes, int Words, bool Fused, bool Swizzled, class Turn>
struct words_of_chunk {
  const assemble_args& args;
  const assemble_tables<assembled<WordBytes, Words>::window>& tables;
  int32_t absent;    // elements
  int32_t elements;  // of a line
  Turn turn;

  GPU_INLINE words_of_chunk(const assemble_args& all, const assemble_tables<assembled<WordBytes, Words>::window>& at,
                            const box_extents& box, Turn of_lane)
      : args(all),
        tables(at),
        absent(box.absent_of(all.line_bytes) / (WordBytes * Words)),
        elements(box.of(all.line_bytes) / (WordBytes * Words)),
        turn(of_lane) {}

  template <bool Inside>
  GPU_INLINE word_t<16> get(const assemble_chunk& chunk) const {
    using at = assembled<WordBytes, Words>;
    const int32_t element =
        Words == 1 ? chunk.start >> at::log2_bytes
                   : static_cast<int32_t>(static_cast<uint32_t>(chunk.start + 16 * at::bytes) / at::bytes) - 16;
    int32_t offset[at::count];
    if constexpr (Inside) {
      locate_elements<WordBytes, Words, Fused, Swizzled, true>(args, tables, chunk.smem_offset, element, absent,
                                                               elements, turn, offset);
      // Three words: the last of the elements may only be needed for another misalignment of the chunk.
      if (Words == 3 && WordBytes > 1 && element + at::count > elements) offset[at::count - 1] = offset[0];
    } else {
      locate_elements<WordBytes, Words, Fused, Swizzled, false>(args, tables, chunk.smem_offset, element, absent,
                                                                elements, in_order{}, offset);
    }
    const auto skipped = static_cast<uint32_t>(chunk.start - element * at::bytes);
    if constexpr (Inside) return gather_chunk<WordBytes, Words>(shared_memory(), offset, skipped, turn);
    return gather_chunk<WordBytes, Words>(shared_memory(), offset, skipped, in_order{});
  }
};

// The elements of lines are words, or three words each.
template <int WordBytes, int Words, bool Fused>
struct words_of_lines {
  static constexpr int word_bytes = WordBytes;  // of the smallest store
  static constexpr int window = assembled<WordBytes, Words>::window;
  static constexpr bool fused = Fused;
  static constexpr bool swizzled = Fused && Words == 1 && WordBytes < 16;       // if args has a swizzle
  static constexpr bool turned = Words == 1 && WordBytes <= 2;                  // if args has a turn
  static constexpr int spare_entries = assembled<WordBytes, Words>::count - 1;  // of the table of elements
  static constexpr int spare_bytes = assembled<WordBytes, Words>::spare_bytes;
  template <bool Swizzled, class Turn>
  using gather = words_of_chunk<WordBytes, Words, Fused, Swizzled, Turn>;
};

template <int WordBytes, int Words, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
assemble_kernel(GPU_PARAMETER assemble_args args) {
  static_assert(threads_of(Limits) == assemble_threads);
  assemble_box<words_of_lines<WordBytes, Words, Fused>>(args, block_index());
}

template <int WordBytes, int Words, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
alternating_assemble_kernel(GPU_PARAMETER alternating<assemble_args> all) {
  static_assert(threads_of(Limits) == assemble_threads);
  alternate(all, [](const assemble_args& args, uint32_t number) {
    assemble_box<words_of_lines<WordBytes, Words, Fused>>(args, number);
  });
}

}  // namespace cornerturn::gpu
