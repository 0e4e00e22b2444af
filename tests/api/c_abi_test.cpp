#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/problem.hpp"
#include "cornerturn/tune.hpp"
#include "cornerturn/version.h"

namespace {

void expect_failure(cornerturn_status found, cornerturn_status wanted, std::initializer_list<const char*> parts) {
  EXPECT_EQ(found, wanted);
  const std::string sentence = cornerturn_last_error();
  for (const char* part : parts)
    EXPECT_NE(sentence.find(part), std::string::npos) << '"' << part << "\" is not in: " << sentence;
}

void expect_success(cornerturn_status found) {
  EXPECT_EQ(found, CORNERTURN_OK) << cornerturn_last_error();
  EXPECT_STREQ(cornerturn_last_error(), "");
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t k = 0; k < count; ++k) all[k] = static_cast<float>(k);
  return all;
}

void expect_transposed(const std::vector<float>& src, const std::vector<float>& dst, std::size_t rows,
                       std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) ASSERT_EQ(dst[j * rows + i], src[i * cols + j]);
  }
}

TEST(c_abi, transpose_and_permute) {
  const std::vector<float> src = numbers(3 * 5);
  std::vector<float> dst(15);
  expect_success(cornerturn_transpose(src.data(), dst.data(), 3, 5, 4, 0, 0, nullptr));
  expect_transposed(src, dst, 3, 5);
  std::fill(dst.begin(), dst.end(), -1.F);
  const int64_t extents[] = {3, 5};
  const int axes[] = {1, 0};
  expect_success(cornerturn_permute(src.data(), dst.data(), 2, extents, axes, 4, nullptr));
  expect_transposed(src, dst, 3, 5);
  float one = 0;
  expect_success(cornerturn_permute(src.data() + 7, &one, 0, nullptr, nullptr, 4, nullptr));
  EXPECT_EQ(one, 7);
}

TEST(c_abi, problems_are_those_of_cpp) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(30, 50, 12, 51, 33, &what));
  EXPECT_EQ(what.element_bytes, 12);
  EXPECT_EQ(what.rank, 2);
  const cornerturn::problem wanted = cornerturn::transpose_problem(30, 50, 12, 51, 33);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(what.axes[k].extent, wanted.axes[static_cast<std::size_t>(k)].extent);
    EXPECT_EQ(what.axes[k].src_stride, wanted.axes[static_cast<std::size_t>(k)].src_stride);
    EXPECT_EQ(what.axes[k].dst_stride, wanted.axes[static_cast<std::size_t>(k)].dst_stride);
  }
  const int64_t extents[] = {2, 3, 4};
  const int axes[] = {2, 0, 1};
  expect_success(cornerturn_permute_problem(3, extents, axes, 8, &what));
  EXPECT_EQ(what.rank, 3);
  EXPECT_EQ(what.axes[0].extent, 4);
  static_assert(CORNERTURN_MAX_RANK == cornerturn::max_rank);
}

TEST(c_abi, a_plan_lives_until_it_is_destroyed) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(300, 500, 4, 0, 0, &what));
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, nullptr, nullptr, &plan));
  ASSERT_NE(plan, nullptr);
  const std::vector<float> src = numbers(300 * 500);
  std::vector<float> dst(src.size());
  expect_success(cornerturn_plan_execute(plan, src.data(), dst.data(), nullptr));
  expect_transposed(src, dst, 300, 500);
  const char *text = nullptr, *again = nullptr;
  expect_success(cornerturn_plan_explain(plan, &text));
  expect_success(cornerturn_plan_explain(plan, &again));
  EXPECT_NE(std::strstr(text, cornerturn_plan_kernel(plan)), nullptr);
  EXPECT_EQ(text, again) << "the text is the plan's";
  cornerturn_plan_destroy(plan);
  cornerturn_plan_destroy(nullptr);
}

