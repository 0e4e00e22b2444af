// CUDA's words for the tensor memory accelerator of sm_90 and later; the tests have others of the same names.
// After kernels/cuda/lang.cuh, before the rungs.
#pragma once

#include "rung.hpp"

#define GPU_TENSOR

namespace cornerturn::gpu {

struct alignas(64) tensor {  // a CUtensorMap
  unsigned long long opaque[16];
};

// Fetches a box of `bytes` bytes to `shared`, a multiple of 1024; `barrier` is 8 bytes of shared memory. All threads of
// the block call it, once, and find the box there when it returns.
GPU_INLINE void fetch_box(void* shared, const tensor& from, int col, int row, void* barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const auto bar = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  if (thread_index() == 0) {
    if ((to & 1023) != 0) __trap();  // the swizzle is a function of the address
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(to),
        "l"(&from), "r"(col), "r"(row), "r"(bar)
        : "memory");
  }
  block_barrier();  // the barrier's init before the others wait on it
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra again;\n"
      "}" ::"r"(bar)
      : "memory");
#endif
}

// Sends the box at `shared`, which the threads of the block have just written. All of them call it, as the last thing.
GPU_INLINE void send_box(const tensor& to, int col, int row, const void* shared) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, before the accelerator reads
  block_barrier();                                              // what all threads wrote, before one of them sends it
  if (thread_index() == 0) {
    const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
                 "r"(col), "r"(row), "r"(from)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // shared memory must outlive the read
  }
#endif
}

}  // namespace cornerturn::gpu

namespace cornerturn::ladder {

struct tensor_arguments : arguments {
  gpu::tensor src_tensor;
  gpu::tensor dst_tensor;
};

}  // namespace cornerturn::ladder
