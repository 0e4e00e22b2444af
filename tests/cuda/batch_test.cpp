// Batches on a GPU; without one every test says why it is skipped.
#include "cornerturn/batch.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../api/expect_error.hpp"
#include "cornerturn/error.hpp"
#include "device_bench.hpp"
#include "gpu_cases.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

plan_options on_cuda() { return {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr}; }

// Items side by side in one array on either side, with poison between the items of dst; all of dst is compared.
class device_items {
 public:
  void add(const problem& what, std::size_t src_misalignment, std::size_t dst_misalignment) {
    const byte_range src = range_of(what, &axis::src_stride), dst = range_of(what, &axis::dst_stride);
    src_bytes_ = (src_bytes_ + 15) / 16 * 16 + src_misalignment;
    dst_bytes_ = (dst_bytes_ + 15) / 16 * 16 + 16 + dst_misalignment;
    places_.push_back({static_cast<std::int64_t>(src_bytes_) - src.lo, static_cast<std::int64_t>(dst_bytes_) - dst.lo});
    problems_.push_back(what);
    src_bytes_ += src.size();
    dst_bytes_ += dst.size();
  }

  void make() {
    src_.reserve(src_bytes_ + 16, true);
    dst_.reserve(dst_bytes_ + 16, true);
    fill(0);
  }

  // New contents: the pattern from another byte on.
  void fill(std::size_t seed) {
    const std::byte* const bytes = pattern(seed + src_bytes_) + seed;
    EXPECT_CUDA(cudaMemcpy(src_.get(), bytes, src_bytes_, cudaMemcpyHostToDevice));
    wanted_.assign(dst_bytes_ + 16, poison);
    for (std::size_t k = 0; k < problems_.size(); ++k) {
      const problem& what = problems_[k];
      const auto size = static_cast<std::size_t>(what.element_bytes);
      const std::byte* const from = bytes + places_[k].src;
      std::byte* const to = wanted_.data() + places_[k].dst;
      walk(what, [&](std::int64_t s, std::int64_t d) {
        std::memcpy(to + d * what.element_bytes, from + s * what.element_bytes, size);
      });
    }
  }

  [[nodiscard]] std::vector<batch_item> items() const {
    std::vector<batch_item> all;
    for (std::size_t k = 0; k < problems_.size(); ++k) {
      all.push_back({problems_[k], src_.get() + places_[k].src, dst_.get() + places_[k].dst});
    }
    return all;
  }
  [[nodiscard]] std::vector<const void*> src() const {
    std::vector<const void*> all;
    for (const place& one : places_) all.push_back(src_.get() + one.src);
    return all;
  }
  [[nodiscard]] std::vector<void*> dst() const {
    std::vector<void*> all;
    for (const place& one : places_) all.push_back(dst_.get() + one.dst);
    return all;
  }

  void clear(cudaStream_t stream = nullptr) {
    EXPECT_CUDA(cudaMemsetAsync(dst_.get(), static_cast<int>(poison), dst_bytes_ + 16, stream));
  }

  [[nodiscard]] std::string difference(cudaStream_t stream = nullptr) const {
    std::vector<std::byte> found(wanted_.size());
    cudaError_t said = cudaMemcpyAsync(found.data(), dst_.get(), found.size(), cudaMemcpyDeviceToHost, stream);
    if (said == cudaSuccess) said = cudaStreamSynchronize(stream);
    if (said != cudaSuccess) return std::string("CUDA: ") + cudaGetErrorString(said);
    std::size_t k = 0;
    while (k < found.size() && found[k] == wanted_[k]) ++k;
    if (k == found.size()) return "";
    std::size_t near = 0;
    while (near + 1 < places_.size() && static_cast<std::size_t>(places_[near + 1].dst) <= k) ++near;
    return "byte " + std::to_string(k) + " of all is " + std::to_string(static_cast<int>(found[k])) + ", wanted " +
           std::to_string(static_cast<int>(wanted_[k])) + ", near item " + std::to_string(near) + " " +
           to_text(problems_[near]);
  }

 private:
  struct place {
    std::int64_t src, dst;  // of the caller's pointers
  };
  std::vector<problem> problems_;
  std::vector<place> places_;
  std::size_t src_bytes_ = 0, dst_bytes_ = 0;
  device_memory src_, dst_;
  std::vector<std::byte> wanted_;
};

class cuda_batch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  }
};

std::size_t any_misalignment(dice& roll, std::int64_t element_bytes) {
  const std::int64_t unit = element_bytes & -element_bytes;
  if (roll.one_in(2)) return 0;
  return static_cast<std::size_t>(roll.one_in(4) ? roll.below(64) : roll.below(64) / unit * unit);
}

void expect_moved(device_items& some) {
  const batch how(some.items(), on_cuda());
  some.clear();
  how.execute();
  EXPECT_EQ(some.difference(), "") << how.explain();
}

TEST_F(cuda_batch, moves_10000_matrices_of_all_sizes) {
  for (const std::int64_t element_bytes : {4, 2, 1}) {
    dice roll(static_cast<std::uint64_t>(element_bytes));
    device_items some;
    for (int k = 0; k < 10000; ++k) {
      some.add(transpose_problem(8 + roll.below(293), 8 + roll.below(293), element_bytes), 0, 0);
    }
    some.make();
    expect_moved(some);
  }
}

