// Rectangles in place on a GPU: walkers that really run side by side.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../api/expect_error.hpp"
#include "../kernels/in_place_cases.hpp"
#include "cornerturn/transpose.hpp"
#include "device_bench.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::testing {
namespace {

plan_options on_cuda(const char* kernel = nullptr) {
  return {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = kernel};
}

// Device memory of one problem in place, guards on either side, and what all of it must be after.
class device_place {
 public:
  device_place(const problem& what, std::size_t misalignment)
      : range_(range_of(what, &axis::src_stride)),
        begin_(guard + misalignment),
        bytes_(begin_ + range_.size() + guard),
        memory_(bytes_) {
    fill(what, 0);
  }
  void fill(const problem& what, std::size_t seed, cudaStream_t stream = nullptr) {
    const std::byte* const before = pattern(seed + bytes_) + seed;
    wanted_.assign(before, before + bytes_);
    const auto size = static_cast<std::size_t>(what.element_bytes);
    std::byte* const to = wanted_.data() + begin_ - range_.lo;
    const std::byte* const from = before + begin_ - range_.lo;
    walk(what, [&](std::int64_t s, std::int64_t d) {
      std::memcpy(to + d * what.element_bytes, from + s * what.element_bytes, size);
    });
    EXPECT_CUDA(cudaMemcpyAsync(memory_.get(), before, bytes_, cudaMemcpyHostToDevice, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
  }
  [[nodiscard]] std::byte* data() const { return memory_.get() + begin_ - range_.lo; }
  [[nodiscard]] std::string difference(cudaStream_t stream = nullptr) {
    found_.resize(bytes_);
    cudaError_t said = cudaMemcpyAsync(found_.data(), memory_.get(), bytes_, cudaMemcpyDeviceToHost, stream);
    if (said == cudaSuccess) said = cudaStreamSynchronize(stream);
    if (said != cudaSuccess) return std::string("CUDA: ") + cudaGetErrorString(said);
    if (found_ == wanted_) return "";
    std::size_t first = 0, wrong = 0;
    while (found_[first] == wanted_[first]) ++first;
    for (std::size_t k = first; k < bytes_; ++k) wrong += found_[k] != wanted_[k];
    return "byte " + std::to_string(static_cast<std::int64_t>(first) - static_cast<std::int64_t>(begin_) + range_.lo) +
           " is wrong, and " + std::to_string(wrong) + " in all";
  }

 private:
  static constexpr std::size_t guard = 256;
  byte_range range_;
  std::size_t begin_, bytes_;
  device_memory memory_;
  std::vector<std::byte> wanted_, found_;
};

class cuda_rectangle : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  }
  static void expect_turned(const problem& what, std::size_t misalignment = 0, const char* kernel = nullptr) {
    device_place place(what, misalignment);
    const plan how(what, on_cuda(kernel));
    const user_stream stream;
    how.execute(place.data(), place.data(), stream.get());
    EXPECT_EQ(place.difference(stream.get()), "") << to_text(what) << ", + " << misalignment << "\n" << how.explain();
  }
};

// Arrays of up to 64 MiB go through the workspace unless their row is forced.
constexpr const char* by_strips = "gpu_cycles_b1";

TEST_F(cuda_rectangle, of_every_kind) {
  const struct {
    std::int64_t rows, cols;
  } shapes[] = {{5003, 2003}, {2003, 5003}, {4096, 12288}, {10007, 97},   {97, 10007},   {1000000, 3}, {3, 1000000},
                {7000003, 3}, {3, 7000003}, {250000, 25},  {1000003, 23}, {23, 1000003}, {3000, 1500}, {100, 77}};
  for (const auto& shape : shapes) {
    expect_turned(placed(transpose_problem(shape.rows, shape.cols, 4)));
    expect_turned(placed(transpose_problem(shape.rows, shape.cols, 4)), 0, by_strips);
    expect_turned(placed(transpose_problem(shape.rows, shape.cols, 4)), 4, by_strips);
  }
}

TEST_F(cuda_rectangle, of_every_element_and_alignment) {
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 520, 2052, 20000}) {
    const std::int64_t rows = 40'000'000 / element_bytes / 1511 / (element_bytes > 500 ? 10 : 1) + 3;
    for (const std::size_t misalignment : {std::size_t{0}, static_cast<std::size_t>(element_bytes), std::size_t{1}}) {
      for (const char* const kernel : {static_cast<const char*>(nullptr), by_strips}) {
        expect_turned(placed(transpose_problem(rows, 1511, element_bytes)), misalignment, kernel);
        expect_turned(placed(transpose_problem(1511, rows + 1, element_bytes)), misalignment, kernel);
      }
    }
  }
}

// Small ones by every row of cycles: many walkers, few places.
TEST_F(cuda_rectangle, by_every_row) {
  dice roll(11);
  for (const kernels::kernel& row : kernels::all()) {
    if (row.launch == nullptr || row.family != std::string_view("cycles")) continue;
    for (int k = 0; k < 40; ++k) {
      const std::int64_t element_bytes = row.element_bytes << roll.below(3);
      const problem what = rectangle_of(21 + roll.below(400), 421 + roll.below(400), element_bytes, roll.below(16));
      try {
        expect_turned(what, 0, row.name);
      } catch (const error& refused) {  // a batch stride that is no multiple of its words
        EXPECT_EQ(refused.code(), status::invalid_argument);
      }
    }
  }
}