TEST(c_abi, in_place_with_a_workspace) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(2000, 1500, 4, 0, 0, &what));
  EXPECT_EQ(what.in_place, 0);
  what.in_place = 1;
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, nullptr, nullptr, &plan));
  const std::vector<float> src = numbers(2000 * 1500);
  std::vector<float> data = src;
  expect_success(cornerturn_plan_execute(plan, data.data(), data.data(), nullptr));
  expect_transposed(src, data, 2000, 1500);
  int64_t bytes = 0;
  expect_success(cornerturn_plan_workspace_bytes(plan, CORNERTURN_DEVICE_CPU, &bytes));
  ASSERT_GT(bytes, 0);
  std::vector<char> workspace(static_cast<std::size_t>(bytes));
  data = src;
  cornerturn_operands all = CORNERTURN_OPERANDS_INIT;
  all.src = all.dst = data.data();
  all.workspace = workspace.data();
  all.workspace_bytes = bytes;
  expect_success(cornerturn_plan_apply(plan, &all, nullptr));
  expect_transposed(src, data, 2000, 1500);
  all.workspace_bytes = bytes - 1;
  expect_failure(cornerturn_plan_apply(plan, &all, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"workspace has", std::to_string(bytes).c_str()});
  expect_failure(cornerturn_plan_execute(plan, src.data(), data.data(), nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"in place"});
  expect_failure(cornerturn_plan_workspace_bytes(nullptr, CORNERTURN_DEVICE_CPU, &bytes), CORNERTURN_INVALID_ARGUMENT,
                 {"plan is null"});
  expect_failure(cornerturn_plan_workspace_bytes(plan, CORNERTURN_DEVICE_CPU, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"out is null"});
  cornerturn_plan_destroy(plan);
}

TEST(c_abi, options_reach_the_plan) {
  static std::atomic<int> tasks;
  tasks = 0;
  cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  options.device = CORNERTURN_DEVICE_CPU;
  options.threads = 3;
  options.parallel.context = &tasks;
  options.parallel.run = [](void* context, int count, void (*body)(void*, int), void* argument) {
    *static_cast<std::atomic<int>*>(context) += count;
    std::vector<std::thread> team;
    for (int task = 0; task < count; ++task) team.emplace_back(body, argument, task);
    for (std::thread& one : team) one.join();
  };
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(1200, 1000, 4, 0, 0, &what));
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, nullptr, &options, &plan));
  const std::vector<float> src = numbers(1200 * 1000);
  std::vector<float> dst(src.size());
  expect_success(cornerturn_plan_execute(plan, src.data(), dst.data(), nullptr));
  expect_transposed(src, dst, 1200, 1000);
  EXPECT_GT(tasks, 1);
  EXPECT_LE(tasks, 3 * cornerturn::base::ranges_per_thread);
  cornerturn_plan_destroy(plan);
}

