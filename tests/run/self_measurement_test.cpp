// Calls of a plan that measures itself, with times that the test chooses.
#include "run/self_measurement.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cornerturn/problem.hpp"

namespace cornerturn::running {
namespace {

using turn = self_measurement::turn;

std::vector<kernels::offer> some_offers(std::size_t count) {
  std::vector<kernels::offer> all(count);
  for (std::size_t k = 0; k < count; ++k) all[k].row = &kernels::all()[k], all[k].time = 1.0 + static_cast<double>(k);
  return all;
}

// Makes one call that is alone. times: of each offer, in ns.
const kernels::offer* call(self_measurement& of, const std::vector<std::int64_t>& times) {
  if (of.settled() != nullptr) return of.settled();
  turn one(of);
  if (one.is_timed()) one.took(times[static_cast<std::size_t>(&one.offer() - of.offers().data())]);
  return &one.offer();
}

TEST(self_measurement, the_fastest_offer_stays) {
  self_measurement of(some_offers(4));
  const std::vector<std::int64_t> times{100, 300, 70, 80};
  std::map<const kernels::offer*, int> calls;
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(of.settled(), nullptr) << k;
    const kernels::offer* const ran = call(of, times);
    if (k == 0) {
      EXPECT_EQ(ran, &of.offers()[0]) << "the first call runs the cheapest offer";
    }
    ++calls[ran];
  }
  EXPECT_EQ(of.settled(), &of.offers()[2]);
  EXPECT_EQ(calls[&of.offers()[0]], 1);
  EXPECT_EQ(calls[&of.offers()[2]], 2);
  EXPECT_EQ(calls[&of.offers()[3]], 2);
  EXPECT_EQ(of.time_of(of.offers()[2]), 70);
}

TEST(self_measurement, eight_calls_measure_the_most_offers) {
  self_measurement of(some_offers(self_measurement::most_offers));
  for (int k = 0; k < 8; ++k) {
    EXPECT_EQ(of.settled(), nullptr) << k;
    call(of, {50, 51, 52, 53, 54, 49});
  }
  EXPECT_EQ(of.settled(), &of.offers()[0]) << "a gain of less than 2 % is noise";
}

TEST(self_measurement, the_second_try_may_be_the_shorter_one) {
  self_measurement of(some_offers(2));
  call(of, {100, 90});
  call(of, {100, 90});
  call(of, {60, 90});
  call(of, {60, 85});
  EXPECT_EQ(of.settled(), &of.offers()[0]);
  EXPECT_EQ(of.time_of(of.offers()[0]), 60);
  EXPECT_EQ(of.time_of(of.offers()[1]), 85);
}

TEST(self_measurement, calls_that_overlap_are_not_timed) {
  self_measurement of(some_offers(2));
  {
    turn first(of);
    ASSERT_TRUE(first.is_timed());
    {
      const turn second(of);
      EXPECT_FALSE(second.is_timed());
      EXPECT_EQ(&second.offer(), &of.offers()[0]);
    }
    first.took(1);  // the second one began meanwhile, and has ended
  }
  EXPECT_EQ(of.time_of(of.offers()[0]), 0);
  for (int k = 0; k < 4; ++k) call(of, {100, 50});
  EXPECT_EQ(of.settled(), &of.offers()[1]);
}

TEST(self_measurement, a_call_that_never_ends_stops_it) {  // as in a child of fork()
  self_measurement of(some_offers(2));
  call(of, {100, 50});
  auto* const lost = new turn(of);
  for (std::uint64_t k = 0; k < self_measurement::most_calls; ++k) EXPECT_EQ(call(of, {1, 1}), &of.offers()[0]) << k;
  EXPECT_EQ(of.settled(), &of.offers()[0]);
  delete lost;
}

TEST(self_measurement, a_call_that_throws_is_not_timed) {
  self_measurement of(some_offers(2));
  EXPECT_THROW(of.call([](const kernels::offer&) { throw std::runtime_error("stopped"); }), std::runtime_error);
  EXPECT_EQ(of.time_of(of.offers()[0]), 0);
  for (int k = 0; k < 4; ++k) of.call([](const kernels::offer&) {});
  EXPECT_NE(of.settled(), nullptr);
}

TEST(self_measurement, threads_settle_it_once) {
  for (int turns = 0; turns < 50; ++turns) {
    self_measurement of(some_offers(5));
    std::atomic<const kernels::offer*> found{nullptr};
    std::vector<std::thread> team;
    for (int k = 0; k < 4; ++k) {
      team.emplace_back([&] {
        for (int call = 0; call < 100; ++call) of.call([](const kernels::offer&) {});
        const kernels::offer* known = nullptr;
        if (!found.compare_exchange_strong(known, of.settled())) {
          EXPECT_EQ(known, of.settled());
        }
      });
    }
    for (std::thread& one : team) one.join();
    EXPECT_NE(of.settled(), nullptr);
  }
}

TEST(likely_offers, are_the_cheapest_ones) {
  for (const problem& what : {transpose_problem(1000, 1000, 4), transpose_problem(100000, 7, 8)}) {
    const map::canonical form = map::canonicalize(what);
    const base::machine& on = kernels::this_machine();
    const std::vector<kernels::offer> likely = likely_offers(form, {}, on), all = planning::offers(form, {}, on);
    ASSERT_GE(likely.size(), 2U);
    ASSERT_LE(likely.size(), static_cast<std::size_t>(self_measurement::most_offers));
    for (std::size_t k = 0; k < likely.size(); ++k) {
      EXPECT_EQ(likely[k].row, all[k].row);
      EXPECT_LE(likely[k].time, self_measurement::most_time * all[0].time);
    }
  }
}

}  // namespace
}  // namespace cornerturn::running
