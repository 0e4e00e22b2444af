// The table of cases and the bars of a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "bench/arguments.hpp"
#include "bench/bars.hpp"
#include "bench/case.hpp"

namespace cornerturn::bench {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::vector<bench_case> members(const char* set) {
  std::vector<bench_case> found;
  for (const bench_case& one : all_cases(machine::gpu)) {
    if (is_in(one, set, machine::gpu)) found.push_back(one);
  }
  return found;
}

std::vector<std::int64_t> packed(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t k = extents.size(); k-- > 1;) strides[k - 1] = strides[k] * extents[k];
  return strides;
}

TEST(gpu_cases, are_permutations_of_what_fits_and_does_not_stay_in_l2) {
  for (const bench_case& one : all_cases(machine::gpu)) {
    SCOPED_TRACE(one.name());
    ASSERT_EQ(one.axes.size(), one.extents.size());
    ASSERT_LE(one.extents.size(), 16U);
    std::vector<int> sorted = one.axes;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> identity(sorted.size());
    std::iota(identity.begin(), identity.end(), 0);
    EXPECT_EQ(sorted, identity);
    EXPECT_NE(one.axes, identity);
    for (const std::int64_t extent : one.extents) EXPECT_GE(extent, 2) << "an axis of 1 is no axis";
    // three pairs within 80 GiB; 64 MiB is more than an H200's L2
    EXPECT_LE(one.src_span_bytes() + one.dst_span_bytes(), 26 * 1024 * mib);
    EXPECT_TRUE(one.hot || one.bytes() > 64 * mib);
    EXPECT_EQ(one.hot, one.set == "small");
    EXPECT_GE(one.src_span_bytes(), one.bytes());
    EXPECT_GE(one.dst_span_bytes(), one.bytes());
  }
}

TEST(gpu_cases, names_are_unique) {
  std::set<std::string> seen;
  for (const bench_case& one : all_cases(machine::gpu)) EXPECT_TRUE(seen.insert(one.name()).second) << one.name();
}

TEST(gpu_cases, sets_are_unions_and_have_members) {
  std::size_t whole = 0;
  for (const std::string& set : set_names(machine::gpu)) {
    EXPECT_FALSE(members(set.c_str()).empty()) << set;
    if (set != "quick" && set != "bars" && set != "all") whole += members(set.c_str()).size();
  }
  EXPECT_EQ(whole, all_cases(machine::gpu).size());
  EXPECT_EQ(members("all").size(),
            members("bars").size() + members("odd_elements").size() + members("rank_many").size());
  std::set<std::string> quick;
  for (const bench_case& one : members("quick")) quick.insert(one.set);
  for (const char* set : {"pow2", "odd", "odd_small", "skinny", "batched", "rank_n", "small"}) {
    EXPECT_EQ(quick.count(set), 1U) << set;
  }
  EXPECT_THROW(static_cast<void>(is_in(all_cases(machine::gpu).front(), "plain", machine::gpu)), std::invalid_argument);
}

TEST(gpu_cases, pow2_has_every_word_and_the_bad_pitches) {
  std::set<std::int64_t> words;
  std::map<std::int64_t, std::set<std::int64_t>> pitches;
  for (const bench_case& one : members("pow2")) {
    SCOPED_TRACE(one.name());
    EXPECT_GE(one.bytes(), 256 * mib);
    EXPECT_TRUE(one.is_packed());
    for (const std::int64_t extent : one.extents) EXPECT_EQ(extent % 64, 0);
    words.insert(one.element_bytes);
    pitches[one.element_bytes].insert({one.extents[0] * one.element_bytes, one.extents[1] * one.element_bytes});
  }
  EXPECT_EQ(words, (std::set<std::int64_t>{1, 2, 4, 8, 16}));
  for (const std::int64_t word : words) {
    EXPECT_EQ(pitches[word].count(128 * 1024), 1U) << word;
    EXPECT_EQ(pitches[word].count(256 * 1024), 1U) << word;
  }
}

TEST(gpu_cases, odd_ones_are_odd_somewhere) {
  for (const char* set : {"odd", "odd_small"}) {
    std::set<std::int64_t> words;
    bool padded = false;
    for (const bench_case& one : members(set)) {
      SCOPED_TRACE(one.name());
      const bool odd = one.extents[0] % 2 != 0 || one.extents[1] % 2 != 0 || one.ld.src % 2 != 0 || one.ld.dst % 2 != 0;
      EXPECT_TRUE(odd);
      words.insert(one.element_bytes);
      padded |= !one.is_packed();
    }
    EXPECT_TRUE(padded) << set;
    EXPECT_EQ(words, set == std::string("odd") ? (std::set<std::int64_t>{4, 8, 16}) : (std::set<std::int64_t>{1, 2}));
  }
}