TEST_F(cuda_batch, moves_problems_of_all_kinds_at_all_alignments) {
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
    dice roll(static_cast<std::uint64_t>(element_bytes) + 40);
    for (int turn = 0; turn < 4; ++turn) {
      device_items some;
      for (int k = 0; k < 200; ++k) {
        const problem what = roll.one_in(3)   ? any_strides(roll, element_bytes, 4000)
                             : roll.one_in(2) ? any_even_permutation(roll, element_bytes, 20000)
                                              : matrix(roll.below(200), roll.below(100), element_bytes, roll.below(77));
        for (std::int64_t again = roll.one_in(3) ? 1 + roll.below(40) : 1; again > 0; --again) {
          some.add(what, any_misalignment(roll, element_bytes), any_misalignment(roll, element_bytes));
        }
      }
      some.make();
      expect_moved(some);
    }
  }
}

TEST_F(cuda_batch, moves_a_million_tiny_matrices_by_pointers) {
  for (const std::int64_t side : {8, 5}) {
    const problem what = transpose_problem(side, side, 4);
    device_items some;
    for (int k = 0; k < 1000000; ++k) some.add(what, 0, 0);
    some.make();
    const batch how(what, some.src(), some.dst(), on_cuda());
    EXPECT_EQ(how.launches(), 1);
    some.clear();
    how.execute();
    EXPECT_EQ(some.difference(), "") << how.explain();
  }
}

TEST_F(cuda_batch, small_and_huge_items_go_together) {
  device_items some;
  for (int k = 0; k < 50; ++k) some.add(transpose_problem(40 + k, 99, 4), 0, 0);
  some.add(transpose_problem(4000, 3000, 4), 0, 0);
  some.add(transpose_problem(4000, 3000, 4), 4, 0);
  some.add(transpose_problem(0, 3000, 4), 0, 0);
  some.make();
  const batch how(some.items(), on_cuda());
  EXPECT_EQ(how.launches(), 3) << how.explain();
  expect_moved(some);
}

TEST_F(cuda_batch, is_captured_and_replayed_with_new_contents) {
  dice roll(9);
  device_items some;
  for (int k = 0; k < 300; ++k) some.add(transpose_problem(1 + roll.below(99), 1 + roll.below(99), 4), 0, 0);
  for (int k = 0; k < 300; ++k) some.add(transpose_problem(9, 7, 2), any_misalignment(roll, 2), 0);
  some.make();
  const batch how(some.items(), on_cuda());
  const user_stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  ASSERT_NO_THROW(how.execute(stream.get()));
  ASSERT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
  std::size_t nodes = 0;
  ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, static_cast<std::size_t>(how.launches()));
  ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  for (const std::size_t contents : {0U, 1024U, 4096U}) {
    some.fill(contents);
    some.clear(stream.get());
    ASSERT_CUDA(cudaGraphLaunch(ready, stream.get()));
    EXPECT_EQ(some.difference(stream.get()), "") << how.explain();
  }
  EXPECT_CUDA(cudaGraphExecDestroy(ready));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(cuda_batch, neither_waits_nor_allocates) {
  device_items some;
  for (int k = 0; k < 500; ++k) some.add(transpose_problem(20 + k % 70, 33, 4), 0, 0);
  some.make();
  const batch how(some.items(), on_cuda());
  const user_stream stream;
  some.clear(stream.get());
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaMemGetInfo(&before, &total));
  std::atomic<bool> go{false};
  const auto wait = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  ASSERT_CUDA(cudaLaunchHostFunc(stream.get(), wait, &go));
  how.execute(stream.get());  // a wait for the stream would never end
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  go = true;
  EXPECT_EQ(some.difference(stream.get()), "");
  ASSERT_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(cuda_batch, automatic_finds_out_where_the_items_are) {
  device_items some;
  for (int k = 0; k < 100; ++k) some.add(transpose_problem(20 + k, 33, 4), 0, 0);
  some.make();
  const batch there(some.items());
  EXPECT_GT(there.launches(), 0);
  some.clear();
  there.execute();
  EXPECT_EQ(some.difference(), "");

  workbench host(transpose_problem(30, 50, 4), placement::heap, 0, 0);
  const std::vector<batch_item> on_host = {{transpose_problem(30, 50, 4), host.src(), host.dst()}};
  const batch here(on_host);
  EXPECT_EQ(here.launches(), 0);
  here.execute();
  EXPECT_EQ(host.difference(), "");
}

TEST_F(cuda_batch, items_of_two_places_are_refused) {
  device_items some;
  for (int k = 0; k < 3; ++k) some.add(transpose_problem(30, 50, 4), 0, 0);
  some.make();
  workbench host(transpose_problem(30, 50, 4), placement::heap, 0, 0);
  std::vector<batch_item> items = some.items();
  items.push_back({transpose_problem(30, 50, 4), host.src(), host.dst()});
  expect_error(status::invalid_argument, {"item 3: it needs the CPU", "the items before it run on GPU"},
               [&] { batch{items}; });
  items.back().src = items.front().src;
  expect_error(status::invalid_argument, {"item 3: src is memory of GPU", "dst is host memory"}, [&] { batch{items}; });
  expect_error(status::invalid_argument, {"item 3: ", "the device is cuda"}, [&] {
    items.back().src = host.src();
    batch(items, on_cuda());
  });
}

}  // namespace
}  // namespace cornerturn::testing
