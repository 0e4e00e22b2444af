#include "bench/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cornerturn::bench {
namespace {

const char* const row_names[] = {"a", "b", "c", "d", "e"};

constants of_one(const std::map<std::string, double>& factors) {
  constants made;
  for (const auto& [row, factor] : factors) made[row] = {factor};
  return made;
}

// Problems of five rows, whose predicted times are wrong by a factor of each row and by some noise.
std::vector<timed_problem> with_factors(const std::map<std::string, double>& planted, double noise, unsigned seed,
                                        int count) {
  std::mt19937 dice(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<timed_problem> all;
  for (int k = 0; k < count; ++k) {
    timed_problem one{"kind", {}};
    for (const char* row : row_names) {
      const double predicted = 1 + share(dice);
      const auto found = planted.find(row);
      const double factor = found == planted.end() ? 1 : found->second;
      one.rows.push_back({row, predicted * factor * std::exp(noise * (share(dice) - 0.5)), {predicted}});
    }
    all.push_back(std::move(one));
  }
  return all;
}

TEST(fit, finds_factors_that_choose_faster_rows) {
  const std::map<std::string, double> planted = {{"b", 1.6}, {"d", 0.7}};
  const constants found = cross_validated(with_factors(planted, 0.1, 1, 300), {});
  const std::vector<timed_problem> unseen = with_factors(planted, 0.1, 2, 300);
  const regret_of_all before = regret_with(unseen, {}), after = regret_with(unseen, found);
  EXPECT_GT(before.mean, 1.1);
  EXPECT_LT(after.mean, 1.01);
  EXPECT_LT(after.worst, before.worst);
}

// Times that the factors cannot explain: the held-out problems say so.
TEST(fit, noise_changes_little) {
  const constants found = cross_validated(with_factors({}, 1.0, 3, 60), {});
  const std::vector<timed_problem> unseen = with_factors({}, 1.0, 4, 2000);
  EXPECT_LE(regret_with(unseen, found).mean, regret_with(unseen, {}).mean * 1.05);
}

// A gain that chance explains is none: without this rule 8 of 20 change.
TEST(fit, chance_changes_nothing) {
  int changed = 0;
  for (unsigned seed = 0; seed < 20; ++seed)
    changed += cross_validated(with_factors({}, 1.0, seed, 60), {}) != constants{};
  EXPECT_LE(changed, 4);
}

TEST(fit, factors_have_bounds) {
  for (const auto& [row, factor] : fit(with_factors({{"a", 50}, {"b", 0.01}}, 0, 5, 100), {}, 0)) {
    EXPECT_GE(factor[0], 0.3) << row;
    EXPECT_LE(factor[0], 3.1) << row;
  }
}

TEST(fit, starts_from_the_old_constants) {
  const std::map<std::string, double> planted = {{"b", 1.6}, {"d", 0.7}};
  const constants start = of_one({{"a", 1}, {"b", 1.6}, {"c", 1}, {"d", 0.7}, {"e", 1}, {"unmeasured", 7}});
  const constants found = cross_validated(with_factors(planted, 0, 6, 100), start);
  for (const auto& [row, factor] : found) EXPECT_EQ(factor, start.at(row)) << row << ": nothing to gain";
}

// Two rows with a latency and a rate each: which one is faster depends on the size. Predictions with wrong latencies choose the wrong
// one near the crossover, and no factor of all terms mends it.
std::vector<timed_problem> with_latency(unsigned seed, int count) {
  std::mt19937 dice(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<timed_problem> all;
  for (int k = 0; k < count; ++k) {
    const double copy_us = std::exp(3 * share(dice));
    all.push_back(
        {"kind", {{"short", (1 + 2 * copy_us) * 1e-6, {1, copy_us}}, {"wide", (4 + copy_us) * 1e-6, {1, copy_us}}}});
  }
  return all;
}

TEST(fit, finds_a_latency) {
  const constants wrong{{"short", {1, 2}}, {"wide", {1, 1}}};
  const constants found = cross_validated(with_latency(1, 200), wrong);
  const std::vector<timed_problem> unseen = with_latency(2, 400);
  EXPECT_GT(regret_with(unseen, wrong).mean, 1.08);
  EXPECT_LT(regret_with(unseen, found).mean, 1.01);
}

TEST(fit, a_constant_of_0_can_grow) {
  std::mt19937 dice(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<timed_problem> all;
  for (int k = 0; k < 200; ++k) {
    const double wasted = share(dice);
    all.push_back({"kind", {{"whole", 1, {1}}, {"wasteful", 0.9 + 0.2 * wasted, {1, wasted}}}});
  }
  const constants wrong{{"whole", {1}}, {"wasteful", {0.9, 0}}};
  const constants found = fit(all, wrong, 0);
  EXPECT_GT(regret_with(all, wrong).mean, 1.02);
  EXPECT_LT(regret_with(all, found).mean, 1.002);
  EXPECT_GT(found.at("wasteful")[1], 0);
}

TEST(fit, one_row_has_no_regret) {
  EXPECT_EQ(regret_with({{"kind", {{"a", 1, {3}}}}}, {}).mean, 1);
  EXPECT_EQ(regret_with({}, {}).mean, 1);
}

}  // namespace
}  // namespace cornerturn::bench
