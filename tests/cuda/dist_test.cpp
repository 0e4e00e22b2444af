// dist::plan on GPUs of this process: random layouts on every route, every byte of every block compared. With one GPU, all ranks
// share it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "../api/expect_error.hpp"
#include "../dist/random_layouts.hpp"
#include "device_bench.hpp"
#include "kernels/gpu/device.hpp"
#include "slow_writer.hpp"

namespace cornerturn::testing {
namespace {

class cuda_dist : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
    std::printf("%d GPUs\n", gpu::device_count());
  }
  void TearDown() override { static_cast<void>(cudaSetDevice(0)); }

  // Rank r is GPU r, as far as there are GPUs.
  static dist::devices gpus(int ranks) {
    dist::devices made;
    for (int rank = 0; rank < ranks; ++rank) made.numbers.push_back(rank % gpu::device_count());
    return made;
  }
};

// The blocks of one side in the memory of their GPUs, in the order of dist::plan.
class device_side {
 public:
  device_side(const dist::layout& all, const side& host, const dist::devices& on) {
    for (std::size_t rank = 0; rank < on.numbers.size(); ++rank) {
      EXPECT_CUDA(cudaSetDevice(on.numbers[rank]));
      for (const std::int64_t cell : distributed::cells_of(all, static_cast<int>(rank))) {
        cells.push_back(static_cast<std::size_t>(cell));
        const std::vector<std::byte>& block = host.blocks[cells.back()];
        strides.push_back(host.strides[cells.back()]);
        void* made = nullptr;
        EXPECT_CUDA(cudaMalloc(&made, block.size()));
        pointers.push_back(made);
        EXPECT_CUDA(cudaMemcpy(made, block.data(), block.size(), cudaMemcpyHostToDevice));
      }
    }
  }
  ~device_side() {
    for (void* one : pointers) static_cast<void>(cudaFree(one));
  }
  device_side(const device_side&) = delete;
  device_side& operator=(const device_side&) = delete;

  std::vector<std::size_t> cells;
  std::vector<index_list> strides;
  std::vector<void*> pointers;
};

TEST_F(cuda_dist, random_layouts_arrive_on_every_route) {
  dice any(346);
  std::int64_t sent = 0;
  for (int round = 0; round < 240; ++round) {
    const int ranks = static_cast<int>(1 + any.below(4));
    const bool large = any.one_in(8);
    dist::problem what = random_problem(any, ranks, large ? 60000 : 1000);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    const dist::devices on = gpus(ranks);
    device_side from(what.src, src, on), to(what.dst, dst, on);
    what.src_strides = from.strides;
    what.dst_strides = to.strides;
    for (const dist::route route : {dist::route::automatic, dist::route::kernels, dist::route::copy_engines}) {
      for (std::size_t k = 0; k < to.cells.size(); ++k) {
        ASSERT_CUDA(cudaMemcpy(to.pointers[k], dst.blocks[to.cells[k]].data(), dst.blocks[to.cells[k]].size(),
                               cudaMemcpyHostToDevice));
      }
      dist::options how;
      how.route = route;
      how.chunk_bytes = what.element_bytes * (2 + any.below(2000));
      const dist::plan plan(what, on, how);
      const std::vector<const void*> src_pointers(from.pointers.begin(), from.pointers.end());
      plan.execute(src_pointers, to.pointers);
      plan.execute(src_pointers, to.pointers);
      sent += plan.bytes_sent();
      for (const int number : on.numbers) {
        ASSERT_CUDA(cudaSetDevice(number));
        ASSERT_CUDA(cudaDeviceSynchronize());
      }
      for (std::size_t k = 0; k < to.cells.size(); ++k) {
        const std::vector<std::byte>& right = wanted.blocks[to.cells[k]];
        std::vector<std::byte> found(right.size());
        ASSERT_CUDA(cudaMemcpy(found.data(), to.pointers[k], right.size(), cudaMemcpyDeviceToHost));
        ASSERT_EQ(found, right) << "round " << round << ", block " << k << '\n' << plan.explain();
      }
    }
  }
  if (gpu::device_count() > 1) {
    EXPECT_GT(sent, 100000);
  }
}

