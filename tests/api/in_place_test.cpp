// Plans of problems in place: their workspace, their threads, and the refusals.
#include "api/in_place.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "../kernels/in_place_cases.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"
#include "expect_error.hpp"
#include "run/launch.hpp"

namespace cornerturn {
namespace {

using testing::expect_error;
using testing::one_memory;
using testing::placed;
using testing::to_text;

TEST(in_place, plans_take_the_callers_workspace_or_their_own) {
  const problem what = placed(transpose_problem(1000, 1700, 4));
  const plan how(what, {.device = device::cpu, .threads = 2, .parallel = {}, .kernel = "cpu_cycles"});
  EXPECT_STREQ(how.kernel(), "cpu_cycles");
  ASSERT_GT(how.workspace_bytes(), 0);
  one_memory memory(what, 0);
  how.execute(memory.data(), memory.data());
  EXPECT_EQ(memory.difference(), "");
  std::vector<std::byte> workspace(static_cast<std::size_t>(how.workspace_bytes()));
  memory.fill();
  how.execute(memory.data(), memory.data(), workspace);
  EXPECT_EQ(memory.difference(), "");
  memory.fill();
  expect_error(status::invalid_argument, {"workspace has 100 bytes", std::to_string(how.workspace_bytes()).c_str()},
               [&] { how.execute(memory.data(), memory.data(), std::span(workspace).first(100)); });
  for (const char* part : {"cpu_cycles", "in place", "passes     2", "workspace  ", "from the workspace"}) {
    EXPECT_NE(how.explain().find(part), std::string::npos) << part << "\n" << how.explain();
  }
}

TEST(in_place, one_line_calls_see_that_src_is_dst) {
  for (const auto& [rows, cols] : {std::pair{300, 300}, {300, 500}, {2000, 1300}}) {
    const problem what = placed(transpose_problem(rows, cols, 4));
    one_memory memory(what, 0);
    auto* const data = reinterpret_cast<std::int32_t*>(memory.data());
    transpose(data, data, rows, cols);
    EXPECT_EQ(memory.difference(), "");
  }
  const std::int64_t extents[] = {30, 20, 30};
  const int axes[] = {2, 1, 0};
  const problem what = placed(permute_problem(extents, axes, 4));
  one_memory memory(what, 0);
  auto* const data = reinterpret_cast<std::int32_t*>(memory.data());
  permute(data, data, extents, axes);
  EXPECT_EQ(memory.difference(), "");
}

TEST(in_place, threads_share_a_plan) {
  const problem what = placed(transpose_problem(700, 1100, 4));
  const plan how(what, {.device = device::cpu, .threads = 2, .parallel = {}, .kernel = "cpu_cycles"});
  testing::pattern(4 << 20);
  std::vector<std::string> faults(3);
  std::vector<std::thread> callers;
  for (std::string& fault : faults) {
    callers.emplace_back([&] {
      one_memory memory(what, 0);
      how.execute(memory.data(), memory.data());
      fault = memory.difference();
    });
  }
  for (std::thread& one : callers) one.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

TEST(in_place, what_cannot_be_is_refused_with_a_sentence) {
  const std::int64_t extents[] = {3, 4, 5};
  const int reversed[] = {2, 1, 0};
  expect_error(status::invalid_argument,
               {"in_place is set, but axis 0 has extent 5, src stride 1 and dst stride 12", "strides swapped"},
               [&] { plan{placed(permute_problem(extents, reversed, 4))}; });
  expect_error(status::invalid_argument,
               {"in_place is set, but axis 0 has extent 10, src stride 1 and dst stride 11", "packed matrix"},
               [&] { plan{placed(transpose_problem(10, 10, 4, 12, 11))}; });
  expect_error(status::invalid_argument, {"in_place is set"},
               [&] { plan{placed(transpose_problem(10, 8, 4, 8, 12))}; });
  // Reversed: the addresses of dst are below the addresses of src.
  problem mirrored{.element_bytes = 4, .rank = 1, .in_place = true};
  mirrored.axes[0] = {10, 1, -1};
  expect_error(status::invalid_argument, {"in_place is set", "axis 0"}, [&] { plan{mirrored}; });

  std::vector<float> some(200);
  expect_error(status::invalid_argument, {"the problem is in place, but dst - src is 4 bytes", "one pointer"},
               [&] { plan(placed(transpose_problem(10, 10, 4))).execute(some.data(), some.data() + 1); });
  expect_error(status::overlap, {"src and dst overlap", "set in_place in the problem"},
               [&] { plan(transpose_problem(10, 10, 4)).execute(some.data(), some.data()); });
  expect_error(status::overlap, {"src and dst overlap"}, [&] { transpose(some.data(), some.data() + 7, 10, 10); });
  expect_error(status::invalid_argument, {"in_place is set", "tune executes"},
               [&] { tune(placed(transpose_problem(10, 10, 4)), some.data(), some.data()); });
}

TEST(in_place, a_workspace_shares_no_byte_with_the_array) {
  problem what = transpose_problem(30, 40, 4);
  what.in_place = true;
  std::vector<float> data(2400);
  const plan made(what, {.device = device::cpu, .threads = 1, .parallel = {}});
  const auto bytes = static_cast<std::size_t>(made.workspace_bytes());
  ASSERT_GT(bytes, 0U);
  ASSERT_LE(bytes, 4800U);
  auto* const at = reinterpret_cast<std::byte*>(data.data());
  std::byte* const second = at + 4800;
  const std::pair<std::byte*, std::byte*> overlapping[] = {{at, at}, {at + 4799, at}, {second - bytes + 1, second}};
  for (const auto& [workspace, array] : overlapping) {
    expect_error(status::overlap, {"workspace and dst overlap"},
                 [&, room = workspace, both = array] { made.execute(both, both, std::span(room, bytes)); });
  }
  EXPECT_NO_THROW(made.execute(at, at, std::span(at + 4800, bytes)));
  expect_error(status::invalid_argument, {"workspace is null"},
               [&] { made.execute(at, at, std::span<std::byte>(static_cast<std::byte*>(nullptr), bytes)); });
}

// No GPU is asked: the plan says the same before the first use of one and after it.
TEST(in_place, the_workspace_of_each_device_is_known) {
  const problem what = placed(transpose_problem(3000, 2000, 4));
  const plan any(what), cpu(what, {.device = device::cpu});
  EXPECT_GT(cpu.workspace_bytes(device::cpu), 0);
  EXPECT_EQ(cpu.workspace_bytes(), cpu.workspace_bytes(device::cpu));
  EXPECT_EQ(cpu.workspace_bytes(device::cuda), 0) << "the plan does not run there";
  EXPECT_EQ(any.workspace_bytes(device::cpu), cpu.workspace_bytes());
  const std::int64_t on_gpu = running::workspace_on_gpu(what, {});
  EXPECT_EQ(any.workspace_bytes(device::cuda), on_gpu);
  EXPECT_EQ(any.workspace_bytes(), std::max(on_gpu, cpu.workspace_bytes()));
  EXPECT_EQ(on_gpu > 0, kernels::find("gpu_cycles_b1") != nullptr) << "in a build without GPU kernels";
  EXPECT_EQ(plan(placed(transpose_problem(0, 2000, 4))).workspace_bytes(), 0);
}

// docs/python.md says these sizes.
TEST(in_place, the_workspace_is_as_large_as_the_pages_say) {
  const auto workspace = [](std::int64_t rows, std::int64_t cols, std::int64_t bytes) {
    return plan(placed(transpose_problem(rows, cols, bytes)), {.device = device::cpu}).workspace_bytes();
  };
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{2, 3},
                                   {7, 100},
                                   {300, 200},
                                   {1000, 700},
                                   {2, 1000000},
                                   {1000000, 2},
                                   {3000, 2000},
                                   {100000, 30001}}) {
    for (const std::int64_t bytes : {1, 3, 4, 16}) EXPECT_LE(workspace(rows, cols, bytes), rows * cols * bytes);
  }
  for (const std::int64_t bytes : {4, 16}) {
    EXPECT_LE(workspace(100000, 30001, bytes), 3000100000 * bytes / 19) << "a twentieth, and a few rows";
    EXPECT_LE(workspace(3, 1000000000, bytes), 3000000000 * bytes / 19);
  }
  EXPECT_EQ(workspace(4096, 4096, 4), 0);
}

TEST(plan_of_parts, one_stride_proves_that_they_share_no_byte) {
  std::vector<float> memory(2 * 64 * 64);
  std::iota(memory.begin(), memory.end(), 0.0F);
  problem what = transpose_problem(64, 64, 4);  // real parts into imaginary parts
  for (axis& one : what.axes) one.src_stride *= 2, one.dst_stride *= 2;
  plan(what, {.device = device::cpu}).execute(memory.data(), memory.data() + 1);
  for (std::size_t j = 0; j < 64; ++j) {
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(memory[2 * (j * 64 + i) + 1], memory[2 * (i * 64 + j)]);
  }
  expect_error(status::overlap, {"the address ranges of src and dst overlap"},
               [&] { plan(what, {.device = device::cpu}).execute(memory.data(), memory.data() + 2); });
}

}  // namespace
}  // namespace cornerturn