TEST(c_abi, a_batch_of_items) {
  cornerturn_problem tall = CORNERTURN_PROBLEM_INIT, wide = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(30, 5, 4, 0, 0, &tall));
  expect_success(cornerturn_transpose_problem(7, 40, 4, 0, 0, &wide));
  const std::vector<float> src = numbers(30 * 5 + 7 * 40 + 30 * 5);
  std::vector<float> one(30 * 5), two(7 * 40), three(30 * 5);
  const cornerturn_problem* const problems[] = {&tall, &wide, &tall};
  const void* const from[] = {src.data(), src.data() + 150, src.data() + 150 + 280};
  void* const to[] = {one.data(), two.data(), three.data()};
  cornerturn_batch* batch = nullptr;
  expect_success(cornerturn_batch_create(problems, from, to, 3, nullptr, &batch));
  ASSERT_NE(batch, nullptr);
  tall.rank = 99;  // read at the construction of the batch
  expect_success(cornerturn_batch_execute(batch, nullptr));
  expect_transposed({src.begin(), src.begin() + 150}, one, 30, 5);
  expect_transposed({src.begin() + 150, src.begin() + 430}, two, 7, 40);
  expect_transposed({src.begin() + 430, src.end()}, three, 30, 5);
  const char* text = nullptr;
  expect_success(cornerturn_batch_explain(batch, &text));
  EXPECT_NE(std::strstr(text, "3 items"), nullptr);
  cornerturn_batch_destroy(batch);
  cornerturn_batch_destroy(nullptr);

  expect_failure(cornerturn_batch_create(problems, from, to, 3, nullptr, &batch), CORNERTURN_INVALID_ARGUMENT,
                 {"item 0: rank is 99"});
  EXPECT_EQ(batch, nullptr);
  tall.size = 0;
  expect_failure(cornerturn_batch_create(problems, from, to, 3, nullptr, &batch), CORNERTURN_INVALID_ARGUMENT,
                 {"item 0: problem.size is 0"});
  const auto refused = [&](const cornerturn_problem* const* what, const void* const* src_of, void* const* dst_of,
                           int64_t count, const char* part) {
    expect_failure(cornerturn_batch_create(what, src_of, dst_of, count, nullptr, &batch), CORNERTURN_INVALID_ARGUMENT,
                   {part});
  };
  refused(nullptr, from, to, 3, "problems is null");
  refused(problems, nullptr, to, 3, "src is null");
  refused(problems, from, nullptr, 3, "dst is null");
  refused(problems, from, to, -1, "count is -1");
  const cornerturn_problem* const bad[] = {&wide, nullptr};
  refused(bad, from + 1, to + 1, 2, "item 1: problem is null");
  expect_failure(cornerturn_batch_create(problems, from, to, 3, nullptr, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"out is null"});
  expect_failure(cornerturn_batch_execute(nullptr, nullptr), CORNERTURN_INVALID_ARGUMENT, {"batch is null"});
  expect_failure(cornerturn_batch_explain(nullptr, &text), CORNERTURN_INVALID_ARGUMENT, {"batch is null"});
  expect_success(cornerturn_batch_create(nullptr, nullptr, nullptr, 0, nullptr, &batch));
  expect_failure(cornerturn_batch_explain(batch, nullptr), CORNERTURN_INVALID_ARGUMENT, {"out is null"});
  expect_success(cornerturn_batch_execute(batch, nullptr));
  cornerturn_batch_destroy(batch);
}

// A program knows fewer fields than the library, or more.
TEST(c_abi, structures_may_grow) {
  struct {
    cornerturn_problem known = CORNERTURN_PROBLEM_INIT;
    int64_t later[2] = {};
  } grown;
  cornerturn_problem& what = grown.known;
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  const std::vector<float> src = numbers(15);
  std::vector<float> dst(15);
  what.size = sizeof grown;
  expect_success(cornerturn_execute(&what, src.data(), dst.data(), nullptr));
  expect_transposed(src, dst, 3, 5);
  grown.later[1] = 7;
  expect_failure(cornerturn_execute(&what, src.data(), dst.data(), nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"problem has fields that cornerturn", "does not know"});
  for (const std::size_t size : {std::size_t{0}, sizeof what - 1, SIZE_MAX}) {
    what.size = size;
    expect_failure(cornerturn_execute(&what, src.data(), dst.data(), nullptr), CORNERTURN_INVALID_ARGUMENT,
                   {("problem.size is " + std::to_string(size)).c_str(), "CORNERTURN_PROBLEM_INIT"});
    expect_failure(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what), CORNERTURN_INVALID_ARGUMENT, {"problem.size"});
  }
  what.size = sizeof what;
  cornerturn_plan* plan = nullptr;
  cornerturn_arithmetic math{};
  expect_failure(cornerturn_plan_create(&what, &math, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT, {"math.size is 0"});
  cornerturn_options options{};
  expect_failure(cornerturn_plan_create(&what, nullptr, &options, &plan), CORNERTURN_INVALID_ARGUMENT,
                 {"options.size is 0"});
  cornerturn_operands all{};
  expect_failure(cornerturn_apply(&what, nullptr, &all, nullptr), CORNERTURN_INVALID_ARGUMENT, {"operands.size is 0"});
  cornerturn_tune_options tuning{};
  expect_failure(cornerturn_tune(&what, src.data(), dst.data(), &tuning, nullptr, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"options.size is 0", "CORNERTURN_TUNE_OPTIONS_INIT"});
}

