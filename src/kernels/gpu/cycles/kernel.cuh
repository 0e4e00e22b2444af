// In place: items of a rectangle follow their cycles, each to the place of one that was read just before. See
// cycles_args. A block is a walker: it holds one item, or a part of one, and two bits for each place say whether it is
// claimed, and read. Whoever claims a place reads it; who has claimed it, or has seen that it was read, writes to it. So
// walkers of one cycle need not meet in any order: a walker that has claimed a place waits for nothing until it has read
// it.
//   1. a walker looks at places of its own in turn, as many at once as it has threads, and claims one that is free
//   2. it reads the item there and says so, for another walker may want to write there; nobody but the walker itself
//      writes to the other places of its way
//   3. the place where the item belongs: if the walker has claimed that one, it reads the item there, and writes the one
//      before; while both are on their way it claims the place after the next
//   4. if another walker has claimed it, the walker waits until it was read, writes its item, and looks for another one
// Addresses that are no multiples of four bytes are realigned as in runs.cuh: an item is read in words of where it
// goes.
#pragma once

#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// What a walker holds of an item: in words of dst, which need not be those of src.
template <int WordBytes, int PartBytes>
struct held_part {
  static constexpr int bytes = WordBytes == 1 ? 4 : WordBytes;
  static constexpr int words = PartBytes / cycles_threads / bytes;
  word_t<bytes> at[words];
};

// The bits of a part of a place, for 16 parts a word.
struct place_bits {
  uint32_t* word;
  uint32_t claimed, read;
  GPU_INLINE place_bits(uint32_t* flags, uint32_t number)
      : word(flags + number / 16), claimed(1u << number % 16), read(claimed << 16) {}
};

GPU_INLINE bool claim(const place_bits& bits) { return claim_bit(bits.word, bits.claimed); }

// The part of an item at one place.
struct walk {
  int64_t offset;  // bytes of the part in its item
  int32_t length;
  uint32_t part;
};

// Where the part is read, or written, that is at this place.
template <bool Written>
GPU_INLINE unsigned char* address_of(const cycles_args& args, uint32_t slot, const walk& mine) {
  const uint32_t waiting = slot - args.first_away;
  if (waiting < args.count_away && (args.writes_away != 0) == Written) {
    return static_cast<unsigned char*>(const_cast<void*>(args.src)) + waiting * args.item_bytes + mine.offset;
  }
  const uint32_t row = args.row_places.quotient(slot);
  return static_cast<unsigned char*>(args.dst) + row * args.row_bytes +
         (slot - row * args.row_places.divisor) * args.item_bytes + mine.offset;
}

GPU_INLINE uint32_t target_of(const cycles_args& args, uint32_t slot) {
  uint32_t outer = args.inner.quotient(slot);
  uint32_t inner = slot - outer * args.inner.divisor + args.turned_inner;
  outer += args.turned_outer;
  if (inner >= args.inner.divisor) inner -= args.inner.divisor;
  if (outer >= args.outer) outer -= args.outer;
  return inner * args.outer + outer;
}

// Reads the part at `from`, in words of `to`.
template <int WordBytes, int PartBytes>
GPU_INLINE void read_part(held_part<WordBytes, PartBytes>& held, const unsigned char* from, const unsigned char* to,
                          int32_t length) {
  const int thread = static_cast<int>(thread_index());
  if constexpr (WordBytes == 1) {
    const auto shift = static_cast<int32_t>(reinterpret_cast<std::uint64_t>(to) & 3);
    const auto begin = reinterpret_cast<std::uint64_t>(from);
    const auto end = begin + static_cast<std::uint32_t>(length);
    GPU_UNROLL for (int k = 0; k < held.words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * 4 - shift;
      if (first < length) held.at[k] = load_unaligned(from + first, begin, end);
    }
  } else {
    GPU_UNROLL for (int k = 0; k < held.words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * WordBytes;
      if (first < length) held.at[k] = load_global<word_t<WordBytes>>(from + first);
    }
  }
}

template <int WordBytes, int PartBytes>
GPU_INLINE void write_part(const held_part<WordBytes, PartBytes>& held, unsigned char* to, int32_t length) {
  const int thread = static_cast<int>(thread_index());
  if constexpr (WordBytes == 1) {
    const auto shift = static_cast<int32_t>(reinterpret_cast<std::uint64_t>(to) & 3);
    GPU_UNROLL for (int k = 0; k < held.words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * 4 - shift;
      if (first >= 0 && first + 4 <= length) {
        store_global(to + first, held.at[k]);
      } else if (first < length) {
        GPU_UNROLL for (int byte = 0; byte < 4; ++byte) {
          if (first + byte >= 0 && first + byte < length) {
            store_global(to + first + byte, static_cast<word_t<1>>(held.at[k] >> 8 * byte));
          }
        }
      }
    }
  } else {
    GPU_UNROLL for (int k = 0; k < held.words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * WordBytes;
      if (first < length) store_global(to + first, held.at[k]);
    }
  }
}