// The work of a stream before the call is seen by all GPUs, and the work after it sees all blocks. Each word has its own number in each
// round, and the writers and the links are slow enough that each missing wait of src/dist/devices.cpp shows (tools/mutate --devices).
TEST_F(cuda_dist, calls_are_ordered_with_the_streams_of_all_gpus) {
  constexpr std::uint32_t side_of = 4096, half = side_of / 2, count = side_of * half;
  constexpr std::size_t bytes = std::size_t{4} * count;
  dist::problem what{.extents = {side_of, side_of}, .axes = {1, 0}, .element_bytes = 4};
  what.src = dist::slabs(what.extents, 0, 2);
  const dist::devices on = gpus(2);
  std::vector<void*> src(2), dst(2), copy(2), streams(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_CUDA(cudaSetDevice(on.numbers[rank]));
    ASSERT_CUDA(cudaMalloc(&src[rank], bytes));
    ASSERT_CUDA(cudaMalloc(&dst[rank], 2 * bytes));
    ASSERT_CUDA(cudaMalloc(&copy[rank], 2 * bytes));
    cudaStream_t made = nullptr;
    ASSERT_CUDA(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    streams[rank] = made;
  }
  struct kind {
    dist::layout dst;
    std::uint32_t row_words;     // of a block
    std::size_t words[2];        // of the blocks
    std::uint32_t first_col[2];  // of the blocks
  };
  // Half of each slab is for the other rank; all of it is local; rank 0 gets all, and its own part arrives before the other.
  const kind kinds[] = {
      {dist::slabs(what.extents, 0, 2), side_of, {count, count}, {0, 0}},
      {dist::slabs(what.extents, 1, 2), half, {count, count}, {0, half}},
      {dist::slabs(what.extents, 0, index_list{0, side_of, side_of}), side_of, {2 * count, 0}, {0, 0}}};
  for (const kind& each : kinds) {
    what.dst = each.dst;
    for (const dist::route route : {dist::route::kernels, dist::route::copy_engines}) {
      dist::options how;
      how.route = route;
      how.chunk_bytes = 16 << 20;
      const dist::plan plan(what, on, how);
      for (std::uint32_t round = 1; round <= 10; ++round) {
        const std::uint32_t first = round * 0x9E3779B9U;
        for (std::size_t rank = 0; rank < 2; ++rank) {
          const auto stream = static_cast<cudaStream_t>(streams[rank]);
          ASSERT_CUDA(cudaSetDevice(on.numbers[rank]));
          ASSERT_CUDA(cudaMemsetAsync(dst[rank], 0xEE, 2 * bytes, stream));
          const std::uint32_t begin = first + static_cast<std::uint32_t>(rank) * count;
          ASSERT_CUDA(write_slowly(static_cast<std::uint32_t*>(src[rank]), count, begin, 200, stream));
        }
        plan.execute(std::vector<const void*>(src.begin(), src.end()), dst, streams);
        for (std::size_t rank = 0; rank < 2; ++rank) {
          const auto stream = static_cast<cudaStream_t>(streams[rank]);
          ASSERT_CUDA(cudaSetDevice(on.numbers[rank]));
          // The end of a block, which arrives last, is read first.
          const std::size_t all = 4 * each.words[rank], most = all / 32 * 31;
          const auto move = [&](std::size_t from, std::size_t size) {
            return cudaMemcpyAsync(static_cast<std::byte*>(copy[rank]) + from,
                                   static_cast<std::byte*>(dst[rank]) + from, size, cudaMemcpyDeviceToDevice, stream);
          };
          ASSERT_CUDA(move(most, all - most));
          ASSERT_CUDA(move(0, most));
          ASSERT_CUDA(cudaMemsetAsync(src[rank], 0xDD, bytes, stream));
        }
        for (std::size_t rank = 0; rank < 2; ++rank) {
          ASSERT_CUDA(cudaSetDevice(on.numbers[rank]));
          ASSERT_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(streams[rank])));
          std::vector<std::uint32_t> found(each.words[rank]);
          ASSERT_CUDA(cudaMemcpy(found.data(), copy[rank], 4 * found.size(), cudaMemcpyDeviceToHost));
          const auto first_row = static_cast<std::uint32_t>(each.row_words == side_of && rank == 1 ? half : 0);
          std::size_t wrong = 0;
          for (std::uint32_t k = 0; k < found.size(); ++k) {
            const std::uint32_t row = first_row + k / each.row_words, col = each.first_col[rank] + k % each.row_words;
            wrong += found[k] != first + col * side_of + row ? 1 : 0;
          }
          ASSERT_EQ(wrong, 0U) << "round " << round << ", rank " << rank << '\n' << plan.explain();
        }
      }
    }
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_CUDA(cudaSetDevice(on.numbers[rank]));
    for (void* one : {src[rank], dst[rank], copy[rank]}) ASSERT_CUDA(cudaFree(one));
    ASSERT_CUDA(cudaStreamDestroy(static_cast<cudaStream_t>(streams[rank])));
  }
}

TEST_F(cuda_dist, faults_are_named) {
  dist::problem what{.extents = {64, 64}, .axes = {1, 0}, .element_bytes = 4};
  what.src = what.dst = dist::slabs(what.extents, 0, 2);
  expect_error(status::no_device, {"GPU 99 is not here"}, [&] { const dist::plan plan(what, dist::devices{{0, 99}}); });
  expect_error(status::invalid_argument, {"the layout of src: cell 1 has owner 1, wanted a rank below 1"},
               [&] { const dist::plan plan(what, gpus(1)); });
  const dist::plan plan(what, gpus(2));
  const std::vector<const void*> none(2, nullptr);
  std::vector<void*> nowhere(2, nullptr);
  expect_error(status::invalid_argument, {"src[0] is null"}, [&] { plan.execute(none, nowhere); });
  expect_error(status::invalid_argument, {"src has 1 pointers, wanted 2"},
               [&] { plan.execute(std::span(none).first(1), nowhere); });
}

}  // namespace
}  // namespace cornerturn::testing
