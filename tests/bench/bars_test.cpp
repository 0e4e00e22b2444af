#include "bench/bars.hpp"

#include <gtest/gtest.h>

namespace cornerturn::bench {
namespace {

series made(const char* name, role part, double seconds) {
  series entry;
  entry.name = name;
  entry.part = part;
  entry.seconds = {seconds, seconds, seconds};
  entry.cpu_seconds = entry.seconds;
  return entry;
}

result plain_result(double ours, double roof, double peer) {
  return {{"plain", 4, {10000, 7000}, {1, 0}, false, false, ""},
          1,
          2,
          {made("cornerturn", role::ours, ours), made("copy_a", role::roof, roof), made("copy_b", role::roof, 2 * roof),
           made("peer", role::peer, peer)},
          0};
}

verdict of(const std::vector<bar_line>& lines, const std::string& begin) {
  for (const bar_line& line : lines) {
    if (line.text.rfind(begin, 0) == 0) return line.outcome;
  }
  ADD_FAILURE() << "no line begins with " << begin;
  return verdict::not_measured;
}

TEST(bars, share_is_against_the_best_copy) {
  const result one = plain_result(0.1, 0.09, 0.5);
  EXPECT_NEAR(one.share().median, 0.9, 1e-9);
  EXPECT_EQ(one.best(role::roof)->name, "copy_a");
  EXPECT_EQ(of(check_bars({one}), "plain 1t: every share"), verdict::pass);
  EXPECT_EQ(of(check_bars({plain_result(0.1, 0.08, 0.5)}), "plain 1t: every share"), verdict::falls_short);
}

TEST(bars, what_was_not_measured_does_not_pass) {
  const auto lines = check_bars({plain_result(0.1, 0.09, 0.5)});
  EXPECT_EQ(of(lines, "odd 1t"), verdict::not_measured);
  EXPECT_EQ(of(lines, "hot/b4/64x64"), verdict::not_measured);
  EXPECT_EQ(of(lines, "plain: 2 threads over 1"), verdict::not_measured);
}

TEST(bars, a_wrong_result_never_passes) {
  result one = plain_result(0.1, 0.09, 0.5);
  one.entries.front().wrong = "an element differs";
  const auto lines = check_bars({one});
  EXPECT_TRUE(one.any_wrong());
  EXPECT_EQ(of(lines, "plain 1t: every share"), verdict::falls_short);
  EXPECT_EQ(of(lines, "peers"), verdict::falls_short);
}

TEST(bars, a_faster_peer_falls_short_and_a_wrong_peer_does_not_count) {
  EXPECT_EQ(of(check_bars({plain_result(0.1, 0.09, 0.5)}), "peers"), verdict::pass);
  result one = plain_result(0.1, 0.09, 0.05);
  EXPECT_EQ(of(check_bars({one}), "peers"), verdict::falls_short);
  one.entries.back().wrong = "an element differs";
  EXPECT_EQ(of(check_bars({one}), "peers"), verdict::not_measured);
}

TEST(bars, two_threads_over_one) {
  result two = plain_result(0.05, 0.045, 0.5);
  two.threads = 2;
  EXPECT_EQ(of(check_bars({plain_result(0.1, 0.09, 0.5), two}), "plain: 2 threads over 1"), verdict::pass);
  two.entries.front().seconds = {0.08};
  EXPECT_EQ(of(check_bars({plain_result(0.1, 0.09, 0.5), two}), "plain: 2 threads over 1"), verdict::falls_short);
}

}  // namespace
}  // namespace cornerturn::bench