// The initializers are the defaults of C++.
TEST(c_abi, initializers_are_the_defaults) {
  const cornerturn_arithmetic math = CORNERTURN_ARITHMETIC_INIT;
  const cornerturn::arithmetic wanted;
  EXPECT_EQ(math.alpha[0], wanted.alpha.re);
  EXPECT_EQ(math.beta[0], wanted.beta.re);
  EXPECT_EQ(math.saturate, wanted.saturate ? 1 : 0);
  EXPECT_EQ(math.second, static_cast<int>(wanted.second));
  const cornerturn_tune_options tuning = CORNERTURN_TUNE_OPTIONS_INIT;
  EXPECT_EQ(tuning.seconds, cornerturn::tune_options{}.seconds);
  const cornerturn_calibrate_options calibrating = CORNERTURN_CALIBRATE_OPTIONS_INIT;
  const cornerturn::calibrate_options usual;
  EXPECT_EQ(calibrating.device, usual.device);
  EXPECT_EQ(calibrating.minutes, usual.minutes);
  EXPECT_EQ(calibrating.threads, usual.threads);
  EXPECT_EQ(calibrating.seed, usual.seed);
  EXPECT_EQ(calibrating.quiet, usual.quiet ? 1 : 0);
  const cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  EXPECT_EQ(options.threads, cornerturn::plan_options{}.threads);
  EXPECT_EQ(options.measure, cornerturn::plan_options{}.measure ? 1 : 0);
}

// Texts of explain() stay valid: the first one is read after the plan has another one.
TEST(c_abi, a_plan_that_measures_itself_explains_its_kernel) {
  cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  options.device = CORNERTURN_DEVICE_CPU;
  options.threads = 1;
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(600, 700, 4, 0, 0, &what));
  cornerturn_plan* plan = nullptr;
  options.measure = 2;
  expect_failure(cornerturn_plan_create(&what, nullptr, &options, &plan), CORNERTURN_INVALID_ARGUMENT,
                 {"measure is 2, wanted 0 or 1"});
  options.measure = 1;
  expect_success(cornerturn_plan_create(&what, nullptr, &options, &plan));
  const char *before = nullptr, *again = nullptr, *after = nullptr;
  expect_success(cornerturn_plan_explain(plan, &before));
  expect_success(cornerturn_plan_explain(plan, &again));
  EXPECT_EQ(before, again);
  const std::vector<float> src = numbers(600 * 700);
  std::vector<float> dst(src.size());
  for (int call = 0; call < 8; ++call) expect_success(cornerturn_plan_execute(plan, src.data(), dst.data(), nullptr));
  expect_transposed(src, dst, 600, 700);
  expect_success(cornerturn_plan_explain(plan, &after));
  EXPECT_NE(std::string(before).find("\nmeasures   the first "), std::string::npos) << before;
  EXPECT_NE(std::string(after).find("\nmeasured   " + std::string(cornerturn_plan_kernel(plan)) + " in "),
            std::string::npos)
      << after;
  cornerturn_plan_destroy(plan);
}

TEST(c_abi, a_call_can_be_cancelled) {
  cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  options.device = CORNERTURN_DEVICE_CPU;
  options.parallel.is_cancelled = [](void*) { return true; };
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(300, 500, 4, 0, 0, &what));
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, nullptr, &options, &plan));
  const std::vector<float> src = numbers(300 * 500);
  std::vector<float> dst(src.size(), -1);
  expect_success(cornerturn_plan_execute(plan, src.data(), dst.data(), nullptr));
  EXPECT_EQ(dst, std::vector<float>(src.size(), -1));
  cornerturn_plan_destroy(plan);
}

TEST(c_abi, execute_goes_through_the_cache) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  const std::vector<float> src = numbers(15);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<float> dst(15);
    expect_success(cornerturn_execute(&what, src.data(), dst.data(), nullptr));
    expect_transposed(src, dst, 3, 5);
  }
}

