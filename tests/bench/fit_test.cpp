#include "bench/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cornerturn::bench {
namespace {

const char* const row_names[] = {"a", "b", "c", "d", "e"};

// Problems of five rows, whose predicted times are wrong by a factor of each row and by some noise.
std::vector<timed_problem> with_factors(const factors& planted, double noise, unsigned seed, int count) {
  std::mt19937 dice(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<timed_problem> all;
  for (int k = 0; k < count; ++k) {
    timed_problem one{"kind", {}, 0, false};
    for (const char* row : row_names) {
      const double predicted = 1 + share(dice);
      const auto found = planted.find(row);
      const double factor = found == planted.end() ? 1 : found->second;
      one.rows.push_back({row, predicted * factor * std::exp(noise * (share(dice) - 0.5)), predicted, {}});
    }
    all.push_back(std::move(one));
  }
  return all;
}

TEST(fit, finds_factors_that_choose_faster_rows) {
  const factors planted = {{"b", 1.6}, {"d", 0.7}};
  const factors found = cross_validated_factors(with_factors(planted, 0.1, 1, 300));
  const std::vector<timed_problem> unseen = with_factors(planted, 0.1, 2, 300);
  const regret_of_all before = regret_with(unseen, factors{}), after = regret_with(unseen, found);
  EXPECT_GT(before.mean, 1.1);
  EXPECT_LT(after.mean, 1.01);
  EXPECT_LT(after.worst, before.worst);
}

// Times that the factors cannot explain: the held-out problems say so.
TEST(fit, noise_changes_little) {
  const factors found = cross_validated_factors(with_factors({}, 1.0, 3, 60));
  const std::vector<timed_problem> unseen = with_factors({}, 1.0, 4, 2000);
  EXPECT_LE(regret_with(unseen, found).mean, regret_with(unseen, factors{}).mean * 1.05);
}

TEST(fit, factors_have_bounds) {
  for (const auto& [row, factor] : fit_factors(with_factors({{"a", 50}, {"b", 0.01}}, 0, 5, 100), 0)) {
    EXPECT_GE(factor, 0.3) << row;
    EXPECT_LE(factor, 3.1) << row;
  }
}

const std::vector<double> planted{1.05, 0.4, 0.2, 0.0, 0.7};

std::vector<timed_problem> with_constants(const std::vector<double>& by, bool cached, int count) {
  std::mt19937 dice(1);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<timed_problem> all;
  for (int k = 0; k < count; ++k) {
    const double copy_us = 5 + 5 * share(dice);
    timed_row row{"a", 0, 1, {1, share(dice), share(dice), share(dice), share(dice)}};
    double sum = 0;
    for (std::size_t i = 0; i < row.counts.size(); ++i) sum += by[i + (cached ? 1 : 0)] * row.counts[i];
    const double us = cached ? by[0] + copy_us * sum : copy_us * sum;
    row.seconds = us * 1e-6 * (1 + 0.01 * (share(dice) - 0.5));
    all.push_back({"kind", {row}, copy_us, cached});
  }
  return all;
}

TEST(fit, recovers_planted_constants) {
  std::vector<timed_problem> all = with_constants(planted, false, 200);
  for (int k = 0; k < 3; ++k) all.push_back({"kind", {{"a", 9e-6, 1, {1, 0.5, 0.5, 0.5, 0.5}}}, 1, false});  // outliers
  const constants found = fit_constants(all, {{"a", {1, 1, 1, 1, 1}}, {"b", {1, 2, 3, 4, 5}}}, false);
  for (std::size_t k = 0; k < planted.size(); ++k) EXPECT_NEAR(found.at("a")[k], planted[k], 0.1) << k;
  EXPECT_EQ(found.at("b"), (std::vector<double>{1, 2, 3, 4, 5})) << "nothing was measured";
}

TEST(fit, recovers_a_planted_latency) {
  const std::vector<double> with_latency{1.8, 1.2, 0.5, 0.4, 0.1, 0.5};
  const constants found = fit_constants(with_constants(with_latency, true, 300), {{"a", {1, 1, 1, 1, 1, 1}}}, true);
  EXPECT_NEAR(found.at("a")[0], 1.8, 0.25);
  const std::vector<timed_problem> all = with_constants(with_latency, true, 10);
  EXPECT_EQ(regret_with(all, {}, found).mean, 1) << "one row";
}

TEST(fit, few_problems_change_little) {
  const constants start{{"a", {2, 1, 1, 1, 1}}};
  const double few = fit_constants(with_constants(planted, false, 2), start, false).at("a")[0];
  const double many = fit_constants(with_constants(planted, false, 200), start, false).at("a")[0];
  EXPECT_LT(std::abs(few - 2), std::abs(many - 2));
}

}  // namespace
}  // namespace cornerturn::bench
