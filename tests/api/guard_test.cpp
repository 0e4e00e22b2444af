// Every public function of the library with an operator new that fails: at one allocation, or at it and at all later ones, for
// each allocation of the call in turn. The call ends in its result or in cornerturn::error, and works again afterwards.
#include "api/guard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"
#include "failing_new.hpp"

namespace cornerturn::api {
namespace {

using testing::all_later_ones_fail;
using testing::allocations_left;

// Runs the call with a failure at its first allocation, its second, ... until none fails. Returns the number of failures.
int with_failures(const std::function<void()>& call, bool later_ones_too) {
  for (int nth = 0;; ++nth) {
    EXPECT_LT(nth, 20000) << "the call allocates without end";
    if (nth >= 20000) return nth;
    std::string wrong;
    all_later_ones_fail = later_ones_too;
    allocations_left = nth;
    try {
      call();
    } catch (const error& fault) {
      allocations_left = -1;
      if (fault.code() != status::out_of_memory) wrong = std::string("a status of ") + name(fault.code());
      if (std::string(fault.what()).find("memory") == std::string::npos) wrong = fault.what();
    } catch (const std::exception& other) {
      allocations_left = -1;
      wrong = std::string("another exception: ") + other.what();
    }
    const bool none_failed = allocations_left.exchange(-1) > 0;
    EXPECT_EQ(wrong, "") << "at allocation " << nth;
    if (!wrong.empty() || none_failed) return nth;
  }
}

struct call {
  const char* name;
  std::function<void()> body;
};

class guard : public ::testing::Test {
 protected:
  std::vector<float> src_ = std::vector<float>(1 << 14, 1.0F), dst_ = std::vector<float>(1 << 14), more_ = dst_;
  float* src() { return src_.data(); }
  float* dst() { return dst_.data(); }
  problem small_ = transpose_problem(30, 50, 4);
  std::string file_ = ::testing::TempDir() + "cornerturn_guard_" + std::to_string(getpid());

