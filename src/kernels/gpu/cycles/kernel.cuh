// Cycles, in place: the items of a rectangle follow the cycles of the permutation in cycles_args. A block is a walker,
// which holds one part of an item. Each part of a slot has two flag bits, claimed and read. The walker that claims a
// slot reads it. The walker that has claimed a slot, or has seen its read bit, writes it. A walker never blocks between
// claiming and reading a slot, so progress is guaranteed for any order of walkers.
//   1. a walker tests slots of its own, one for each thread, and claims a free one
//   2. it reads the part there and publishes the read bit, because another walker may wait to write there. The walker
//      itself writes all other slots that it claims
//   3. if it has claimed the target slot of the part, it reads the part there and writes the one that it holds. It
//      claims the next target while both are in flight
//   4. if another walker has claimed the target, it waits for the read bit, writes its part, and returns to 1
// A part may have any address: the granules of 16 bytes that hold it are copied to shared memory unchanged. From there
// it is shifted and stored in aligned chunks of its target.
#pragma once

#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// A part in shared memory. A chunk that begins before the part, or ends behind it, is loaded whole.
template <int PartBytes>
struct held_part {
  static constexpr int chunks = PartBytes / cycles_threads / 16;  // of a thread
  unsigned char* at;
  int32_t shift = 0;  // of the part's address modulo 16
  GPU_INLINE explicit held_part(unsigned char* buffer) : at(buffer + 16) {}
};

// The flag bits of one part of a slot. A word has 16 claimed bits, and 16 read bits above them.
struct slot_bits {
  uint32_t* word;
  uint32_t claimed, read;
  GPU_INLINE slot_bits(uint32_t* flags, uint32_t number)
      : word(flags + number / 16), claimed(1u << number % 16), read(claimed << 16) {}
};

GPU_INLINE bool claim(const slot_bits& bits) { return claim_bit(bits.word, bits.claimed); }

// The part that a walker copies of each item.
struct walk {
  int64_t offset;  // bytes of the part in its item
  int32_t length;
  uint32_t part;
};

// The items of slots that are contiguous in the workspace, or all others.
struct place_of_slot {
  const unsigned char* begin;
  const unsigned char* at;  // of the slot
  int64_t bytes;            // from `begin`: no byte outside is touched
};

template <bool Written>
GPU_INLINE place_of_slot place_of(const cycles_args& args, uint32_t slot) {
  const uint32_t in_workspace = slot - args.first_in_workspace;
  if (in_workspace < args.count_in_workspace && (args.writes_workspace != 0) == Written) {
    const auto* const begin = static_cast<const unsigned char*>(args.src);
    return {begin, begin + in_workspace * args.item_bytes, args.count_in_workspace * args.item_bytes};
  }
  const auto* const begin = static_cast<const unsigned char*>(args.dst);
  const uint32_t row = args.row_slots.quotient(slot);
  return {begin, begin + row * args.row_bytes + (slot - row * args.row_slots.divisor) * args.item_bytes,
          args.span_bytes};
}

GPU_INLINE uint32_t target_of(const cycles_args& args, uint32_t slot) {
  uint32_t outer = args.inner.quotient(slot);
  uint32_t inner = slot - outer * args.inner.divisor + args.rotate_inner;
  outer += args.rotate_outer;
  if (inner >= args.inner.divisor) inner -= args.inner.divisor;
  if (outer >= args.outer) outer -= args.outer;
  return inner * args.outer + outer;
}

// 2, 3. Starts to read the part at `offset` of a slot.
template <int PartBytes>
GPU_INLINE void read_part(held_part<PartBytes>& held, const place_of_slot& place, int64_t offset, int32_t length) {
  const auto thread = static_cast<int32_t>(thread_index());
  const unsigned char* const from = place.at + offset;
  held.shift = static_cast<int32_t>(low_word(from) & 15);
  const auto begin = reinterpret_cast<std::uint64_t>(place.begin);
  GPU_UNROLL for (int k = 0; k < held.chunks; ++k) {
    const int32_t byte = (k * cycles_threads + thread) * 16 - held.shift;  // of the granule, from the part's first one
    if (byte >= length) continue;
    fetch_used(begin, begin + place.bytes, held.at + byte + held.shift, from + byte, byte < 0 ? -byte : 0,
               length - byte < 16 ? length - byte : 16);
  }
}

// 3, 4.
template <int PartBytes>
GPU_INLINE void write_part(const held_part<PartBytes>& held, unsigned char* to, int32_t length) {
  const auto thread = static_cast<int32_t>(thread_index());
  const auto before = static_cast<int32_t>(low_word(to) & 15);
  GPU_UNROLL for (int k = 0; k < held.chunks; ++k) {
    const int32_t first = (k * cycles_threads + thread) * 16 - before, offset = held.shift + first;
    if (first >= length) continue;
    const unsigned char* const aligned = held.at + (offset & ~15);
    uint32_t words[4];
    realign<1>(words, load_shared<word_t<16>>(aligned), load_shared<word_t<16>>(aligned + 16), offset & 15);
    const word_t<16> chunk{words[0], words[1], words[2], words[3]};
    if (first >= 0 && first + 16 <= length) {
      store_global(to + first, chunk);
    } else {
      store_bytes<1>(to + first, chunk, -first, length - first);
    }
  }
}

