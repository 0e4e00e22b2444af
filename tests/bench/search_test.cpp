#include "bench/search.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "../thinner.hpp"
#include "bench/contender.hpp"
#include "bench/random_cases.hpp"
#include "bench/verify.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {
namespace {

// Times of problems with three values: the last one takes `factor` times as long as the others, beside noise.
std::vector<times_of_values> problems_with(double factor, double noise, unsigned seed, int count) {
  std::mt19937 dice(seed);
  std::uniform_real_distribution<double> share(-0.5, 0.5);
  std::vector<times_of_values> all;
  for (int k = 0; k < count; ++k) {
    times_of_values one;
    for (const double by : {1.0, 1.0, factor}) one.push_back((1 + k) * by * std::exp(noise * share(dice)));
    all.push_back(std::move(one));
  }
  return all;
}

TEST(search, a_faster_value_is_found) {
  EXPECT_EQ(fastest_value(problems_with(0.9, 0.02, 1, 8), 0), 2U);
  EXPECT_EQ(fastest_value(problems_with(0.8, 0.3, 2, 24), 1), 2U);
  EXPECT_EQ(fastest_value(problems_with(1.1, 0.02, 3, 8), 1), 1U);
}

TEST(search, chance_changes_nothing) {
  int changed = 0;
  for (unsigned seed = 0; seed < 100; ++seed) changed += fastest_value(problems_with(1, 0.3, seed, 12), 1) != 1;
  EXPECT_LE(changed, 15);  // of two other values, each beyond two standard errors in 3 of 100
  EXPECT_EQ(fastest_value({}, 0), 0U);
  EXPECT_EQ(fastest_value(problems_with(0.5, 0, 1, 1), 0), 0U);  // one problem says nothing about the next
}

TEST(search, a_value_that_some_problems_cannot_run_with_is_not_taken) {
  std::vector<times_of_values> all = problems_with(0.5, 0.02, 4, 8);
  all[3][2] = 0;
  EXPECT_EQ(fastest_value(all, 0), 0U);
}

TEST(search, every_number_has_kernels_and_kinds_and_is_of_the_file) {
  const auto machine = nlohmann::json::parse(machine_text("cpu"));
  std::vector<std::string> kinds = random_kinds();
  kinds.insert(kinds.end(), {"view", "record"});
  for (const searched_number& one : searched_numbers()) {
    EXPECT_TRUE(machine.at("numbers").contains(one.name)) << one.name;
    EXPECT_GE(one.values.size(), 2U);
    for (const std::string_view kind : one.kinds) EXPECT_EQ(std::count(kinds.begin(), kinds.end(), kind), 1) << kind;
    for (const std::string_view beginning : one.rows) {
      const std::vector<kernel_info> all = kernel_list();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const kernel_info& k) {
        return k.name.starts_with(beginning);
      })) << beginning;
    }
  }
}

// Of problems that are larger than the cache limit. The tests of the kernels run them with the numbers of the built-in machines only.
TEST(search, every_value_gives_the_right_bytes) {
  constexpr int wanted_problems = 6;
  const auto machine = nlohmann::json::parse(machine_text("cpu"));
  const std::string file = ::testing::TempDir() + "search_test_" + std::to_string(getpid()) + ".json";
  memory pool(false, 1 << 20);
  std::int64_t number_of_value = 0;
  int checked = 0;
  for (const searched_number& one : searched_numbers()) {
    for (const std::int64_t value : one.values) {
      if (!testing::keeps(number_of_value++)) continue;
      auto changed = machine;
      changed["numbers"][one.name] = value;
      std::ofstream(file) << changed.dump();
      try {
        load_machine(file);
      } catch (const error&) {
        continue;  // the kernels cannot serve the value beside this machine's other numbers
      }
      int problems = 0;
      for (int index = 0; index < 200 && problems < wanted_problems; ++index) {
        const std::string kind(one.kinds[static_cast<std::size_t>(index) % one.kinds.size()]);
        const bench_case what = random_case(3, kind, index, 5 << 18, 5 << 19);
        const buffer_pair slot = pool.pair(what.buffer_bytes());
        const auto ready = ours().prepare({what, full_view(what), 1, slot, ""});
        const auto is_of = [&](std::string_view beginning) { return ready->detail().starts_with(beginning); };
        if (!one.rows.empty() && std::none_of(one.rows.begin(), one.rows.end(), is_of)) continue;
        const buffer_pair on{slot.src + what.shift.src, slot.dst + what.shift.dst};
        const std::int64_t bytes = what.dst_span_bytes();
        memory::poison(on.dst, bytes);
        if (what.in_place()) std::memcpy(on.dst, on.src, static_cast<std::size_t>(bytes));
        ready->run(on.src, on.dst);
        EXPECT_EQ(difference(full_view(what), on.src, on.dst), "") << one.name << ' ' << value << ' ' << what.name();
        EXPECT_TRUE(memory::guards_intact(on.dst, bytes)) << one.name << ' ' << value << ' ' << what.name();
        ++problems;
        ++checked;
      }
    }
  }
  std::remove(file.c_str());
  EXPECT_GT(checked, 0);
}

// Loads a machine file: ctest gives each test a process of its own.
TEST(search, each_number_is_one_of_its_values_or_the_old_one) {
  const auto old = nlohmann::json::parse(machine_text("cpu"));
  int problems = 0;
  const auto found = nlohmann::json::parse(search_numbers(old.dump(), {.seconds = 2}, [&] { ++problems; }));
  EXPECT_GT(problems, 0);
  for (const auto& number : found.at("numbers").items()) {
    if (number.value() == old.at("numbers").at(number.key())) continue;
    const auto& list = searched_numbers();
    const auto one =
        std::find_if(list.begin(), list.end(), [&](const searched_number& s) { return number.key() == s.name; });
    ASSERT_NE(one, list.end()) << number.key();
    EXPECT_EQ(std::count(one->values.begin(), one->values.end(), number.value().get<std::int64_t>()), 1)
        << number.key();
  }
  EXPECT_EQ(nlohmann::json::parse(machine_text("cpu")).at("numbers"), found.at("numbers"));  // it is in use
  auto rest = found, old_rest = old;
  rest.erase("numbers"), old_rest.erase("numbers");
  EXPECT_EQ(rest, old_rest);
}

}  // namespace
}  // namespace cornerturn::bench