TEST(gpu_cases, skinny_has_each_width_both_ways_and_each_word) {
  std::set<std::tuple<std::int64_t, std::int64_t, bool>> found;  // bytes, the short side, long x short
  for (const bench_case& one : members("skinny")) {
    const bool tall = one.extents[0] > one.extents[1];
    found.insert({one.element_bytes, std::min(one.extents[0], one.extents[1]), tall});
    EXPECT_LE(std::min(one.extents[0], one.extents[1]), 64) << one.name();
    EXPECT_GE(one.bytes(), 100000000) << one.name();
  }
  for (const std::int64_t bytes : {1, 2, 4, 8}) {
    for (const std::int64_t side : {2, 3, 4, 8, 16, 32, 64}) {
      for (const bool tall : {false, true}) {
        EXPECT_EQ(found.count({bytes, side, tall}), 1U) << bytes << " bytes, " << side << (tall ? " cols" : " rows");
      }
    }
  }
}

TEST(gpu_cases, batches_have_each_matrix_and_some_gaps) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> found;
  bool gaps = false;
  for (const bench_case& one : members("batched")) {
    ASSERT_EQ(one.axes, (std::vector<int>{0, 2, 1})) << one.name();
    found.insert({one.element_bytes, one.extents[1], one.extents[2]});
    gaps |= !one.is_packed();
  }
  for (const std::int64_t bytes : {1, 2, 4, 8, 16}) {
    for (const std::int64_t side : {8, 16, 32, 64, 128}) EXPECT_EQ(found.count({bytes, side, side}), 1U) << side;
    EXPECT_EQ(found.count({bytes, 31, 33}), 1U) << bytes;
  }
  EXPECT_TRUE(gaps);
}

TEST(gpu_cases, rank_n_is_a_list_of_at_least_40_of_ranks_3_to_6) {
  std::set<std::size_t> ranks;
  std::set<std::int64_t> words;
  const std::vector<bench_case> list = members("rank_n");
  EXPECT_GE(list.size(), 40U);
  for (const bench_case& one : list) {
    SCOPED_TRACE(one.name());
    EXPECT_GE(one.bytes(), 256 * mib);
    ranks.insert(one.extents.size());
    words.insert(one.element_bytes);
  }
  EXPECT_EQ(ranks, (std::set<std::size_t>{3, 4, 5, 6}));
  EXPECT_EQ(words, (std::set<std::int64_t>{1, 2, 4, 8, 16}));
}

TEST(gpu_cases, small_is_float_from_256_to_4096) {
  std::set<std::int64_t> sides;
  for (const bench_case& one : members("small")) {
    EXPECT_EQ(one.element_bytes, 4);
    EXPECT_EQ(one.extents[0], one.extents[1]);
    sides.insert(one.extents[0]);
  }
  for (const std::int64_t side : {256, 512, 1024, 2048, 4096}) EXPECT_EQ(sides.count(side), 1U) << side;
}