TEST(c_abi, bad_arguments_are_named) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  std::vector<float> some(64);
  cornerturn_plan* plan = nullptr;
  const int64_t extents[] = {2, 3};
  const int twice[] = {1, 1};
  expect_failure(cornerturn_transpose_problem(3, 5, 4, 0, 0, nullptr), CORNERTURN_INVALID_ARGUMENT, {"out is null"});
  expect_failure(cornerturn_transpose_problem(-3, 5, 4, 0, 0, &what), CORNERTURN_INVALID_ARGUMENT, {"rows is -3"});
  expect_failure(cornerturn_permute_problem(2, extents, twice, 4, &what), CORNERTURN_INVALID_ARGUMENT,
                 {"axes[1] repeats axis 1"});
  expect_failure(cornerturn_permute_problem(2, nullptr, twice, 4, &what), CORNERTURN_INVALID_ARGUMENT,
                 {"extents is null"});
  expect_failure(cornerturn_permute_problem(2, extents, nullptr, 4, &what), CORNERTURN_INVALID_ARGUMENT,
                 {"axes is null"});
  expect_failure(cornerturn_permute_problem(-1, extents, twice, 4, &what), CORNERTURN_INVALID_ARGUMENT, {"rank is -1"});
  expect_failure(cornerturn_permute_problem(17, extents, twice, 4, &what), CORNERTURN_INVALID_ARGUMENT, {"17", "16"});
  expect_failure(cornerturn_permute_problem(2, extents, twice, 4, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"out is null"});
  expect_failure(cornerturn_plan_create(nullptr, nullptr, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                 {"problem is null"});
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  expect_failure(cornerturn_plan_create(&what, nullptr, nullptr, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"out is null"});
  expect_failure(cornerturn_plan_execute(nullptr, some.data(), some.data() + 20, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"plan is null"});
  expect_failure(cornerturn_execute(nullptr, some.data(), some.data() + 20, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"problem is null"});
  expect_failure(cornerturn_execute(&what, nullptr, some.data(), nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"src is null"});
  expect_failure(cornerturn_transpose(some.data(), some.data() + 1, 3, 5, 4, 0, 0, nullptr), CORNERTURN_OVERLAP,
                 {"overlap"});
  expect_failure(cornerturn_transpose(some.data(), nullptr, 3, 5, 4, 0, 0, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"dst is null"});
  expect_failure(cornerturn_permute(some.data(), some.data() + 20, 2, extents, twice, 4, nullptr),
                 CORNERTURN_INVALID_ARGUMENT, {"repeats"});
  expect_failure(cornerturn_transpose(some.data(), some.data() + 20, INT64_MAX / 2, INT64_MAX / 2, 4, 0, 0, nullptr),
                 CORNERTURN_OVERFLOW, {"63 bits"});
  what.rank = 99;
  expect_failure(cornerturn_plan_create(&what, nullptr, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT, {"rank is 99"});
  what.rank = -99;
  expect_failure(cornerturn_execute(&what, some.data(), some.data() + 20, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"rank is -99"});
  const char* text = nullptr;
  expect_failure(cornerturn_plan_explain(nullptr, &text), CORNERTURN_INVALID_ARGUMENT, {"plan is null"});
  expect_failure(cornerturn_batch_explain(nullptr, &text), CORNERTURN_INVALID_ARGUMENT, {"batch is null"});
  EXPECT_STREQ(cornerturn_plan_kernel(nullptr), "");
}

// Numbers that are no enumerators, as a C program can pass them.
TEST(c_abi, wrong_enumerators_are_named) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  cornerturn_plan* plan = nullptr;
  for (const int number : {-1, 77, INT32_MAX, INT32_MIN}) {
    const std::string found = " is " + std::to_string(number);
    cornerturn_options options = CORNERTURN_OPTIONS_INIT;
    std::memcpy(&options.device, &number, sizeof number);
    expect_failure(cornerturn_plan_create(&what, nullptr, &options, &plan), CORNERTURN_INVALID_ARGUMENT,
                   {("device" + found).c_str(), "Wanted: auto, cpu, cuda or hip"});
    cornerturn_arithmetic math = CORNERTURN_ARITHMETIC_INIT;
    std::memcpy(&math.src, &number, sizeof number);
    expect_failure(cornerturn_plan_create(&what, &math, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                   {("math.src" + found).c_str()});
    math = CORNERTURN_ARITHMETIC_INIT;
    std::memcpy(&math.second, &number, sizeof number);
    expect_failure(cornerturn_plan_create(&what, &math, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                   {("math.second" + found).c_str()});
    cornerturn_plan* made = nullptr;
    std::int64_t bytes = -1;
    expect_success(cornerturn_plan_create(&what, nullptr, nullptr, &made));
    expect_failure(cornerturn_plan_workspace_bytes(made, options.device, &bytes), CORNERTURN_INVALID_ARGUMENT,
                   {("device" + found).c_str()});
    cornerturn_plan_destroy(made);
    cornerturn_problem marked = what;
    marked.in_place = number;
    expect_failure(cornerturn_plan_create(&marked, nullptr, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                   {("in_place" + found).c_str(), "wanted 0 or 1"});
    math = CORNERTURN_ARITHMETIC_INIT;
    math.conj = number;
    expect_failure(cornerturn_plan_create(&what, &math, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                   {("math.conj" + found).c_str(), "wanted 0 or 1"});
    cornerturn_status code{};
    std::memcpy(&code, &number, sizeof number);
    EXPECT_STREQ(cornerturn_status_name(code), "unknown");
  }
}

TEST(c_abi, a_batch_of_more_items_than_memory_has) {
  const cornerturn_problem* const problem = nullptr;
  const void* const src = nullptr;
  void* const dst = nullptr;
  cornerturn_batch* batch = nullptr;
  expect_failure(cornerturn_batch_create(&problem, &src, &dst, INT64_MAX, nullptr, &batch), CORNERTURN_OUT_OF_MEMORY,
                 {"no memory for a batch of 9223372036854775807 items"});
  EXPECT_EQ(batch, nullptr);
}

TEST(c_abi, a_measurement_ends) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  std::vector<float> some(40);
  for (const double seconds : {-1.0, 1e300, HUGE_VAL, std::nan("")}) {
    cornerturn_tune_options options = CORNERTURN_TUNE_OPTIONS_INIT;
    options.seconds = seconds;
    expect_failure(cornerturn_tune(&what, some.data(), some.data() + 20, &options, nullptr, nullptr),
                   CORNERTURN_INVALID_ARGUMENT, {"seconds is", "wanted 0 to 1e9"});
  }
}

TEST(c_abi, a_plan_that_fails_leaves_null) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(3, 5, 4, 0, 0, &what));
  cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  options.device = CORNERTURN_DEVICE_CUDA;
  int marker = 0;
  auto* plan = reinterpret_cast<cornerturn_plan*>(&marker);
  expect_failure(cornerturn_plan_create(&what, nullptr, &options, &plan), CORNERTURN_NO_DEVICE, {"device is cuda"});
  EXPECT_EQ(plan, nullptr);
}

TEST(c_abi, the_last_error_is_that_of_this_thread) {
  expect_failure(cornerturn_transpose_problem(-3, 5, 4, 0, 0, nullptr), CORNERTURN_INVALID_ARGUMENT, {"out is null"});
  std::string other = "unset";
  std::thread([&] { other = cornerturn_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_STRNE(cornerturn_last_error(), "");
}

TEST(c_abi, tunes_and_remembers) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(30, 50, 4, 0, 0, &what));
  const std::vector<float> src = numbers(30 * 50);
  std::vector<float> dst(src.size());
  const char* winner = nullptr;
  cornerturn_tune_options options = CORNERTURN_TUNE_OPTIONS_INIT;
  options.seconds = 0.001;
  expect_success(cornerturn_tune(&what, src.data(), dst.data(), &options, &winner, nullptr));
  expect_transposed(src, dst, 30, 50);
  ASSERT_NE(winner, nullptr);
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, nullptr, nullptr, &plan));
  EXPECT_STREQ(cornerturn_plan_kernel(plan), winner);
  cornerturn_plan_destroy(plan);
  expect_success(cornerturn_forget_tuning());
  expect_failure(cornerturn_tune(nullptr, src.data(), dst.data(), nullptr, nullptr, nullptr),
                 CORNERTURN_INVALID_ARGUMENT, {"problem is null"});
  expect_failure(cornerturn_tune(&what, src.data(), nullptr, nullptr, &winner, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"dst is null"});
  EXPECT_STREQ(winner, "");
  expect_failure(cornerturn_load_tuning(nullptr), CORNERTURN_INVALID_ARGUMENT, {"file is null"});
  expect_failure(cornerturn_load_tuning("/nowhere/at/all"), CORNERTURN_INVALID_ARGUMENT, {"/nowhere/at/all"});
}

