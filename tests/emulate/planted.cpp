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

  if (made(mistake::past_src)) load_global<uint32_t>(src - block_index() * planted_block_bytes - 4);
  if (made(mistake::before_src_plainly))
    shared[thread] = src[-1 - static_cast<int>(block_index() * planted_block_bytes)];
  if (made(mistake::misaligned_load)) load_global<word_t<8>>(src + 4);
  if (made(mistake::misaligned_copy)) start_copy<16>(shared + 4, src + 8);
  if (made(mistake::past_shared)) start_copy<4>(shared + planted_threads, src);
  if (made(mistake::past_shared_plainly)) shared[planted_threads] = 1;
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
  const uint32_t value = shared[other];
  if (args.made != mistake::no_second_barrier) block_barrier();
  shared[thread] = value;
  store_global(dst + 4 * thread, shared[thread]);
  if (made(mistake::no_wait)) wait_for_copies();

  if (made(mistake::past_dst)) store_global(static_cast<unsigned char*>(args.dst) - 1, static_cast<unsigned char>(1));
  if (made(mistake::misaligned_store)) store_global(dst + 2, value);
  if (made(mistake::written_twice)) dst[4 * thread] = static_cast<unsigned char>(value);
  if (made(mistake::src_written)) const_cast<unsigned char*>(src)[0] = static_cast<unsigned char>(value);
  if (made(mistake::dst_read)) shared[thread] = dst[4 * thread];
}

}  // namespace

GPU_ROW(launch_planted, planted, 4, 0, 0, 0, limits(planted_threads, 1), "", planted_kernel)

}  // namespace cornerturn::testing
