// The CUDA engine on a GPU; without one every test says why it is skipped.
//
//   cuda_rows      every row of the list x the problems of tests/kernels/cases.hpp and gpu_cases.hpp x alignments
//   cuda_execute   streams, graphs, threads, devices, kinds of memory, what is refused
//
//   CORNERTURN_TEST_SEED=n    the dice of the random parts; else they are thrown anew, and the seed is printed
//   CORNERTURN_TEST_THIN=n    one problem in n: for compute-sanitizer
//   CORNERTURN_TEST_TIGHT=1   allocations that end where a problem ends: for compute-sanitizer
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "../api/expect_error.hpp"
#include "api/check.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"
#include "device_bench.hpp"
#include "gpu_cases.hpp"
#include "kernels/gpu/device.hpp"
#include "run/launch.hpp"

namespace cornerturn::testing {
namespace {

std::uint64_t test_seed = 0;
constexpr int enough_failures = 4;

plan_options on_cuda(const char* kernel = nullptr) {
  return {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = kernel};
}

class gpu_test {
 public:
  static bool there() { return gpu::device_count() > 0; }
};
#define SKIP_WITHOUT_GPU() \
  if (!gpu_test::there()) GTEST_SKIP() << gpu::why_none()

std::vector<const kernels::kernel*> gpu_rows() {
  std::vector<const kernels::kernel*> rows;
  for (const kernels::kernel& one : kernels::all()) {
    if (one.launch != nullptr && one.kind == kernels::row_kind::move) rows.push_back(&one);
  }
  return rows;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

std::map<std::string, int>& moves_of_row() {
  static std::map<std::string, int> counts;
  return counts;
}

class cuda_rows : public ::testing::TestWithParam<std::int64_t> {
 protected:
  // Runs the plan's own choice and every row that takes the problem, at one placement. False after a failure.
  bool move(const problem& what, std::size_t src_misalignment, std::size_t dst_misalignment) {
    const std::string where = to_text(what) + ", src + " + std::to_string(src_misalignment) + ", dst + " +
                              std::to_string(dst_misalignment) + ", seed " + std::to_string(test_seed);
    device_bench bench(what, src_misalignment, dst_misalignment, memory_);
    const kernels::gpu_traits& here = gpu::info(gpu::current_device()).traits;
    std::vector<const char*> names = {nullptr};
    for (const kernels::kernel* row : gpu_rows()) {
      const running::gpu_variant way = running::choose_variant(what, here, 16, row->name);
      if (way.chosen.row == nullptr) continue;
      const int alignment = running::alignment_of(way.form, {.src = bench.src(), .dst = bench.dst()});
      if (alignment < 16 && running::choose_variant(what, here, alignment, row->name).chosen.row == nullptr) continue;
      names.push_back(row->name);
    }
    bool good = true;
    for (const char* name : names) {
      try {
        const plan how(what, on_cuda(name));
        bench.clear();
        how.execute(bench.src(), bench.dst());
        const std::string fault = bench.difference();
        EXPECT_EQ(fault, "") << (name == nullptr ? "unforced" : name) << ": " << where << "\n" << how.explain();
        good = good && fault.empty();
        ++moves_of_row()[name == nullptr ? "unforced" : name];
      } catch (const error& refused) {
        // A row may take the problem for aligned pointers, and its words be too long for these.
        const bool expected = name != nullptr && std::strstr(refused.what(), "multiples of") != nullptr;
        EXPECT_TRUE(expected) << refused.what() << " " << where;
        good = good && expected;
      }
    }
    return good;
  }

  bool move(const problem& what, dice& roll) {
    const std::int64_t e = what.element_bytes & -what.element_bytes;
    bool good = move(what, 0, 0);
    if (roll.one_in(2)) {
      good = move(what, static_cast<std::size_t>(roll.below(64) / e * e),
                  static_cast<std::size_t>(roll.below(64) / e * e)) &&
             good;
    } else {
      good = move(what, static_cast<std::size_t>(roll.below(64)), static_cast<std::size_t>(roll.below(64))) && good;
    }
    return good;
  }

  arena memory_;
};

TEST_P(cuda_rows, move_every_problem_that_they_accept) {
  SKIP_WITHOUT_GPU();
  const std::int64_t element_bytes = GetParam();
  const auto thin = static_cast<int>(environment("CORNERTURN_TEST_THIN", 1));
  dice roll(test_seed ^ static_cast<std::uint64_t>(element_bytes));
  int failures = 0;
  std::int64_t count = 0;
  const auto give = [&](const problem& what) {
    if (failures >= enough_failures || HasFatalFailure()) return;
    ASSERT_NO_THROW(api::check(what)) << to_text(what);
    ++count;
    failures += !move(what, roll);
  };
  for_each_problem(element_bytes, 2 * thin, 1, kernels::this_machine(), give);
  std::int64_t met = 0;
  for (const kernels::kernel* row : gpu_rows()) {
    // A row has its edges at its own element size, at larger ones and at odd ones too.
    if (element_bytes % std::max(row->element_bytes, 1) != 0) continue;
    for_each_edge_of(*row, element_bytes, roll, [&](const problem& what) {
      if (++met % thin == 0) give(what);
    });
  }
  for (int k = 0; k < 200 / thin; ++k) give(any_even_permutation(roll, element_bytes, 60000 / element_bytes + 2000));
  std::printf("%lld problems of %lld-byte elements, seed %llu\n", static_cast<long long>(count),
              static_cast<long long>(element_bytes), static_cast<unsigned long long>(test_seed));
}

INSTANTIATE_TEST_SUITE_P(bytes, cuda_rows, ::testing::Values(1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 40),
                         [](const auto& one) { return std::to_string(one.param); });

// In one process after all of the above; alone it has nothing to say.
TEST(cuda_rows_together, every_row_has_moved_something) {
  SKIP_WITHOUT_GPU();
  if (moves_of_row().empty()) GTEST_SKIP() << "the tests of the rows have not run in this process";
  for (const kernels::kernel* row : gpu_rows()) {
    EXPECT_GT(moves_of_row()[row->name], 0) << row->name;
    std::printf("%-36s %8d moves\n", row->name, moves_of_row()[row->name]);
  }
}

// ---- execute --------------------------------------------------------------------------------------------------------

// One problem for each family, and the family whose offer is the cheapest.
std::vector<problem> samples() {
  const auto permuted = [](std::vector<std::int64_t> shape, std::vector<int> axes, std::int64_t bytes) {
    return permute_problem(shape, axes, bytes);
  };
  return {transpose_problem(1024, 2048, 4),
          transpose_problem(257, 263, 4),
          transpose_problem(999, 701, 1),
          transpose_problem(640, 320, 2),
          transpose_problem(100003, 3, 8),
          transpose_problem(513, 130, 12),
          batched(transpose_problem(8, 8, 4), 4096, 64, 64),
          permuted({32, 48, 64, 80}, {1, 0, 3, 2}, 1),
          permuted({37, 21, 256}, {1, 0, 2}, 4),
          permuted({11, 13, 7, 5, 3, 2}, {5, 3, 1, 0, 2, 4}, 8),
          transpose_problem(1, 123457, 4)};
}

TEST(cuda_execute, works_on_every_kind_of_stream) {
  SKIP_WITHOUT_GPU();
  const user_stream blocking(cudaStreamDefault), free_one(cudaStreamNonBlocking);
  for (const problem& what : samples()) {
    arena memory;
    device_bench bench(what, 0, 0, memory);
    const plan how(what, on_cuda());
    for (cudaStream_t stream :
         {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread, blocking.get(), free_one.get()}) {
      bench.clear(stream);
      how.execute(bench.src(), bench.dst(), stream);
      EXPECT_EQ(bench.difference(stream), "") << how.explain();
    }
  }
}

TEST(cuda_execute, automatic_finds_device_memory_by_itself) {
  SKIP_WITHOUT_GPU();
  for (const problem& what : samples()) {
    arena memory;
    device_bench bench(what, 0, 0, memory);
    bench.clear();
    plan(what).execute(bench.src(), bench.dst());
    EXPECT_EQ(bench.difference(), "");
    bench.clear();
    execute(what, bench.src(), bench.dst());
    EXPECT_EQ(bench.difference(), "");
    workbench host(what, placement::heap, 0, 0);
    execute(what, host.src(), host.dst());  // the cache returns the plan again
    EXPECT_EQ(host.difference(), "");
  }
}

TEST(cuda_execute, is_captured_and_replayed_with_new_contents) {
  SKIP_WITHOUT_GPU();
  for (const problem& what : samples()) {
    for (const std::size_t misalignment :
         {std::size_t{0}, static_cast<std::size_t>(what.element_bytes), std::size_t{1}}) {
      arena memory;
      device_bench bench(what, misalignment, misalignment, memory);
      const plan how(what, on_cuda());
      const user_stream stream;
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
      ASSERT_NO_THROW(how.execute(bench.src(), bench.dst(), stream.get()));
      ASSERT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
      std::size_t nodes = 0;
      ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
      EXPECT_EQ(nodes, 1U);
      ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
      for (const std::size_t contents : {0U, 1024U, 4096U}) {
        bench.fill(what, contents);
        bench.clear(stream.get());
        ASSERT_CUDA(cudaGraphLaunch(ready, stream.get()));
        EXPECT_EQ(bench.difference(stream.get()), "") << how.explain();
      }
      EXPECT_CUDA(cudaGraphExecDestroy(ready));
      EXPECT_CUDA(cudaGraphDestroy(graph));
    }
  }
}

TEST(cuda_execute, neither_waits_nor_allocates) {
  SKIP_WITHOUT_GPU();
  for (const problem& what : samples()) {
    arena memory;
    device_bench bench(what, 0, 0, memory);
    const plan how(what, on_cuda());
    const user_stream stream;
    bench.clear(stream.get());
    std::size_t before = 0, after = 0, total = 0;
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(cudaMemGetInfo(&before, &total));
    std::atomic<bool> go{false};
    const auto wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    ASSERT_CUDA(cudaLaunchHostFunc(stream.get(), wait, &go));
    const auto begin = std::chrono::steady_clock::now();
    how.execute(bench.src(), bench.dst(), stream.get());  // a wait for the stream would never end
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
    go = true;
    EXPECT_LT(took.count(), 0.5);
    EXPECT_EQ(bench.difference(stream.get()), "");
    ASSERT_CUDA(cudaMemGetInfo(&after, &total));
    EXPECT_EQ(before, after) << how.explain();
  }
}

TEST(cuda_execute, two_host_threads_share_one_plan) {
  SKIP_WITHOUT_GPU();
  pattern(8 << 20);  // grown before the threads share it
  for (const problem& what : samples()) {
    const plan how(what, on_cuda());
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int k = 0; k < 2; ++k) {
      callers.emplace_back([&how, &what, &wrong, k] {
        arena memory;
        device_bench bench(what, static_cast<std::size_t>(k) * 4, 0, memory);
        const user_stream stream;
        for (int turn = 0; turn < 20; ++turn) {
          bench.clear(stream.get());
          how.execute(bench.src(), bench.dst(), stream.get());
          if (!bench.difference(stream.get()).empty()) ++wrong;
        }
      });
    }
    for (std::thread& one : callers) one.join();
    EXPECT_EQ(wrong, 0) << how.explain();
  }
}

// Memory of each kind for one small problem.
struct all_memories {
  static constexpr std::size_t bytes = 64 * 32 * 4;
  std::vector<std::byte> pageable = std::vector<std::byte>(2 * bytes);
  device_memory device{2 * bytes};
  std::byte* pinned = nullptr;
  std::byte* managed = nullptr;
  all_memories() {
    void* made = nullptr;
    EXPECT_CUDA(cudaMallocHost(&made, 2 * bytes));
    pinned = static_cast<std::byte*>(made);
    EXPECT_CUDA(cudaMallocManaged(&made, 2 * bytes));
    managed = static_cast<std::byte*>(made);
  }
  all_memories(const all_memories&) = delete;
  all_memories& operator=(const all_memories&) = delete;
  ~all_memories() {
    static_cast<void>(cudaFreeHost(pinned));
    static_cast<void>(cudaFree(managed));
  }
};

TEST(cuda_execute, tells_the_kinds_of_memory_apart) {
  SKIP_WITHOUT_GPU();
  const all_memories has;
  EXPECT_EQ(gpu::where(has.pageable.data()).kind, gpu::memory::pageable);
  EXPECT_EQ(gpu::where(has.pinned + 5).kind, gpu::memory::pinned);
  EXPECT_EQ(gpu::where(has.managed + 5).kind, gpu::memory::managed);
  EXPECT_EQ(gpu::where(has.device.get() + 5).kind, gpu::memory::device);
  EXPECT_EQ(gpu::where(has.device.get() + 5).device, gpu::current_device());
  int local = 0;
  EXPECT_EQ(gpu::where(&local).kind, gpu::memory::pageable);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a question left an error behind";
}

TEST(cuda_execute, moves_between_the_kinds_of_memory_or_refuses) {
  SKIP_WITHOUT_GPU();
  all_memories has;
  const problem what = transpose_problem(64, 32, 4);
  std::byte* const places[] = {has.pageable.data(), has.pinned, has.managed, has.device.get()};
  const char* const names[] = {"no GPU can access", "pinned", "managed", "memory of GPU"};
  for (const device on : {device::automatic, device::cuda, device::cpu}) {
    const plan how(what, {.device = on, .threads = 0, .parallel = {}, .kernel = nullptr});
    for (int s = 0; s < 4; ++s) {
      for (int d = 0; d < 4; ++d) {
        std::byte* const src = places[s];
        std::byte* const dst = places[d] + all_memories::bytes;
        const bool with_device = s == 3 || d == 3, with_pageable = s == 0 || d == 0, with_managed = s == 2 || d == 2;
        const bool refused = on == device::cuda  ? with_pageable
                             : on == device::cpu ? with_device
                                                 : with_pageable && (with_device || with_managed);
        if (refused) {
          expect_error(status::invalid_argument, {"src is", names[s], "dst is", names[d], "Wanted"},
                       [&] { how.execute(src, dst); });
          continue;
        }
        std::vector<std::byte> wanted(all_memories::bytes), found(all_memories::bytes);
        const std::byte* bytes = pattern(all_memories::bytes + 64) + s * 4 + d;
        walk(what, [&](std::int64_t from, std::int64_t to) { std::memcpy(&wanted[to * 4], bytes + from * 4, 4); });
        ASSERT_CUDA(cudaMemcpy(src, bytes, all_memories::bytes, cudaMemcpyDefault));
        ASSERT_CUDA(cudaMemset(has.device.get() + all_memories::bytes, 0, all_memories::bytes));
        ASSERT_CUDA(cudaDeviceSynchronize());
        how.execute(src, dst);
        ASSERT_CUDA(cudaDeviceSynchronize());
        ASSERT_CUDA(cudaMemcpy(found.data(), dst, all_memories::bytes, cudaMemcpyDefault));
        EXPECT_EQ(wanted, found) << "from " << names[s] << " to " << names[d];
      }
    }
  }
}

TEST(cuda_execute, refuses_what_the_cpu_refuses) {
  SKIP_WITHOUT_GPU();
  device_memory memory(1 << 16);
  const plan how(transpose_problem(64, 64, 4), on_cuda());
  expect_error(status::overlap, {"src and dst overlap"}, [&] { how.execute(memory.get(), memory.get() + 128); });
  expect_error(status::invalid_argument, {"src is null"}, [&] { how.execute(nullptr, memory.get()); });
  EXPECT_NO_THROW(plan(transpose_problem(0, 64, 4), on_cuda()).execute(nullptr, nullptr));
  expect_error(status::invalid_argument, {"gpu_gather_b4", "the device is cpu"}, [] {
    plan(transpose_problem(64, 64, 4),
         {.device = device::cpu, .threads = 0, .parallel = {}, .kernel = "gpu_gather_b4"});
  });
  expect_error(status::invalid_argument, {"gpu_gather_b8", "does not accept this problem"},
               [] { plan(transpose_problem(64, 64, 4), on_cuda("gpu_gather_b8")); });
}

TEST(cuda_execute, a_launch_that_fails_says_so_once) {
  SKIP_WITHOUT_GPU();
  device_memory memory(1 << 16);
  const plan how(transpose_problem(64, 64, 4), on_cuda());
  const user_stream stream;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  // Waiting for a stream breaks its capture, and what is started on it afterwards fails.
  EXPECT_NE(cudaStreamSynchronize(stream.get()), cudaSuccess);
  static_cast<void>(cudaGetLastError());
  expect_error(status::device_error, {"did not start", "gpu_"},
               [&] { how.execute(memory.get(), memory.get() + (1 << 15), stream.get()); });
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream.get(), &graph));
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
}

