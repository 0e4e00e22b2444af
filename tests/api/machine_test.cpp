#include "cornerturn/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/problem.hpp"
#include "cornerturn/transpose.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn {
namespace {

struct own_file {
  std::string name = ::testing::TempDir() + "machine_test_" + std::to_string(getpid()) + ".json";
  explicit own_file(const std::string& text) { std::ofstream(name) << text; }
  ~own_file() {
    std::remove(name.c_str());
    kernels::read_machines_again();
  }
};

TEST(machine, names_the_constants_of_each_machine) {
  const std::vector<machine_info> all = machines();
  for (const char* name : {"zen3", "zen4", "sapphire_rapids", "emerald_rapids", "cascade_lake", "generic",
                           "neoverse_n1", "H200", "A100", "RTX 4090", "B200"}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const machine_info& one) { return one.name == name; })) << name;
  }
  EXPECT_EQ(machine_in_use("zen4").name, "zen4");
  EXPECT_EQ(machine_in_use("zen4").origin, "built in");
  EXPECT_EQ(machine_in_use("A100").name, "H200") << "nobody measured it";
  EXPECT_TRUE(machine_in_use("A100").measured);
  EXPECT_EQ(machine_in_use("neoverse_n1").name, "generic");
  EXPECT_NO_THROW(static_cast<void>(machine_in_use("cpu")));
  EXPECT_THROW(static_cast<void>(machine_in_use("nothing")), error);
}

TEST(machine, a_plan_for_a_machine_that_nobody_measured_is_explained) {
  const std::string text = explain(transpose_problem(16384, 16384, 4), {.machine = "A100"});
  EXPECT_NE(text.find("A100, sm_80, 108 multiprocessors, costs of \"H200\", built in, 20"), std::string::npos) << text;
}

TEST(machine, a_loaded_file_changes_later_plans) {
  const problem what = transpose_problem(3000, 2000, 4);
  std::string text = machine_text("cpu");
  EXPECT_NE(text.find("\"times\": {"), std::string::npos);
  const plan_offer first = offers(what, {.machine = "cpu"})[0];
  const std::string kernel = plan(what, {.device = device::cpu}).kernel();
  // The chosen row becomes slow, under a name of its own.
  const auto name = text.find("\"name\": \"") + 9;
  text.replace(name, text.find('"', name) - name, "own");
  if (const auto old = text.find("  \"factors\""); old != std::string::npos)
    text.erase(text.rfind(',', old)) += "\n}\n";
  text.insert(text.rfind("\n}"), ",\n  \"factors\": {\"" + kernel + "\": 9}");
  const own_file file(text);
  load_machine(file.name);
  EXPECT_EQ(machine_in_use("cpu").name, "own");
  EXPECT_EQ(machine_in_use("cpu").origin, file.name);
  EXPECT_NE(plan(what, {.device = device::cpu}).kernel(), kernel);
  EXPECT_NE(explain(what, {.machine = "cpu"}).find("costs of \"own\", " + file.name), std::string::npos);
  EXPECT_STREQ(offers(what, {.machine = "zen4"})[0].kernel, "cpu_stream_elements") << "another machine";
  // A problem in cache has factors of its own.
  const problem cached = transpose_problem(50, 40, 4);
  const std::string before = plan(cached, {.device = device::cpu}).kernel(),
                    large = plan(what, {.device = device::cpu}).kernel();
  text.insert(text.rfind("\n}"), ",\n  \"cached_factors\": {\"" + before + "\": 9, \"" + large + "\": 9}");
  const own_file other(text);
  load_machine(other.name);
  EXPECT_NE(plan(cached, {.device = device::cpu}).kernel(), before);
  EXPECT_EQ(plan(what, {.device = device::cpu}).kernel(), large);
  EXPECT_EQ(cornerturn_load_machine(file.name.c_str()), CORNERTURN_OK);
  EXPECT_GT(first.time, 0);
}

TEST(machine, a_file_that_is_none_is_refused) {
  const own_file file("{\"cornerturn-machine\": 1}");
  try {
    load_machine(file.name);
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), status::invalid_argument);
    EXPECT_EQ(std::string(refused.what()), "the machine file " + file.name + " has no \"name\"");
  }
  EXPECT_EQ(cornerturn_load_machine(file.name.c_str()), CORNERTURN_INVALID_ARGUMENT);
  EXPECT_EQ(cornerturn_load_machine(nullptr), CORNERTURN_INVALID_ARGUMENT);
}

TEST(machine, a_bad_file_of_the_environment_is_ignored_with_a_sentence) {
  const own_file file("[");
  setenv("CORNERTURN_MACHINE_FILE", file.name.c_str(), 1);
  kernels::read_machines_again();
  const std::vector<std::string> sentences = ignored_machine_files();
  unsetenv("CORNERTURN_MACHINE_FILE");
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("is ignored: it has its end at byte 1"), std::string::npos) << sentences[0];
}

}  // namespace
}  // namespace cornerturn