// Broadcasts one thread's flag to its block; another barrier must separate two uses of `vote`.
GPU_INLINE bool broadcast(uint32_t from, bool flag, uint32_t* vote) {
  if (thread_index() == from) *vote = flag ? 1 : 0;
  block_barrier();  // orders the write of the vote before its reads
  return *vote != 0;
}

// 2-4. Follows a cycle from a slot that this walker has claimed to one that another walker has claimed.
template <int PartBytes>
struct walker {
  using part = held_part<PartBytes>;
  static constexpr uint32_t claiming_thread =
      cycles_threads / 2;  // of the second warp: a claim takes as long as a read
  static constexpr uint32_t no_slot = UINT32_MAX;
  const cycles_args& args;
  const walk& mine;
  uint32_t* const votes;
  unsigned char* const buffers;                // of parts in shared memory
  uint32_t target = 0;                         // of the part that was read last
  unsigned char *at = nullptr, *to = nullptr;  // the part that was read last, and its target
  bool claimed = false;

  [[nodiscard]] GPU_INLINE slot_bits bits_of(uint32_t slot) const {
    return {args.flags, slot * args.parts.divisor + mine.part};
  }

  [[nodiscard]] GPU_INLINE unsigned char* written_at(uint32_t slot) const {
    return const_cast<unsigned char*>(place_of<true>(args, slot).at) + mine.offset;
  }
  // 2. Reads the part in `slot`, and claims its target. `into`: the address to which the slot is written later
  GPU_INLINE void read(part& held, uint32_t slot, unsigned char* into) {
    target = target_of(args, slot);
    at = into, to = written_at(target);
    read_part(held, place_of<false>(args, slot), mine.offset, mine.length);
    claimed = thread_index() == claiming_thread && claim(bits_of(target));
  }
  // Writes `last` to `at`, and reads the part in the target into `last`. The part that was read from `at` is `held`,
  // and may still be in flight. Publishes the read bit of slot `first`, if there is one. Returns false at the end of
  // the walk.
  GPU_INLINE bool step(part& last, int32_t last_length, const part& held, uint32_t first, uint32_t* vote) {
    // The barrier in broadcast() orders all threads' reads of `at` before the writes to it, and of slot `first` before
    // its read bit is published.
    wait_for_copies();
    const bool continues = broadcast(claiming_thread, claimed, vote);
    write_part(last, at, last_length);
    block_barrier();                        // orders the reads of the buffer of `last` before it is filled again
    if (continues) read(last, target, to);  // 3.
    if (thread_index() == 0) {
      const slot_bits first_bits = bits_of(first), target_bits = bits_of(target);
      if (first != no_slot) publish_bit(first_bits.word, first_bits.read);
      if (!continues) wait_for_bit(target_bits.word, target_bits.read);  // 4.
    }
    if (continues) return true;
    block_barrier();  // orders the other walker's reads of the target, for which thread 0 has waited, before the writes
    write_part(held, to, mine.length);
    return false;
  }
  GPU_INLINE void follow(uint32_t slot) {
    part held(buffers), last(buffers + PartBytes);  // two: the next read starts while the one before is in flight
    read(held, slot, written_at(slot));
    uint32_t first = slot;
    int32_t length = 0;
    uint32_t* vote = votes;
    while (step(last, length, held, first, vote)) {
      const part now = last;
      last = held, held = now;
      first = no_slot, length = mine.length;
      vote = vote == votes ? votes + 1 : votes;
    }
  }
};

template <int PartBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
cycles_kernel(GPU_PARAMETER cycles_args args) {
  static_assert(threads_of(Limits) == cycles_threads);
  auto* const votes = reinterpret_cast<uint32_t*>(shared_memory());  // (4)
  unsigned char* const free = shared_memory() + 16;                  // (threads)
  const uint32_t thread = thread_index();
  wait_for_earlier_launches();
  // 1. Neighbouring walkers test neighbouring parts, so that all parts of one item are in flight together.
  for (uint32_t from = block_index(); from < args.count; from += cycles_threads * args.walkers) {
    const uint32_t own = from + thread * args.walkers;
    bool tried = own >= args.count;
    for (;;) {
      const slot_bits bits(args.flags, tried ? 0 : own);
      free[thread] = !tried && (read_flag(bits.word) & bits.claimed) == 0 ? 1 : 0;
      block_barrier();  // orders the writes of `free` before their reads by all threads
      uint32_t found = cycles_threads;
      GPU_UNROLL for (int k = cycles_threads / 4 - 1; k >= 0; --k) {
        const uint32_t four = reinterpret_cast<const uint32_t*>(free)[k];
        if (four != 0)
          found = k * 4 + ((four & 0xff) != 0 ? 0 : (four & 0xff00) != 0 ? 1 : (four & 0xff0000) != 0 ? 2 : 3);
      }
      block_barrier();  // orders these reads of `free` before the writes of the next round
      if (found == cycles_threads) break;
      tried = tried || thread == found;
      const uint32_t start = from + found * args.walkers;
      if (!broadcast(0, thread == 0 && claim({args.flags, start}), votes + 2)) continue;
      const uint32_t slot = args.parts.quotient(start);
      walk mine{0, 0, start - slot * args.parts.divisor};
      mine.offset = int64_t{mine.part} * args.part_bytes;
      const int64_t left = args.item_bytes - mine.offset;
      mine.length = left < args.part_bytes ? static_cast<int32_t>(left) : args.part_bytes;
      walker<PartBytes>{args, mine, votes, shared_memory() + cycles_shared_bytes}.follow(slot);
    }
  }
}

}  // namespace cornerturn::gpu