TEST(cuda_execute, follows_the_pointers_to_their_device) {
  SKIP_WITHOUT_GPU();
  if (gpu::device_count() < 2) GTEST_SKIP() << "one GPU only";
  ASSERT_CUDA(cudaSetDevice(0));
  for (const problem& what : samples()) {
    const plan fixed(what, on_cuda()), automatic(what);
    arena first, second;
    device_bench on_first(what, 0, 0, first);
    ASSERT_CUDA(cudaSetDevice(1));
    device_bench on_second(what, 0, 0, second);
    ASSERT_CUDA(cudaSetDevice(0));
    for (const plan* how : {&fixed, &automatic}) {
      for (device_bench* bench : {&on_first, &on_second, &on_first}) {
        ASSERT_CUDA(cudaSetDevice(bench == &on_second ? 1 : 0));
        bench->clear();
        ASSERT_CUDA(cudaDeviceSynchronize());
        ASSERT_CUDA(cudaSetDevice(0));
        how->execute(bench->src(), bench->dst());
        EXPECT_EQ(gpu::current_device(), 0);
        for (const int device : {1, 0}) {
          ASSERT_CUDA(cudaSetDevice(device));
          ASSERT_CUDA(cudaDeviceSynchronize());
        }
        EXPECT_EQ(bench->difference(), "") << how->explain();
      }
      expect_error(status::invalid_argument, {"src is memory of GPU 0", "dst is memory of GPU 1", "both on one GPU"},
                   [&] { how->execute(on_first.src(), on_second.dst()); });
    }
  }
}