TEST(c_abi, arithmetic_on_the_way) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(30, 50, 4, 0, 0, &what));
  const std::vector<float> src = numbers(30 * 50);
  std::vector<float> dst(src.size(), 1), second(src.size(), 1000);
  cornerturn_arithmetic math = CORNERTURN_ARITHMETIC_INIT;
  math.src = math.dst = CORNERTURN_FLOAT32;
  math.alpha[0] = 2;
  math.beta[0] = 1;
  math.second = CORNERTURN_SECOND_SOURCE;
  for (int k = 0; k < 2; ++k) math.second_strides[k] = what.axes[k].dst_stride;
  cornerturn_operands all = CORNERTURN_OPERANDS_INIT;
  all.src = src.data();
  all.dst = dst.data();
  all.second = second.data();
  expect_success(cornerturn_apply(&what, &math, &all, nullptr));
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 50; ++j) ASSERT_EQ(dst[j * 30 + i], 2 * src[i * 50 + j] + 1000);
  }
  cornerturn_plan* plan = nullptr;
  expect_success(cornerturn_plan_create(&what, &math, nullptr, &plan));
  const char* text = nullptr;
  expect_success(cornerturn_plan_explain(plan, &text));
  EXPECT_NE(std::strstr(text, "alpha 2, beta 1 of a second source"), nullptr);
  std::fill(second.begin(), second.end(), -1.F);
  expect_success(cornerturn_plan_apply(plan, &all, nullptr));
  EXPECT_EQ(dst[1], 2 * src[50] - 1);
  all.second = nullptr;
  expect_failure(cornerturn_plan_apply(plan, &all, nullptr), CORNERTURN_INVALID_ARGUMENT, {"second is null"});
  expect_failure(cornerturn_plan_apply(plan, nullptr, nullptr), CORNERTURN_INVALID_ARGUMENT, {"operands is null"});
  all.workspace_bytes = -1;
  expect_failure(cornerturn_plan_apply(plan, &all, nullptr), CORNERTURN_INVALID_ARGUMENT, {"workspace_bytes is -1"});
  all.workspace_bytes = 1;
  expect_failure(cornerturn_plan_apply(plan, &all, nullptr), CORNERTURN_INVALID_ARGUMENT, {"workspace is null"});
  cornerturn_plan_destroy(plan);

  all = CORNERTURN_OPERANDS_INIT;
  all.src = src.data();
  all.dst = dst.data();
  expect_success(cornerturn_apply(&what, nullptr, &all, nullptr));
  expect_transposed(src, dst, 30, 50);
  math = CORNERTURN_ARITHMETIC_INIT;
  math.src = CORNERTURN_FLOAT32;
  math.dst = CORNERTURN_INT32;
  expect_failure(cornerturn_apply(&what, &math, &all, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 {"math converts float32 to int32"});
}

