// In place: items of a rectangle follow their cycles, each to the place of one that was read just before. See
// cycles_job. A block is a walker: it holds one item, or a part of one, and a word for each place says how far it is:
// 0, 1 claimed, 2 read. Whoever claims a place reads it; nobody writes to it before it says 2. So walkers of one cycle
// need not meet in any order: a walker that has claimed a place waits for nothing until it has read it.
//   1. a walker looks at places of its own in turn, as many at once as it has threads, and claims one that is free
//   2. it reads the item there and says so
//   3. the place where the item belongs: if the walker has claimed that one, it reads the item there, and writes the one
//      before; while both are on their way it says which place it has read, and claims the place after the next
//   4. if another walker has claimed it, the walker waits until it was read, writes its item, and looks for another one
// Addresses that are no multiples of four bytes are realigned as in runs.cuh: an item is read in words of where it
// goes.
#pragma once

#include "kernels/gpu/runs.cuh"

namespace cornerturn::gpu {

// What a walker holds of an item: in words of dst, which need not be those of src.
template <int WordBytes>
struct held_part {
  static constexpr int bytes = WordBytes == 1 ? 4 : WordBytes;
  static constexpr int words = cycles_part_bytes / cycles_threads / bytes;
  word_t<bytes> at[words];
};

// The part of an item at one place, and the place where it belongs.
struct walk {
  int64_t offset;  // bytes of the part in its item
  int32_t length;
  uint32_t part;
};

GPU_INLINE unsigned char* address_of(const cycles_job& job, uint32_t place, const walk& mine) {
  const uint32_t row = job.row_places.quotient(place);
  return static_cast<unsigned char*>(job.dst) + row * job.row_bytes +
         (place - row * job.row_places.divisor) * job.item_bytes + mine.offset;
}

GPU_INLINE uint32_t target_of(const cycles_job& job, uint32_t place) {
  uint32_t outer = job.inner.quotient(place);
  uint32_t inner = place - outer * job.inner.divisor + job.turned_inner;
  outer += job.turned_outer;
  if (inner >= job.inner.divisor) inner -= job.inner.divisor;
  if (outer >= job.outer) outer -= job.outer;
  return inner * job.outer + outer;
}

// Reads the part at `from`, in words of `to`.
template <int WordBytes>
GPU_INLINE void read_part(held_part<WordBytes>& held, const unsigned char* from, const unsigned char* to,
                          int32_t length) {
  const int thread = static_cast<int>(thread_index());
  if constexpr (WordBytes == 1) {
    const auto shift = static_cast<int32_t>(reinterpret_cast<std::uint64_t>(to) & 3);
    const auto begin = reinterpret_cast<std::uint64_t>(from);
    const auto end = begin + static_cast<std::uint32_t>(length);
    GPU_UNROLL for (int k = 0; k < held_part<1>::words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * 4 - shift;
      if (first < length) held.at[k] = load_unaligned(from + first, begin, end);
    }
  } else {
    GPU_UNROLL for (int k = 0; k < held_part<WordBytes>::words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * WordBytes;
      if (first < length) held.at[k] = load_global<word_t<WordBytes>>(from + first);
    }
  }
}

template <int WordBytes>
GPU_INLINE void write_part(const held_part<WordBytes>& held, unsigned char* to, int32_t length) {
  const int thread = static_cast<int>(thread_index());
  if constexpr (WordBytes == 1) {
    const auto shift = static_cast<int32_t>(reinterpret_cast<std::uint64_t>(to) & 3);
    GPU_UNROLL for (int k = 0; k < held_part<1>::words; ++k) {
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
    GPU_UNROLL for (int k = 0; k < held_part<WordBytes>::words; ++k) {
      const int32_t first = (k * cycles_threads + thread) * WordBytes;
      if (first < length) store_global(to + first, held.at[k]);
    }
  }
}

// What one thread says, to all threads. Two slots take turns, so that one barrier does.
GPU_INLINE bool told_by(uint32_t speaker, bool said, uint32_t* slots, uint32_t& turn) {
  turn ^= 1;
  if (thread_index() == speaker) slots[turn] = said ? 1 : 0;
  block_barrier();  // orders the slot's write before its reads, and all reads of it before its write two turns later
  return slots[turn] != 0;
}

// 2-4. From a place that this walker has claimed to one that it has not. Two warps wait for flags: one claims, and one
// says what was read, which takes as long as its own reads and writes do.
template <int WordBytes>
GPU_INLINE void follow(const cycles_job& job, uint32_t place, const walk& mine, uint32_t* slots, uint32_t& turn) {
  constexpr uint32_t claimer = cycles_threads / 2;
  const bool claims = thread_index() == claimer, says = thread_index() == 0;
  const auto flag_of = [&](uint32_t of) { return job.flags + of * job.parts.divisor + mine.part; };
  held_part<WordBytes> held, last;  // the item of this place, and the one that belongs here
  int32_t last_length = 0;          // there is none yet
  uint32_t target = target_of(job, place);
  unsigned char* at = address_of(job, place, mine);
  unsigned char* to = address_of(job, target, mine);
  read_part<WordBytes>(held, at, to, mine.length);  // 2.
  bool claimed = claims && claim_flag(flag_of(target), 0, 1);
  while (told_by(claimer, claimed, slots, turn)) {  // 3. Its barrier orders the reads of `place` before its writes, and
                                                    //    before its flag says 2.
    const uint32_t next = target_of(job, target);
    unsigned char* const beyond = address_of(job, next, mine);
    write_part<WordBytes>(last, at, last_length);
    last = held, last_length = mine.length;
    read_part<WordBytes>(held, to, beyond, mine.length);
    claimed = claims && claim_flag(flag_of(next), 0, 1);
    if (says) publish_flag(flag_of(place), 2);
    place = target, target = next, at = to, to = beyond;
  }
  write_part<WordBytes>(last, at, last_length);
  if (says) {  // 4.
    publish_flag(flag_of(place), 2);
    wait_for_flag(flag_of(target), 2);
  }
  block_barrier();  // orders the other walker's reads of the place, which thread 0 has waited for, before its writes
  write_part<WordBytes>(held, to, mine.length);
}

template <int WordBytes>
GPU_KERNEL(cycles_threads, (WordBytes == 1 ? 10 : 12))
cycles_kernel(GPU_PARAMETER cycles_job job) {
  auto* const slots = reinterpret_cast<uint32_t*>(shared_memory());  // (2) and, behind 16 bytes, (threads)
  uint32_t* const free = slots + 4;
  uint32_t turn = 0;
  const uint32_t thread = thread_index();
  // 1. Neighbouring walkers look at neighbouring parts, so that those of one item are on their way together.
  for (uint32_t from = block_index(); from < job.count; from += cycles_threads * job.walkers) {
    const uint32_t own = from + thread * job.walkers;
    bool tried = own >= job.count;
    for (;;) {
      free[thread] = !tried && read_flag(job.flags + own) == 0 ? 1 : 0;
      block_barrier();  // orders what each thread found before all look at it
      uint32_t found = 0;
      while (found < cycles_threads && free[found] == 0) ++found;
      block_barrier();  // orders these looks before the next round's writes
      if (found == cycles_threads) break;
      tried = tried || thread == found;
      const uint32_t start = from + found * job.walkers;
      if (!told_by(0, thread == 0 && claim_flag(job.flags + start, 0, 1), slots, turn)) continue;
      const uint32_t place = job.parts.quotient(start);
      walk mine{0, 0, start - place * job.parts.divisor};
      mine.offset = int64_t{mine.part} * job.part_bytes;
      const int64_t left = job.item_bytes - mine.offset;
      mine.length = left < job.part_bytes ? static_cast<int32_t>(left) : job.part_bytes;
      follow<WordBytes>(job, place, mine, slots, turn);
    }
  }
}

}  // namespace cornerturn::gpu