TEST(gpu_cases, padding_is_in_strides_and_names) {
  const bench_case pitched{"odd", 4, {10, 7}, {1, 0}, false, false, "", {1, 3}, {}};
  EXPECT_EQ(pitched.name(), "odd/b4/10x7/ld+1,+3");
  EXPECT_EQ(pitched.src_strides(), (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(pitched.dst_strides(), (std::vector<std::int64_t>{13, 1}));
  EXPECT_EQ(pitched.bytes(), 280);
  EXPECT_EQ(pitched.src_span_bytes(), 4 * (9 * 8 + 7));
  EXPECT_EQ(pitched.dst_span_bytes(), 4 * (6 * 13 + 10));
  const bench_case batch{"batched", 2, {5, 4, 3}, {0, 2, 1}, false, false, "", {}, {8, 1}};
  EXPECT_EQ(batch.name(), "batched/b2/5x4x3/021/stride+8,+1");
  EXPECT_EQ(batch.src_strides(), (std::vector<std::int64_t>{20, 3, 1}));
  EXPECT_EQ(batch.dst_strides(), (std::vector<std::int64_t>{13, 4, 1}));
}

TEST(gpu_cases, are_listed_for_other_programs) {
  arguments given;
  given.sets = {"bars"};
  given.gpu = 0;
  const nlohmann::json listed = nlohmann::json::parse(case_list_json(chosen_cases(given)));
  ASSERT_EQ(listed.size(), members("bars").size());
  for (const auto& row : listed) {
    const std::vector<std::int64_t> extents = row["extents"], strides = row["src_strides"];
    const std::vector<int> axes = row["axes"];
    ASSERT_EQ(strides.size(), axes.size());
    const std::string name = row["name"];
    const bool padded = name.find("/ld+") != std::string::npos || name.find("/stride+") != std::string::npos;
    std::vector<std::int64_t> dst;
    for (const int axis : axes) dst.push_back(extents[static_cast<std::size_t>(axis)]);
    EXPECT_EQ(!padded, strides == packed(extents) && row["dst_strides"] == packed(dst)) << name;
  }
}

// ---- bars

series made(const char* name, role part, std::vector<double> seconds, std::vector<int> places = {}) {
  series entry;
  entry.name = name;
  entry.part = part;
  entry.seconds = std::move(seconds);
  entry.places = std::move(places);
  return entry;
}

result measured(const char* set, double share, double worst_place) {
  const double roof = 1e-3;
  result one{{set, 4, {8192, 8192}, {1, 0}, false, false, ""}, 0, 3, {}, 0};
  one.device = "cuda:0";
  one.entries = {made("cornerturn", role::ours, {roof / share, roof / share, roof / worst_place}, {0, 1, 2}),
                 made("copy", role::roof, {roof, roof, roof})};
  return one;
}

verdict outcome_of(const std::vector<result>& results, const std::string& begin) {
  for (const bar_line& line : check_bars(results, machine::gpu)) {
    if (line.text.rfind(begin, 0) == 0) return line.outcome;
  }
  ADD_FAILURE() << "no line begins with " << begin;
  return verdict::not_measured;
}

TEST(gpu_bars, every_bar_is_about_a_set_with_members) {
  const std::vector<bar_line> lines = check_bars({}, machine::gpu);
  EXPECT_EQ(lines.size(), 11U) << "one a row of gpu_bars.inc, and the peers";
  for (const bar_line& line : lines) {
    EXPECT_EQ(line.outcome, verdict::not_measured) << line.text;
    const std::string set = line.text.substr(0, line.text.find(':'));
    EXPECT_TRUE(set == "peers" || !members(set.c_str()).empty()) << set;
  }
}

TEST(gpu_bars, share_geometric_mean_and_worst_place) {
  EXPECT_EQ(outcome_of({measured("pow2", 0.97, 0.95)}, "pow2: every share"), verdict::pass);
  EXPECT_EQ(outcome_of({measured("pow2", 0.97, 0.95)}, "pow2: geometric mean"), verdict::pass);
  EXPECT_EQ(outcome_of({measured("pow2", 0.97, 0.95)}, "pow2: every place"), verdict::pass);
  EXPECT_EQ(outcome_of({measured("pow2", 0.97, 0.91)}, "pow2: every place"), verdict::falls_short);
  EXPECT_EQ(outcome_of({measured("pow2", 0.97, 0.91)}, "pow2: every share"), verdict::pass);
  EXPECT_EQ(outcome_of({measured("pow2", 0.93, 0.93)}, "pow2: every share"), verdict::falls_short);
  EXPECT_EQ(outcome_of({measured("pow2", 0.95, 0.95)}, "pow2: geometric mean"), verdict::falls_short);
}

TEST(gpu_bars, time_over_a_copy) {
  EXPECT_EQ(outcome_of({measured("small", 0.92, 0.92)}, "small:"), verdict::pass);
  EXPECT_EQ(outcome_of({measured("small", 0.90, 0.90)}, "small:"), verdict::falls_short);
}

TEST(gpu_bars, wrong_and_refused_never_pass) {
  result one = measured("small", 0.99, 0.99);
  one.entries.front().wrong = "an element differs";
  EXPECT_EQ(outcome_of({one}, "small:"), verdict::falls_short);
  result refused = measured("batched", 0.99, 0.99);
  refused.entries = {made("cornerturn", role::ours, {})};
  refused.entries.front().wrong = "no kernel takes it";
  EXPECT_EQ(outcome_of({refused}, "batched: every share"), verdict::falls_short);
}

}  // namespace
}  // namespace cornerturn::bench