TEST(c_abi, a_scale_and_a_second_destination) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  expect_success(cornerturn_transpose_problem(2, 3, 4, 0, 0, &what));
  cornerturn_arithmetic math = CORNERTURN_ARITHMETIC_INIT;
  math.src = CORNERTURN_FLOAT32;
  math.dst = CORNERTURN_FLOAT8_E4M3;
  math.scaled = 1;
  math.second = CORNERTURN_SECOND_DESTINATION;
  math.second_strides[0] = 1;
  math.second_strides[1] = 3;
  const float src[] = {1, 2, 4, 8, 16, 1e9F}, scale = 2;
  unsigned char dst[6], cast[6];
  cornerturn_operands all = CORNERTURN_OPERANDS_INIT;
  all.src = src;
  all.dst = dst;
  all.second_dst = cast;
  all.scale = &scale;
  expect_success(cornerturn_apply(&what, &math, &all, nullptr));
  const unsigned char wanted_cast[] = {0x40, 0x48, 0x50, 0x58, 0x60, 0x7e};
  const unsigned char wanted[] = {0x40, 0x58, 0x48, 0x60, 0x50, 0x7e};
  EXPECT_EQ(std::memcmp(cast, wanted_cast, 6), 0);
  EXPECT_EQ(std::memcmp(dst, wanted, 6), 0);
}