TEST(cuda_execute, a_plan_costs_microseconds) {
  SKIP_WITHOUT_GPU();
  device_memory memory(1 << 20);
  execute(transpose_problem(16, 16, 4), memory.get(), memory.get() + (1 << 19));
  const auto microseconds = [](int turns, const auto& body) {
    double best = 1e9;
    for (int k = 0; k < 20; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < turns; ++i) body(k * turns + i);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count() / turns);
    }
    return best;
  };
  const double first = microseconds(100, [](int k) { plan how(transpose_problem(1000 + k, 777, 4), on_cuda()); });
  const double automatic = microseconds(100, [](int k) { plan how(transpose_problem(1000 + k, 777, 4)); });
  std::int64_t nothing = 0;  // a problem without elements is looked up, and nothing is started
  const double cached = microseconds(1000, [&](int) { execute(transpose_problem(nothing, 777, 4), nullptr, nullptr); });
  const plan how(transpose_problem(64, 64, 4), on_cuda());
  const double launch = microseconds(100, [&](int) { how.execute(memory.get(), memory.get() + (1 << 19)); });
  EXPECT_CUDA(cudaDeviceSynchronize());
  std::printf("plan for cuda %.2f us, automatic %.2f us, cached %.2f us, execute %.2f us\n", first, automatic, cached,
              launch);
  EXPECT_LT(first, 100) << "ten times what is promised: a busy machine is no defect";
}

