// A launch may begin while earlier work of its stream ends: it must still read what that work wrote. The earlier work is slow, so
// a launch that does not wait reads old bytes.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cornerturn/transpose.hpp"
#include "kernels/gpu/device.hpp"
#include "slow_writer.hpp"

namespace cornerturn::testing {
namespace {

constexpr std::int64_t rows = 200, cols = 300, most_links = 12;
constexpr auto count = static_cast<std::uint32_t>(rows * cols);
constexpr int slow = 40;  // microseconds: several launches

void succeeds(cudaError_t status) { ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status); }

struct order_test : ::testing::Test {
  std::vector<std::uint32_t*> links;  // each is the transpose of the one before it
  cudaStream_t stream = nullptr, other = nullptr;

  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
    succeeds(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    succeeds(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int k = 0; k < most_links; ++k) {
      void* made = nullptr;
      succeeds(cudaMalloc(&made, count * sizeof(std::uint32_t)));
      links.push_back(static_cast<std::uint32_t*>(made));
    }
  }
  void TearDown() override {
    for (std::uint32_t* const one : links) cudaFree(one);
    if (stream != nullptr) cudaStreamDestroy(stream);
    if (other != nullptr) cudaStreamDestroy(other);
  }
  void poison() {
    for (std::uint32_t* const one : links) succeeds(cudaMemset(one, 0xee, count * sizeof(std::uint32_t)));
    succeeds(cudaDeviceSynchronize());
  }
  // The transpose, by a row of the caller's choice.
  plan transpose(int link, const char* row) const {
    const std::int64_t r = link % 2 == 0 ? rows : cols, c = link % 2 == 0 ? cols : rows;
    plan_options how;
    how.device = device::cuda;
    how.kernel = row;
    return plan(transpose_problem(r, c, sizeof(std::uint32_t)), how);
  }
  // Transposes links[0] to links[1] ... in `stream`.
  void chain(const char* row) {
    for (int k = 0; k + 1 < most_links; ++k) transpose(k, row).execute(links[k], links[k + 1], stream);
  }
  void expect_chain(std::uint32_t first, const char* what) {
    std::vector<std::uint32_t> found(count);
    for (int k = 1; k < most_links; ++k) {
      succeeds(cudaMemcpy(found.data(), links[k], count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
      std::uint32_t wrong = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
          const auto at = static_cast<std::size_t>(k % 2 == 0 ? i * cols + j : j * rows + i);
          wrong += found[at] != first + static_cast<std::uint32_t>(i * cols + j) ? 1 : 0;
        }
      }
      ASSERT_EQ(wrong, 0u) << what << ", link " << k;
    }
  }
};

constexpr const char* rows_of_test[] = {
    nullptr,           "gpu_small_b4_32x32",          "gpu_element_b4", "gpu_element_b4_single", "gpu_gather_b4",
    "gpu_assemble_b4", "gpu_unaligned_tile_b4_128x64"};

// The control: a kernel that does not wait reads old bytes, so the tests below would see one.
TEST_F(order_test, a_kernel_that_does_not_wait_is_seen) {
  int major = 0, driver = 0;
  succeeds(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  succeeds(cudaDriverGetVersion(&driver));
  if (major < 9 || driver < 12030) GTEST_SKIP() << "launches do not overlap here";
  for (int round = 0; round < 2; ++round) {  // the first one loads the kernels
    poison();
    succeeds(write_slowly(links[0], count, 1, slow, stream));
    succeeds(copy_early(links[1], links[0], count, stream));
    succeeds(cudaStreamSynchronize(stream));
  }
  std::vector<std::uint32_t> found(count);
  succeeds(cudaMemcpy(found.data(), links[1], count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
  if (found[0] == 1)
    GTEST_SKIP() << "launches do not overlap here, as under compute-sanitizer: the other tests see nothing";
  EXPECT_EQ(found[0], 0xeeeeeeeeu);
}

TEST_F(order_test, a_launch_reads_what_a_slow_kernel_wrote) {
  for (const char* const row : rows_of_test) {
    for (std::uint32_t round = 1; round <= 20; ++round) {
      poison();
      succeeds(write_slowly(links[0], count, round << 20, slow, stream));
      chain(row);
      succeeds(cudaStreamSynchronize(stream));
      expect_chain(round << 20, row == nullptr ? "the planner's choice" : row);
    }
  }
}

TEST_F(order_test, a_launch_waits_for_an_event_of_another_stream) {
  cudaEvent_t written = nullptr;
  succeeds(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
  for (const char* const row : rows_of_test) {
    poison();
    transpose(0, row).execute(links[most_links - 2], links[most_links - 1], stream);  // a launch ahead of the event
    succeeds(write_slowly(links[0], count, 7, slow, other));
    succeeds(cudaEventRecord(written, other));
    succeeds(cudaStreamWaitEvent(stream, written));
    chain(row);
    succeeds(cudaStreamSynchronize(stream));
    expect_chain(7, row == nullptr ? "the planner's choice" : row);
  }
  succeeds(cudaEventDestroy(written));
}

TEST_F(order_test, a_launch_waits_for_copies_and_the_next_copy_waits_for_it) {
  std::vector<std::uint32_t> host(count);
  for (std::uint32_t k = 0; k < count; ++k) host[k] = k + 5;
  void* staged = nullptr;
  succeeds(cudaMalloc(&staged, count * sizeof(std::uint32_t)));
  succeeds(cudaMemcpy(staged, host.data(), count * sizeof(std::uint32_t), cudaMemcpyHostToDevice));
  for (const char* const row : rows_of_test) {
    poison();
    std::vector<std::uint32_t> last(count);
    succeeds(cudaMemcpyAsync(links[0], staged, count * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice, stream));
    chain(row);
    succeeds(cudaMemcpyAsync(last.data(), links[most_links - 1], count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                             stream));
    succeeds(cudaStreamSynchronize(stream));
    expect_chain(5, row == nullptr ? "the planner's choice" : row);
    std::vector<std::uint32_t> after(count);
    succeeds(cudaMemcpy(after.data(), links[most_links - 1], count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
    EXPECT_EQ(last, after);
  }
  succeeds(cudaFree(staged));
}

// The edges of a captured graph: a kernel, an event of another stream, a memset; and a copy behind the launches.
TEST_F(order_test, a_graph_keeps_the_order) {
  cudaEvent_t begun = nullptr, written = nullptr;
  succeeds(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
  succeeds(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
  for (const char* const row : rows_of_test) {
    for (const bool forked : {false, true}) {
      chain(row);  // loads the kernels
      succeeds(cudaStreamSynchronize(stream));
      succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      succeeds(cudaMemsetAsync(links[0], 0x11, count * sizeof(std::uint32_t), stream));
      transpose(0, row).execute(links[0], links[1], stream);
      if (forked) {
        succeeds(cudaEventRecord(begun, stream));
        succeeds(cudaStreamWaitEvent(other, begun));
        succeeds(write_slowly(links[0], count, 9, slow, other));
        succeeds(cudaEventRecord(written, other));
        transpose(1, row).execute(links[1], links[2], stream);  // beside the slow kernel
        succeeds(cudaStreamWaitEvent(stream, written));
      } else {
        succeeds(write_slowly(links[0], count, 9, slow, stream));
      }
      chain(row);
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      succeeds(cudaStreamEndCapture(stream, &graph));
      succeeds(cudaGraphInstantiate(&ready, graph, 0));
      for (int round = 0; round < 5; ++round) {
        poison();
        succeeds(cudaGraphLaunch(ready, stream));
        succeeds(cudaStreamSynchronize(stream));
        expect_chain(9, row == nullptr ? "the planner's choice" : row);
      }
      succeeds(cudaGraphExecDestroy(ready));
      succeeds(cudaGraphDestroy(graph));
    }
  }
  succeeds(cudaEventDestroy(begun));
  succeeds(cudaEventDestroy(written));
}

// In place: the second launch reads what the first one stored, and flags in memory of the stream are cleared between them.
TEST_F(order_test, rectangles_in_place_keep_the_order) {
  problem there = transpose_problem(rows, cols, sizeof(std::uint32_t)),
          back = transpose_problem(cols, rows, sizeof(std::uint32_t));
  there.in_place = back.in_place = true;
  plan_options how;
  how.device = device::cuda;
  const plan forth(there, how), again(back, how);
  for (int round = 0; round < 20; ++round) {
    poison();
    succeeds(write_slowly(links[0], count, 3, slow, stream));
    for (int k = 0; k < 4; ++k) {
      forth.execute(links[0], links[0], stream);
      again.execute(links[0], links[0], stream);
    }
    chain(nullptr);
    succeeds(cudaStreamSynchronize(stream));
    expect_chain(3, "in place");
  }
}

}  // namespace
}  // namespace cornerturn::testing