TEST(c_abi, types_have_the_numbers_of_cpp) {
  using enum cornerturn::element_type;
  static_assert(static_cast<int>(float16) == CORNERTURN_FLOAT16);
  static_assert(static_cast<int>(complex128) == CORNERTURN_COMPLEX128);
  static_assert(static_cast<int>(float8_e5m2) == CORNERTURN_FLOAT8_E5M2);
  static_assert(static_cast<int>(int8) == CORNERTURN_INT8);
  static_assert(static_cast<int>(uint64) == CORNERTURN_UINT64);
  static_assert(static_cast<int>(cornerturn::second_array::destination) == CORNERTURN_SECOND_DESTINATION);
}

// A store of a C program: an array in memory.
struct c_array {
  std::vector<unsigned char> bytes;
  int fault = 0;
};

int read_c_array(void* context, std::int64_t offset, void* to, std::size_t bytes) {
  const c_array& from = *static_cast<c_array*>(context);
  std::memcpy(to, from.bytes.data() + offset, bytes);
  return from.fault;
}

int write_c_array(void* context, std::int64_t offset, const void* from, std::size_t bytes) {
  c_array& to = *static_cast<c_array*>(context);
  std::memcpy(to.bytes.data() + offset, from, bytes);
  return to.fault;
}

TEST(c_abi, transpose_stored) {
  c_array src, dst;
  src.bytes.resize(300 * 200 * 2);
  dst.bytes.resize(src.bytes.size());
  for (std::size_t k = 0; k < src.bytes.size(); ++k) src.bytes[k] = static_cast<unsigned char>(k * 7 >> 3);
  cornerturn_store from = CORNERTURN_STORE_INIT, to = CORNERTURN_STORE_INIT;
  from.context = &src;
  from.read = read_c_array;
  to.context = &dst;
  to.write = write_c_array;
  const std::int64_t extents[] = {300, 200};
  const int axes[] = {1, 0};
  cornerturn_file_options options = CORNERTURN_FILE_OPTIONS_INIT;
  options.memory_bytes = 512 << 10;  // one pass: there is no scratch store
  options.threads = 1;
  ASSERT_EQ(cornerturn_transpose_stored(&from, &to, 2, extents, axes, 2, &options), CORNERTURN_OK)
      << cornerturn_last_error();
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 200; ++j) {
      ASSERT_EQ(std::memcmp(&dst.bytes[(j * 300 + i) * 2], &src.bytes[(i * 200 + j) * 2], 2), 0) << i << ' ' << j;
    }
  }
  dst.fault = ENOSPC;
  EXPECT_EQ(cornerturn_transpose_stored(&from, &to, 2, extents, axes, 2, nullptr), CORNERTURN_IO_ERROR);
  EXPECT_STREQ(cornerturn_last_error(), "the store's write failed: No space left on device");
  to.write = nullptr;
  EXPECT_EQ(cornerturn_transpose_stored(&from, &to, 2, extents, axes, 2, nullptr), CORNERTURN_INVALID_ARGUMENT);
  EXPECT_STREQ(cornerturn_last_error(), "dst.write is null");
}

TEST(c_abi, names) {
  EXPECT_STREQ(cornerturn_status_name(CORNERTURN_OK), "ok");
  EXPECT_STREQ(cornerturn_status_name(CORNERTURN_OVERLAP), "overlap");
  EXPECT_STREQ(cornerturn_status_name(CORNERTURN_DEVICE_ERROR), "device_error");
  EXPECT_STREQ(cornerturn_status_name(CORNERTURN_IO_ERROR), "io_error");
  static_assert(static_cast<int>(cornerturn::status::device_error) == CORNERTURN_DEVICE_ERROR);
  static_assert(static_cast<int>(cornerturn::status::io_error) == CORNERTURN_IO_ERROR);
  EXPECT_STREQ(cornerturn_version(), CORNERTURN_VERSION_STRING);
}

}  // namespace