TEST_F(cuda_rectangle, batches) {
  expect_turned(placed(batched(transpose_problem(70, 50, 4), 20000, 3500, 3500)));
  expect_turned(placed(batched(transpose_problem(33, 31, 3), 10000, 1024, 1024)), 3);
  expect_turned(placed(batched(transpose_problem(5003, 1003, 4), 3, 5003 * 1003, 5003 * 1003)));
  expect_turned(placed(batched(transpose_problem(3000, 2000, 8), 2, -6000001, -6000001)));
  expect_turned(placed(batched(transpose_problem(3000, 2000, 8), 2, -6000001, -6000001)), 0, by_strips);
  expect_turned(placed(batched(transpose_problem(5003, 1003, 4), 3, 5003 * 1003, 5003 * 1003)), 4, by_strips);
  expect_turned(placed(transpose_problem(5003, 4003, 4)));
}

TEST_F(cuda_rectangle, a_workspace_of_the_callers) {
  const problem what = placed(transpose_problem(5003, 2003, 4));
  device_place place(what, 0);
  const plan how(what, on_cuda());
  const std::int64_t bytes = how.workspace_bytes();
  EXPECT_GT(bytes, 0);
  EXPECT_LE(bytes, (64 << 20) + 255);
  const device_memory memory(static_cast<std::size_t>(bytes) + 512);
  for (const std::size_t at : {0U, 1U, 255U}) {
    EXPECT_CUDA(cudaMemset(memory.get(), 0x77, static_cast<std::size_t>(bytes) + 512));
    place.fill(what, at);
    how.execute(place.data(), place.data(), std::span(memory.get() + at, static_cast<std::size_t>(bytes)));
    EXPECT_EQ(place.difference(), "");
    std::vector<std::byte> behind(512 - at);
    EXPECT_CUDA(cudaMemcpy(behind.data(), memory.get() + at + bytes, behind.size(), cudaMemcpyDeviceToHost));
    EXPECT_EQ(std::count(behind.begin(), behind.end(), std::byte{0x77}), static_cast<std::ptrdiff_t>(behind.size()));
  }
  expect_error(status::invalid_argument, {"workspace has", ("wanted " + std::to_string(bytes)).c_str()}, [&] {
    how.execute(place.data(), place.data(), std::span(memory.get(), static_cast<std::size_t>(bytes) - 1));
  });
  std::vector<std::byte> of_host(static_cast<std::size_t>(bytes));
  expect_error(status::invalid_argument, {"workspace is host memory"},
               [&] { how.execute(place.data(), place.data(), of_host); });
}

TEST_F(cuda_rectangle, is_captured_and_replayed_with_new_contents) {
  for (const problem& what : {placed(transpose_problem(5003, 2003, 4)), placed(transpose_problem(1000, 700, 2)),
                              placed(transpose_problem(60, 6000, 1024))}) {
    device_place place(what, 0);
    const plan how(what, on_cuda());
    const device_memory memory(static_cast<std::size_t>(how.workspace_bytes()));
    for (const bool own : {false, true}) {
      const user_stream stream;
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
      if (own) {
        ASSERT_NO_THROW(how.execute(place.data(), place.data(), stream.get()));
      } else {
        const std::span workspace(memory.get(), static_cast<std::size_t>(how.workspace_bytes()));
        ASSERT_NO_THROW(how.execute(place.data(), place.data(), workspace, stream.get()));
      }
      ASSERT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
      ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
      for (const std::size_t contents : {0U, 1024U, 4096U}) {
        place.fill(what, contents, stream.get());
        ASSERT_CUDA(cudaGraphLaunch(ready, stream.get()));
        EXPECT_EQ(place.difference(stream.get()), "") << how.explain();
      }
      EXPECT_CUDA(cudaGraphExecDestroy(ready));
      EXPECT_CUDA(cudaGraphDestroy(graph));
    }
  }
}

// Repeated, because two walkers of a cycle meet at other places in each run.
TEST_F(cuda_rectangle, many_times_over) {
  const problem what = placed(transpose_problem(2520, 1777, 4));
  const problem back = placed(transpose_problem(1777, 2520, 4));
  device_place place(what, 0);
  const plan how(what, on_cuda("gpu_cycles_b1")), other(back, on_cuda("gpu_cycles_b1"));
  const user_stream stream;
  for (int k = 0; k < 200; ++k) {
    how.execute(place.data(), place.data(), stream.get());
    other.execute(place.data(), place.data(), stream.get());
  }
  how.execute(place.data(), place.data(), stream.get());
  EXPECT_EQ(place.difference(stream.get()), "") << how.explain();
}

TEST_F(cuda_rectangle, one_line_calls) {
  const problem what = placed(transpose_problem(3001, 1999, 8));
  device_place place(what, 0);
  auto* const data = reinterpret_cast<double*>(place.data());
  transpose(data, data, 3001, 1999);
  EXPECT_EQ(place.difference(), "");
}

}  // namespace
}  // namespace cornerturn::testing
