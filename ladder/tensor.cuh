// Device functions for the tensor memory accelerator of sm_90 and later. The tests define host versions with these
// names. Include it after kernels/cuda/lang.cuh and before the rungs.
#pragma once

#include "rung.hpp"

#define GPU_TENSOR

namespace cornerturn::gpu {

struct alignas(64) tensor {  // a CUtensorMap
  unsigned long long opaque[16];
};

// Copies a box of `bytes` bytes to `shared`, an address that is a multiple of 1024. `barrier` is 8 bytes of shared
// memory. All threads of the block call it once; after the call the box is visible to all of them.
GPU_INLINE void fetch_box(void* shared, const tensor& from, int col, int row, void* barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const auto bar = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  if (thread_index() == 0) {
    if ((to & 1023) != 0) __trap();  // the swizzle depends on the address bits
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(to),
        "l"(&from), "r"(col), "r"(row), "r"(bar)
        : "memory");
  }
  block_barrier();  // orders the init of the mbarrier before the waits of the other threads
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

// Copies the box at `shared` to global memory. All threads of the block call it, after their stores to the box. The
// kernel ends with this call.
GPU_INLINE void send_box(const tensor& to, int col, int row, const void* shared) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // orders this thread's stores before the TMA read
  block_barrier();  // orders the stores of all threads before the copy of thread 0
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
