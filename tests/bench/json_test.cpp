#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/report.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::bench {
namespace {

result tiny_result() {
  memory pool(false, 0);
  measure_options options;
  return measure_hot({"hot", 4, {8, 8}, {1, 0}, true, false, ""}, pool, options);
}

TEST(json, has_the_shape_of_google_benchmark_and_our_own_block) {
  const result one = tiny_result();
  const auto whole = nlohmann::json::parse(json_text({one}, {{"cornerturn", "bench"}, false, 1, "abc", {}}));
  ASSERT_TRUE(whole.at("context").at("date").is_string());
  ASSERT_TRUE(whole.at("context").at("num_cpus").is_number_integer());
  const auto& rows = whole.at("benchmarks");
  ASSERT_EQ(rows.size(), one.entries.size());
  for (const auto& row : rows) {  // the fields that compare.py reads
    EXPECT_EQ(row.at("run_type"), "iteration");
    EXPECT_EQ(row.at("time_unit"), "ns");
    EXPECT_EQ(row.at("run_name"), row.at("name"));
    EXPECT_GT(row.at("real_time").get<double>(), 0);
    EXPECT_GT(row.at("cpu_time").get<double>(), 0);
    EXPECT_GT(row.at("iterations").get<std::int64_t>(), 0);
    EXPECT_NEAR(row.at("bytes_per_second").get<double>() * row.at("real_time").get<double>() * 1e-9, 512, 1);
  }
  const auto& own = whole.at("cornerturn");
  EXPECT_EQ(own.at("format"), nlohmann::json({1, 2, 0}));
  EXPECT_EQ(own.at("git_revision"), "abc");
  EXPECT_TRUE(own.at("machine").at("model").is_string());
  const auto& only = own.at("cases").at(0);
  EXPECT_EQ(only.at("name"), "hot/b4/8x8");
  EXPECT_EQ(only.at("contenders").at(0).at("role"), "ours");
  for (const auto& entry : only.at("contenders")) {
    EXPECT_TRUE(entry.at("verified").get<bool>()) << entry;
    EXPECT_LE(entry.at("ns").at("q1").get<double>(), entry.at("ns").at("q3").get<double>());
  }
}

TEST(json, kernels_of_a_random_case_have_predictions) {
  result one = tiny_result();
  one.what.set = "random_matrix";
  const auto whole = nlohmann::json::parse(json_text({one}, {{}, false, 1, "abc", {}}));
  const auto& chosen = whole.at("cornerturn").at("cases").at(0).at("kernels").at(0);
  EXPECT_EQ(chosen.at("predicted").get<double>(), one.offers.front().time);
  EXPECT_FALSE(chosen.contains("counts")) << "only GPU rows are counted";
}

TEST(json, peers_of_a_gpu_have_a_version_or_a_reason) {
  run_facts facts{{}, false, 1, "abc", {}};
  facts.gpu = gpu_facts{"NVIDIA H200", "sm_90", 132, 1, 1, "13.0", "13.0"};
  facts.peers = {{"cublas_geam", "", ""}, {"cutensor", "2.8.0", ""}, {"cutensor_jit", "", "it is off"}};
  const auto whole = nlohmann::json::parse(json_text({}, facts));
  const auto& peers = whole.at("cornerturn").at("machine").at("gpu").at("peers");
  EXPECT_EQ(peers,
            nlohmann::json::parse(
                R"({"cublas_geam": {}, "cutensor": {"version": "2.8.0"}, "cutensor_jit": {"absence": "it is off"}})"));
}

TEST(door, takes_requests) {
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  const auto call = [&](const arguments& given) { return run(given, {"cornerturn", "bench"}, nowhere); };
  arguments list;
  list.list = true;
  list.sets = {"all"};
  EXPECT_GT(nlohmann::json::parse(call(list).file).size(), 100U);
  list.sets.clear();
  list.shapes = {{{16, 24, 3}, {2, 0, 1}}};
  list.element_bytes = {1, 2};
  EXPECT_EQ(nlohmann::json::parse(call(list).file).at(1).at("name"), "ad_hoc/b2/16x24x3/201");
  const auto refused = [&](auto change) {
    arguments given;
    change(given);
    EXPECT_THROW(static_cast<void>(call(given)), std::invalid_argument);
  };
  refused([](arguments& given) { given.sets = {"nonesuch"}; });
  refused([](arguments& given) { given.pattern = "nonesuch"; });
  refused([](arguments& given) { given.pattern = "("; });
  refused([](arguments& given) { given.shapes = {{{4, 0}, {1, 0}}}; });
  refused([](arguments& given) { given.shapes = {{{std::int64_t{1} << 40, std::int64_t{1} << 40}, {1, 0}}}; });
  arguments gpu;
  gpu.gpu = 999;
  EXPECT_THROW(static_cast<void>(call(gpu)), error);
  std::fclose(nowhere);
}

}  // namespace
}  // namespace cornerturn::bench
