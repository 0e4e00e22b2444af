#include "model/occupancy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/gpu/policy/limits.hpp"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAS_ORACLE
#endif

namespace cornerturn::model {
namespace {

TEST(occupancy, names_find_their_architecture) {
  EXPECT_STREQ(find_architecture("sm_90")->product, "H200 SXM");
  EXPECT_EQ(find_architecture("sm_42"), nullptr);
  EXPECT_EQ(find_architecture(""), nullptr);
  for (const architecture& one : architectures()) EXPECT_EQ(find_architecture(one.name), &one);
}

TEST(occupancy, the_lesson_of_the_block_size) {
  const architecture& small = *find_architecture("sm_89");
  EXPECT_NEAR(residency_of(small, {1024, 32, 0}).occupancy, 2.0 / 3, 1e-9);
  EXPECT_EQ(residency_of(small, {256, 32, 0}).occupancy, 1);
  EXPECT_EQ(residency_of(*find_architecture("sm_90"), {1024, 32, 0}).occupancy, 1);
}

TEST(occupancy, says_what_ends_first) {
  const architecture& h200 = *find_architecture("sm_90");
  EXPECT_STREQ(residency_of(h200, {256, 32, 0}).limit, "threads");
  EXPECT_STREQ(residency_of(h200, {32, 32, 0}).limit, "blocks");
  EXPECT_STREQ(residency_of(h200, {256, 64, 0}).limit, "registers");
  EXPECT_STREQ(residency_of(h200, {256, 32, 65536}).limit, "shared memory");
  EXPECT_EQ(residency_of(h200, {256, 32, 65536}).blocks, 3);
  EXPECT_EQ(residency_of(h200, {256, 32, 228 * 1024}).blocks, 0);
  EXPECT_EQ(residency_of(h200, {1024, 128, 0}).blocks, 0);
}

TEST(occupancy, registers_that_launch_bounds_leave) {
  const architecture& h200 = *find_architecture("sm_90");
  EXPECT_EQ(registers_for(h200, 256, 8), 32);
  EXPECT_EQ(registers_for(h200, 256, 6), 40);
  EXPECT_EQ(registers_for(h200, 256, 2), 128);
  EXPECT_EQ(registers_for(h200, 64, 1), 255);
  EXPECT_EQ(registers_for(h200, 1024, 2), 32);
}

TEST(occupancy, launch_bounds_are_clamped_to_these_sizes) {
  int compared = 0;
  for (const architecture& one : architectures()) {
    if (one.maker != vendor::nvidia) continue;
    const gpu::residents most = gpu::most_residents(std::stoi(one.name + 3));  // after "sm_"
    EXPECT_EQ(most.threads, one.threads) << one.name;
    EXPECT_EQ(most.blocks, one.blocks) << one.name;
    ++compared;
  }
  EXPECT_GE(compared, 7);
}

// llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp, getMaxNumVGPRs: the registers of a SIMD divided among its wavefronts,
// rounded down to what one allocation takes.
TEST(occupancy, registers_that_launch_bounds_leave_on_amd) {
  const architecture &cdna = *find_architecture("gfx90a"), &rdna = *find_architecture("gfx1100");
  EXPECT_EQ(registers_for(cdna, 256, 8), 64);   // 8 wavefronts of a SIMD
  EXPECT_EQ(registers_for(cdna, 256, 5), 96);   // 5
  EXPECT_EQ(registers_for(cdna, 256, 2), 256);  // 2
  EXPECT_EQ(registers_for(cdna, 256, 1), 512);
  EXPECT_EQ(registers_for(rdna, 256, 8), 96);   // 16
  EXPECT_EQ(registers_for(rdna, 256, 5), 144);  // 10
  EXPECT_EQ(registers_for(rdna, 256, 1), 256);
}

TEST(occupancy, workgroups_of_a_compute_unit) {
  const architecture &cdna = *find_architecture("gfx90a"), &rdna = *find_architecture("gfx1100");
  EXPECT_EQ(residency_of(cdna, {256, 32, 4224}).blocks, 8);
  EXPECT_EQ(residency_of(cdna, {256, 32, 4224}).occupancy, 1);
  EXPECT_EQ(residency_of(cdna, {256, 32, 65536}).blocks, 1);
  EXPECT_EQ(residency_of(rdna, {256, 32, 65536}).blocks, 2);
  EXPECT_STREQ(residency_of(cdna, {256, 32, 65536}).limit, "shared memory");
  EXPECT_EQ(residency_of(cdna, {256, 32, 65537}).blocks, 0);
  EXPECT_EQ(residency_of(cdna, {64, 32, 0}).blocks, 32);   // one wavefront, no barrier
  EXPECT_EQ(residency_of(cdna, {128, 32, 0}).blocks, 16);  // 16 barriers
  EXPECT_EQ(residency_of(rdna, {64, 32, 0}).blocks, 32);   // 32 barriers
  EXPECT_EQ(residency_of(cdna, {256, 65, 0}).blocks, 7);
  EXPECT_EQ(residency_of(cdna, {1024, 512, 0}).blocks, 0);
}

TEST(occupancy, floors_and_bytes_in_flight) {
  const architecture& h200 = *find_architecture("sm_90");
  EXPECT_NEAR(dram_floor(h200, 2400000000), 1e-3, 1e-9);
  EXPECT_NEAR(needed_in_flight(h200), 3.84e6, 1);
}

#ifdef HAS_ORACLE
TEST(occupancy, agrees_with_the_toolkit) {
  for (const architecture& one : architectures()) {
    if (one.maker != vendor::nvidia) continue;
    const int number = std::atoi(one.name + 3);
    cudaOccDeviceProp properties;
    properties.computeMajor = number / 10;
    properties.computeMinor = number % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = one.threads;
    properties.regsPerBlock = properties.regsPerMultiprocessor = one.registers;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(one.shared_bytes);
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(one.shared_bytes_of_block);
    properties.reservedSharedMemPerBlock = static_cast<std::size_t>(one.reserved_bytes);
    properties.numSms = one.multiprocessors;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    for (const int threads : {32, 64, 96, 128, 256, 288, 512, 768, 1024}) {
      for (const int registers : {16, 24, 32, 40, 48, 64, 72, 96, 128, 168, 255}) {
        for (const int shared : {0, 100, 4096, 4224, 8448, 16384, 32768, 49152, 65536, 102400}) {
          cudaOccFuncAttributes attributes;
          attributes.maxThreadsPerBlock = 1024;
          attributes.numRegs = registers;
          attributes.sharedSizeBytes = 0;
          attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(one.shared_bytes_of_block);
          attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          cudaOccResult result;
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                                            static_cast<std::size_t>(shared)),
                    CUDA_OCC_SUCCESS)
              << one.name;
          ASSERT_EQ(residency_of(one, {threads, registers, shared}).blocks, result.activeBlocksPerMultiprocessor)
              << one.name << ": " << threads << " threads, " << registers << " registers, " << shared << " bytes";
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace cornerturn::model