TEST(cuda_tune, measures_the_rows_that_can_and_later_plans_take_the_winner) {
  SKIP_WITHOUT_GPU();
  forget_tuning();
  for (const problem& what : samples()) {
    arena memory;
    device_bench bench(what, 0, 0, memory);
    const user_stream stream;
    bench.clear(stream.get());
    const tune_result found =
        tune(what, bench.src(), bench.dst(), {.device = device::automatic, .threads = 0, .seconds = 0.01, .file = ""},
             stream.get());
    EXPECT_EQ(bench.difference(stream.get()), "");
    ASSERT_FALSE(found.trials.empty());
    EXPECT_EQ(found.machine, gpu::info(gpu::current_device()).name);
    for (const tune_trial& one : found.trials) EXPECT_GT(one.seconds, 0) << one.kernel;
    const plan later(what, on_cuda());
    EXPECT_STREQ(later.kernel(), found.trials[0].kernel) << later.explain();
    EXPECT_NE(later.explain().find("tuned"), std::string::npos) << later.explain();
    bench.clear(stream.get());
    later.execute(bench.src(), bench.dst(), stream.get());
    EXPECT_EQ(bench.difference(stream.get()), "") << later.explain();
  }
  forget_tuning();
}

TEST(cuda_system, backends_name_the_gpu) {
  SKIP_WITHOUT_GPU();
  const std::vector<backend_info> all = backends();
  EXPECT_TRUE(all[1].present);
  EXPECT_NE(all[1].detail.find("sm_"), std::string::npos) << all[1].detail;
  EXPECT_NE(all[1].detail.find("GiB"), std::string::npos) << all[1].detail;
}

}  // namespace

void set_seed(std::uint64_t seed) { test_seed = seed; }

}  // namespace cornerturn::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::random_device entropy;
  const auto seed = static_cast<std::uint64_t>(
      cornerturn::testing::environment("CORNERTURN_TEST_SEED", static_cast<std::int64_t>(entropy() & 0xffffff)));
  cornerturn::testing::set_seed(seed);
  if (!::testing::GTEST_FLAG(list_tests)) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return RUN_ALL_TESTS();
}
