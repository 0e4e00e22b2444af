#include "planted.hpp"

#include "kernels/cuda/lang.cuh"
#include "kernels/cuda/launch.cuh"

namespace cornerturn::testing {
namespace {

using namespace gpu;

template <std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
planted_kernel(GPU_PARAMETER planted_args args) {
  const uint32_t thread = thread_index();
  const bool me = static_cast<int>(thread) == args.thread;
  const auto made = [&](mistake one) { return me && args.made == one; };
  const auto* const src = static_cast<const unsigned char*>(args.src) + block_index() * planted_block_bytes;
  auto* const dst = static_cast<unsigned char*>(args.dst) + block_index() * planted_block_bytes;
  auto* const shared = reinterpret_cast<uint32_t*>(shared_memory());
  const uint32_t other = planted_threads - 1 - thread;

  if (!made(mistake::early_access)) wait_for_earlier_launches();
  if (made(mistake::past_src)) load_global<uint32_t>(src - block_index() * planted_block_bytes - 4);
  if (made(mistake::before_src_plainly))
    shared[thread] = src[-1 - static_cast<int>(block_index() * planted_block_bytes)];
  if (made(mistake::misaligned_load)) load_global<word_t<8>>(src + 4);
  if (made(mistake::misaligned_copy)) start_copy<16>(shared + 4, src + 8);
  if (made(mistake::past_shared)) start_copy<4>(shared + planted_threads, src);
  if (made(mistake::past_shared_plainly)) shared[planted_threads] = 1;
  if (made(mistake::endless)) {
    load_global<uint32_t>(src - block_index() * planted_block_bytes - 4);
    while (load_global<uint32_t>(src) != planted_nowhere) continue;
  }
  if (made(mistake::endless_plainly)) {
    for (volatile int k = 0; k >= 0;) continue;
  }
  if (made(mistake::unwritten)) store_global(dst + 4 * thread, shared[thread]);
  if (made(mistake::two_writers)) shared[thread + 1] = 0;

  if (thread % 2 == 0) {
    start_copy<4>(shared + thread, src + 4 * thread);
    if (!made(mistake::no_wait_at_all)) wait_for_copies();
  } else {
    start_copy<4>(shared + thread, src + 4 * thread);
    if (!made(mistake::no_wait)) wait_for_copies();
  }
  if (made(mistake::early_exit)) return;
  if (args.made == mistake::two_barriers && thread < planted_threads / 2) {
    block_barrier();
  } else if (args.made != mistake::no_barrier) {
    block_barrier();
  }
  // A wrong value ends the thread before a barrier.
  if (!made(mistake::lane_apart)) {
    const bool is_last = thread % 32 == 31;
    const uint32_t next = value_of_next_lane(thread);
    if (next != (is_last ? thread : thread + 1)) return;
  }
  const uint32_t value = shared[other];
  if (args.made != mistake::no_second_barrier) block_barrier();
  shared[thread] = value;
  if (!made(mistake::unwritten)) store_global(dst + 4 * thread, shared[thread]);
  if (made(mistake::no_wait)) wait_for_copies();

  if (made(mistake::past_dst)) store_global(static_cast<unsigned char*>(args.dst) - 1, static_cast<unsigned char>(1));
  if (made(mistake::past_dst_plainly)) static_cast<unsigned char*>(args.dst)[-1] = 1;
  if (made(mistake::misaligned_store)) store_global(dst + 2, value);
  if (made(mistake::written_twice)) dst[4 * thread] = static_cast<unsigned char>(value);
  if (made(mistake::src_written)) const_cast<unsigned char*>(src)[0] = static_cast<unsigned char>(value);
  if (made(mistake::dst_read)) shared[thread] = dst[4 * thread];
}

GPU_INLINE void signal(const planted_flag_args& args, uint32_t block) {
  if (thread_index() != 0 || args.made == flag_mistake::no_signal) return;
  if (args.counts) return raise_flag(args.flags + block);
  publish_bit(args.flags, 1u << block);
}

GPU_INLINE void wait(const planted_flag_args& args, uint32_t block) {
  if (thread_index() != 0 || args.made == flag_mistake::no_wait) return;
  if (args.made == flag_mistake::wait_for_another_flag) block = block_index();
  if (args.counts) return wait_for_flag(args.flags + block, 1);
  wait_for_bit(args.flags, 1u << block);
}

template <std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
planted_flags_kernel(GPU_PARAMETER planted_flag_args args) {
  const uint32_t thread = thread_index(), other = planted_threads - 1 - thread;
  const uint32_t next = (block_index() + 1) % args.blocks;
  wait_for_earlier_launches();
  auto* const own = static_cast<unsigned char*>(args.data) + block_index() * planted_block_bytes;
  auto* const to = static_cast<unsigned char*>(args.data) + next * planted_block_bytes;
  if (args.made == flag_mistake::no_barrier_in_block) {
    const auto value = load_global<uint32_t>(own + 4 * other);
    return store_global(own + 4 * thread, value);
  }
  auto* const shared = reinterpret_cast<uint32_t*>(shared_memory());
  start_copy<4>(shared + thread, own + 4 * thread);
  if (args.made != flag_mistake::copy_ends_after_signal) wait_for_copies();
  if (args.made != flag_mistake::no_barrier_before_signal) block_barrier();
  signal(args, block_index());
  if (args.made == flag_mistake::copy_ends_after_signal) wait_for_copies();
  if (args.made != flag_mistake::no_barrier_after_wait) {
    wait(args, next);
    block_barrier();
  } else {
    block_barrier();
    wait(args, next);
  }
  store_global(to + 4 * thread, shared[other]);
}

}  // namespace

GPU_ROW(launch_planted_flags, planted_flags, 4, 0, 0, 0, limits(planted_threads, 1), "", planted_flags_kernel)
GPU_ROW(launch_planted, planted, 4, 0, 0, 0, limits(planted_threads, 1), "", planted_kernel)

}  // namespace cornerturn::testing