  std::vector<call> calls() {
    problem square = transpose_problem(64, 64, 4), rectangle = transpose_problem(40, 30, 4), math = small_;
    square.in_place = rectangle.in_place = true;
    math.math = {.src = element_type::float32, .dst = element_type::float16, .alpha = {2, 0}, .beta = {1, 0}};
    static const std::int64_t extents[] = {3, 4, 5};
    static const int axes[] = {2, 0, 1};
    return {
        {"plan", [this] { plan(small_).execute(src(), dst()); }},
        {"plan of a square", [=, this] { plan(square).execute(dst(), dst()); }},
        {"plan of a rectangle", [=, this] { plan(rectangle).execute(dst(), dst()); }},
        {"plan of math", [=, this] { plan(math).execute({.src = src(), .dst = dst()}); }},
        {"plan::explain", [this] { EXPECT_NE(plan(small_).explain().find("bytes  "), std::string::npos); }},
        {"explain of a rectangle", [=] { EXPECT_NE(plan(rectangle).explain().find("bytes  "), std::string::npos); }},
        {"a kernel", [this] { plan(small_, {.device = device::cpu, .parallel = {}, .kernel = "cpu_gather"}); }},
        {"offers", [this] { EXPECT_FALSE(offers(small_, {.machine = "cpu"}).empty()); }},
        {"offers of a GPU", [this] { EXPECT_FALSE(offers(small_, {.machine = "H200"}).empty()); }},
        {"explain", [this] { EXPECT_FALSE(explain(small_, {.machine = "cpu"}).empty()); }},
        {"explain for a GPU", [=] { EXPECT_FALSE(explain(rectangle, {.machine = "H200"}).empty()); }},
        {"execute", [this] { forget_tuning(), execute(small_, src(), dst()); }},
        {"execute with math", [=, this] { forget_tuning(), execute(math, {.src = src(), .dst = dst()}); }},
        {"transpose", [this] { forget_tuning(), transpose(src(), dst(), 30, 50); }},
        {"permute", [this] { forget_tuning(), permute(src(), dst(), extents, axes); }},
        {"permute_problem", [] { static_cast<void>(permute_problem(extents, axes, 4)); }},
        {"batched", [this] { static_cast<void>(batched(small_, 3, 1500, 1500)); }},
        {"batch",
         [this] {
           const batch_item items[] = {{small_, src(), dst()}, {transpose_problem(3, 5, 4), src(), more_.data()}};
           const batch all(items);
           all.execute();
           EXPECT_NE(all.explain().find("threads  "), std::string::npos);
         }},
        {"batch of one problem",
         [this] {
           const void* from[] = {src(), src() + 1500};
           void* to[] = {dst(), dst() + 1500};
           batch(small_, from, to).execute();
         }},
        {"backends", [] { EXPECT_EQ(backends().size(), 3U); }},
        {"kernel_list", [] { EXPECT_FALSE(kernel_list().empty()); }},
        {"cpu", [] { EXPECT_FALSE(cpu().simd_targets.empty()); }},
        {"tune",
         [this] { static_cast<void>(tune(small_, src(), dst(), {.device = device::cpu, .seconds = 0, .file = ""})); }},
        {"load_tuning", [this] { EXPECT_GE(load_tuning(file_), 1); }},
        {"forget_tuning", [] { forget_tuning(); }},
    };
  }
};

TEST_F(guard, only_errors_leave_the_library) {
  tune(small_, src(), dst(), {.device = device::cpu, .seconds = 0, .file = file_});
  for (const call& one : calls()) {
    SCOPED_TRACE(one.name);
    one.body();  // statics are made
    for (const bool later_ones_too : {false, true}) with_failures(one.body, later_ones_too);
    one.body();
  }
  std::remove(file_.c_str());
  std::remove((file_ + ".lock").c_str());
}

// The file holds the finding, or what it held before.
TEST_F(guard, a_tuning_file_stays_whole) {
  tune(small_, src(), dst(), {.device = device::cpu, .seconds = 0, .file = file_});
  const tune_options options{.device = device::cpu, .seconds = 0, .file = file_};  // not allocated by the call
  const auto body = [&] { tune(transpose_problem(20, 50, 4), src(), dst(), options); };
  for (const bool later_ones_too : {false, true}) with_failures(body, later_ones_too);
  EXPECT_EQ(load_tuning(file_), 2);
  std::remove(file_.c_str());
  std::remove((file_ + ".lock").c_str());
}

// An error whose own sentence finds no memory.
TEST_F(guard, a_refusal_without_memory_is_an_error_too) {
  for (const bool later_ones_too : {false, true}) {
    bool is_refused = false;
    for (int nth = 0; nth < 50 && !is_refused; ++nth) {
      all_later_ones_fail = later_ones_too;
      allocations_left = nth;
      try {
        static_cast<void>(permute_problem({}, {}, 0));
      } catch (const error& fault) {
        allocations_left = -1;
        is_refused = fault.code() == status::invalid_argument;
        EXPECT_TRUE(is_refused || fault.code() == status::out_of_memory);
      }
    }
    EXPECT_TRUE(is_refused);
  }
}

TEST_F(guard, the_c_functions_return_a_status) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  ASSERT_EQ(cornerturn_transpose_problem(30, 50, 4, 0, 0, &what), CORNERTURN_OK);
  const cornerturn_problem* const problem = &what;
  const void* const from = src();
  void* const to = dst();
  cornerturn_tune_options options = CORNERTURN_TUNE_OPTIONS_INIT;
  options.seconds = 0;
  const std::function<cornerturn_status()> calls[] = {
      [&] {
        cornerturn_plan* made = nullptr;
        const cornerturn_status code = cornerturn_plan_create(&what, nullptr, nullptr, &made);
        cornerturn_plan_destroy(made);
        return code;
      },
      [&] {
        cornerturn_batch* made = nullptr;
        const cornerturn_status code = cornerturn_batch_create(&problem, &from, &to, 1, nullptr, &made);
        cornerturn_batch_destroy(made);
        return code;
      },
      [&] { return cornerturn_forget_tuning(), cornerturn_execute(&what, src(), dst(), nullptr); },
      [&] { return cornerturn_tune(&what, src(), dst(), &options, nullptr, nullptr); },
  };
  for (const auto& one : calls) {
    ASSERT_EQ(one(), CORNERTURN_OK);
    for (const bool later_ones_too : {false, true}) {
      for (int nth = 0; nth < 20000; ++nth) {
        all_later_ones_fail = later_ones_too;
        allocations_left = nth;
        const cornerturn_status code = one();
        const bool none_failed = allocations_left.exchange(-1) > 0;
        if (none_failed) break;
        EXPECT_TRUE(code == CORNERTURN_OK || code == CORNERTURN_OUT_OF_MEMORY) << code;
        if (code != CORNERTURN_OK) {
          EXPECT_NE(std::string(cornerturn_last_error()).find("memory"), std::string::npos) << cornerturn_last_error();
        }
      }
    }
  }
}

TEST(guarded, everything_else_is_a_defect_without_a_name) {
  for (const auto& body :
       {std::function<void()>([] { throw std::runtime_error("std::mystery"); }), {[] { throw 7; }}}) {
    try {
      guarded(body);
      FAIL();
    } catch (const error& fault) {
      EXPECT_EQ(fault.code(), status::internal);
      EXPECT_EQ(std::string(fault.what()).find("std::"), std::string::npos);
    }
  }
  EXPECT_THROW(guarded([] { throw std::length_error("vector::reserve"); }), error);
  EXPECT_EQ(guarded([] { return 3; }), 3);
}

}  // namespace
}  // namespace cornerturn::api