// What one thread says, to all threads. Who uses the same slot again has met another barrier since.
GPU_INLINE bool told_by(uint32_t speaker, bool said, uint32_t* slot) {
  if (thread_index() == speaker) *slot = said ? 1 : 0;
  block_barrier();  // orders the slot's write before its reads
  return *slot != 0;
}

// 2-4. From a place that this walker has claimed to one that it has not.
template <int WordBytes, int PartBytes>
struct walker {
  using part = held_part<WordBytes, PartBytes>;
  static constexpr uint32_t claimer = cycles_threads / 2;  // in a warp of its own: claims take as long as reads do
  static constexpr uint32_t no_place = UINT32_MAX;
  const cycles_args& args;
  const walk& mine;
  uint32_t* const slots;
  uint32_t target = 0;                         // where the item that was read last belongs
  unsigned char *at = nullptr, *to = nullptr;  // the place that was read last, and the target
  bool claimed = false;

  [[nodiscard]] GPU_INLINE place_bits bits_of(uint32_t slot) const {
    return {args.flags, slot * args.parts.divisor + mine.part};
  }

  // 2. Claims the target too. `into`: where what belongs at this place is written
  GPU_INLINE void read(part& held, uint32_t slot, unsigned char* into) {
    target = target_of(args, slot);
    at = into, to = address_of<true>(args, target, mine);
    read_part(held, address_of<false>(args, slot, mine), to, mine.length);
    claimed = thread_index() == claimer && claim(bits_of(target));
  }
  // Writes `last`, which belongs at `at`, and reads the item of the next place in its stead. held, the item of `at`, may
  // still be on its way.
  // Returns whether it goes on, once place `first`, if there is one, says that it was read
  template <int Slot>
  GPU_INLINE bool step(part& last, int32_t last_length, const part& held, uint32_t first = no_place) {
    // Its barrier orders the reads of `at` before its writes, and those of the first place before its bit.
    const bool goes_on = told_by(claimer, claimed, slots + Slot);
    write_part(last, at, last_length);
    if (goes_on) read(last, target, to);  // 3.
    if (thread_index() == 0) {
      const place_bits begun = bits_of(first), wanted = bits_of(target);
      if (first != no_place) publish_bit(begun.word, begun.read);
      if (!goes_on) wait_for_bit(wanted.word, wanted.read);  // 4.
    }
    if (goes_on) return true;
    block_barrier();  // orders the other walker's reads of the place, which thread 0 has waited for, before the writes
    write_part(held, to, mine.length);
    return false;
  }
  GPU_INLINE void follow(uint32_t slot) {
    part one, other;  // they take turns, so that a read need not have come before the next one starts
    read(one, slot, address_of<true>(args, slot, mine));
    if (!step<0>(other, 0, one, slot)) return;
    while (step<1>(one, mine.length, other) && step<0>(other, mine.length, one)) continue;
  }
};

template <int WordBytes, int PartBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
cycles_kernel(GPU_PARAMETER cycles_args args) {
  static_assert(threads_of(Limits) == cycles_threads);
  auto* const slots = reinterpret_cast<uint32_t*>(shared_memory());  // (4) and, behind them, a byte for each thread
  unsigned char* const free = shared_memory() + 16;
  const uint32_t thread = thread_index();
  // 1. Neighbouring walkers look at neighbouring parts, so that those of one item are on their way together.
  for (uint32_t from = block_index(); from < args.count; from += cycles_threads * args.walkers) {
    const uint32_t own = from + thread * args.walkers;
    bool tried = own >= args.count;
    for (;;) {
      const place_bits bits(args.flags, tried ? 0 : own);
      free[thread] = !tried && (read_flag(bits.word) & bits.claimed) == 0 ? 1 : 0;
      block_barrier();  // orders what each thread found before all look at it
      uint32_t found = cycles_threads;
      GPU_UNROLL for (int k = cycles_threads / 4 - 1; k >= 0; --k) {
        const uint32_t four = reinterpret_cast<const uint32_t*>(free)[k];
        if (four != 0)
          found = k * 4 + ((four & 0xff) != 0 ? 0 : (four & 0xff00) != 0 ? 1 : (four & 0xff0000) != 0 ? 2 : 3);
      }
      block_barrier();  // orders these looks before the next round's writes
      if (found == cycles_threads) break;
      tried = tried || thread == found;
      const uint32_t start = from + found * args.walkers;
      if (!told_by(0, thread == 0 && claim({args.flags, start}), slots + 2)) continue;
      const uint32_t slot = args.parts.quotient(start);
      walk mine{0, 0, start - slot * args.parts.divisor};
      mine.offset = int64_t{mine.part} * args.part_bytes;
      const int64_t left = args.item_bytes - mine.offset;
      mine.length = left < args.part_bytes ? static_cast<int32_t>(left) : args.part_bytes;
      walker<WordBytes, PartBytes>{args, mine, slots}.follow(slot);
    }
  }
}

}  // namespace cornerturn::gpu
