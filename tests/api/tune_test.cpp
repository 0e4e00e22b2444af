#include "cornerturn/tune.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../kernels/oracle.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/transpose.hpp"
#include "expect_error.hpp"

namespace cornerturn {
namespace {

using testing::expect_error;
using testing::placement;
using testing::workbench;

class tuning : public ::testing::Test {
 protected:
  void SetUp() override { forget_tuning(); }
  void TearDown() override {
    forget_tuning();
    std::filesystem::remove(file);
  }
  static tune_options quick(std::string where = "") {
    return {.device = device::cpu, .threads = 2, .seconds = 0.002, .file = std::move(where)};
  }
  static plan_options on_cpu(int threads = 2) {
    return {.device = device::cpu, .threads = threads, .parallel = {}, .kernel = nullptr};
  }
  std::string file = ::testing::TempDir() + "cornerturn_tune_" + std::to_string(getpid());
};

TEST_F(tuning, measures_the_rows_that_can_and_leaves_the_result) {
  const problem what = transpose_problem(67, 97, 4);
  workbench bench(what, placement::heap, 0, 0);
  const tune_result found = tune(what, bench.src(), bench.dst(), quick());
  EXPECT_EQ(bench.difference(), "");
  ASSERT_GE(found.trials.size(), 1U);
  for (const tune_trial& one : found.trials) {
    EXPECT_GT(one.seconds, 0) << one.kernel;
    EXPECT_GE(one.runs, 4) << one.kernel;
    EXPECT_GE(one.seconds, found.trials[0].seconds);
    EXPECT_EQ(std::string(one.kernel).substr(0, 4), "cpu_");
    EXPECT_STRNE(one.kernel, "cpu_reference");
  }
  EXPECT_EQ(found.listed,
            plan(what, {.device = device::cpu, .threads = 2, .parallel = {}, .kernel = found.listed}).kernel());
  EXPECT_EQ(found.machine, cpu().model);
  EXPECT_EQ(found.file, "");
}

TEST_F(tuning, later_plans_take_the_winner) {
  const problem what = transpose_problem(300, 200, 8);
  workbench bench(what, placement::heap, 0, 0);
  const std::string winner = tune(what, bench.src(), bench.dst(), quick()).trials[0].kernel;
  const plan later(what, on_cpu());
  EXPECT_EQ(later.kernel(), winner);
  EXPECT_NE(later.explain().find("tuned      the fastest"), std::string::npos) << later.explain();
  bench.clear();
  later.execute(bench.src(), bench.dst());
  EXPECT_EQ(bench.difference(), "");
  EXPECT_EQ(plan(what, on_cpu(1)).explain().find("tuned"), std::string::npos) << "for other threads";
  forget_tuning();
  EXPECT_EQ(plan(what, on_cpu()).explain().find("tuned"), std::string::npos);
}

TEST_F(tuning, the_file_outlives_the_process) {
  const problem what = transpose_problem(300, 200, 2);
  workbench bench(what, placement::heap, 0, 0);
  const tune_result found = tune(what, bench.src(), bench.dst(), quick(file));
  EXPECT_EQ(found.file, file);
  forget_tuning();
  EXPECT_EQ(load_tuning(file), 1);
  EXPECT_STREQ(plan(what, on_cpu()).kernel(), found.trials[0].kernel);
}

TEST_F(tuning, a_finding_in_the_file_is_heeded_though_the_list_says_otherwise) {
  const problem what = transpose_problem(300, 200, 4);
  workbench bench(what, placement::heap, 0, 0);
  static_cast<void>(tune(what, bench.src(), bench.dst(), quick(file)));
  std::ifstream in(file);
  std::string first, line;
  std::getline(in, first);
  std::getline(in, line);
  line.replace(0, line.find(' '), "cpu_gather");
  std::ofstream(file) << first << '\n' << line << '\n';
  EXPECT_EQ(load_tuning(file), 1);
  const plan later(what, on_cpu());
  EXPECT_STREQ(later.kernel(), "cpu_gather");
  bench.clear();
  later.execute(bench.src(), bench.dst());
  EXPECT_EQ(bench.difference(), "");
  // A row that cannot move it is no reason to fail.
  line.replace(0, line.find(' '), "cpu_stream_lines_b8");
  std::ofstream(file) << first << '\n' << line << '\n';
  EXPECT_EQ(load_tuning(file), 1);
  EXPECT_EQ(plan(what, on_cpu()).explain().find("tuned"), std::string::npos);
}

TEST_F(tuning, the_environment_names_the_file) {
  ASSERT_EQ(setenv("CORNERTURN_TUNE_FILE", file.c_str(), 1), 0);
  const problem what = transpose_problem(30, 20, 4);
  workbench bench(what, placement::heap, 0, 0);
  EXPECT_EQ(tune(what, bench.src(), bench.dst(), quick()).file, file);
  unsetenv("CORNERTURN_TUNE_FILE");
  EXPECT_EQ(load_tuning(file), 1);
}

TEST_F(tuning, fails_as_a_plan_does) {
  const problem what = transpose_problem(30, 20, 4);
  std::vector<float> some(1200);
  expect_error(status::invalid_argument, {"src is null"}, [&] { tune(what, nullptr, some.data(), quick()); });
  problem math = transpose_problem(8, 8, 4);
  math.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}};
  expect_error(status::invalid_argument, {"math changes elements", "Wanted: a problem without math"},
               [&] { tune(math, some.data(), some.data(), quick()); });
  expect_error(status::overlap, {"overlap"}, [&] { tune(what, some.data(), some.data() + 5, quick()); });
  problem bad = what;
  bad.element_bytes = 0;
  expect_error(status::invalid_argument, {"element_bytes is 0"}, [&] { tune(bad, some.data(), some.data(), quick()); });
  expect_error(status::invalid_argument, {"/nowhere/at/all"},
               [&] { tune(what, some.data(), some.data() + 600, quick("/nowhere/at/all")); });
  EXPECT_EQ(plan(what, on_cpu()).explain().find("tuned"), std::string::npos) << "refused before the measurement";
  EXPECT_TRUE(tune(transpose_problem(0, 20, 4), nullptr, nullptr, quick()).trials.empty());
}

}  // namespace
}  // namespace cornerturn
