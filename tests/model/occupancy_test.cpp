#include "model/occupancy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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
  EXPECT_EQ(registers_for(256, 8), 32);
  EXPECT_EQ(registers_for(256, 6), 40);
  EXPECT_EQ(registers_for(256, 2), 128);
  EXPECT_EQ(registers_for(64, 1), 255);
  EXPECT_EQ(registers_for(1024, 2), 32);
}

TEST(occupancy, floors_and_bytes_in_flight) {
  const architecture& h200 = *find_architecture("sm_90");
  EXPECT_NEAR(dram_floor(h200, 2400000000), 1e-3, 1e-9);
  EXPECT_NEAR(needed_in_flight(h200), 3.84e6, 1);
}

#ifdef HAS_ORACLE
TEST(occupancy, agrees_with_the_toolkit) {
  for (const architecture& one : architectures()) {
    const int number = std::atoi(one.name + 3);
    cudaOccDeviceProp properties;
    properties.computeMajor = number / 10;
    properties.computeMinor = number % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = one.threads;
    properties.regsPerBlock = properties.regsPerMultiprocessor = registers_of_multiprocessor;
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
