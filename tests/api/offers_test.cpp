// offers() for the CPU, and for a GPU of the cost table, which need not be present.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"
#include "kernels/kernel.hpp"
#include "kernels/machine/known.hpp"
#include "plan/choose.hpp"

namespace cornerturn {
namespace {

const offer_options h200 = {.machine = "H200", .alignment = 16};

std::string refusal(const problem& what, const offer_options& options) {
  try {
    static_cast<void>(offers(what, options));
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), status::invalid_argument);
    return thrown.what();
  }
  return "accepted";
}

TEST(offers, are_sorted_and_say_what_binds_them) {
  const std::vector<plan_offer> all = offers(transpose_problem(8192, 8192, 4), h200);
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(std::string_view(all[0].kernel), "gpu_tile_b4_64x64_r4_xor");
  EXPECT_STREQ(all[0].bound, "DRAM");
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_GT(all[k].time, 0.8) << all[k].kernel << ": no kernel is faster than a copy";
    EXPECT_GT(all[k].counts.traffic, 0) << all[k].kernel;
    EXPECT_STRNE(all[k].reason, "") << all[k].kernel;
    if (k > 0) {
      EXPECT_LE(all[k - 1].time, all[k].time);
    }
  }
}

// The words of plan.hpp.
TEST(offers, are_bound_by_a_documented_word) {
  const std::set<std::string_view> words = {"DRAM", "requests", "shared memory", "instructions", "latency", "nothing"};
  std::set<std::string_view> seen;
  for (const char* machine : {"H200", "cpu"}) {
    for (const std::int64_t rows : {1, 3, 100, 4000}) {
      for (const std::int64_t bytes : {1, 4, 12}) {
        for (const plan_offer& one : offers(transpose_problem(rows, 1000, bytes), {.machine = machine, .threads = 1})) {
          seen.insert(one.bound);
        }
      }
    }
  }
  EXPECT_TRUE(std::ranges::includes(words, seen)) << "an offer is bound by another word";
  EXPECT_GE(seen.size(), 4U);
}

TEST(offers, of_unaligned_pointers_have_no_aligned_tile) {
  for (const plan_offer& one : offers(transpose_problem(9999, 7001, 4), {.machine = "H200", .alignment = 4})) {
    EXPECT_EQ(std::string_view(one.kernel).find("_xor"), std::string_view::npos) << one.kernel;
  }
}

TEST(offers, explain_marks_one_as_chosen) {
  const std::string text = explain(transpose_problem(8192, 8192, 4), h200);
  EXPECT_NE(text.find("gpu_tile_b4_64x64_r4_xor  (chosen)"), std::string::npos) << text;
  EXPECT_NE(text.find("H200, sm_90, 132 multiprocessors"), std::string::npos) << text;
}

TEST(offers, of_the_cpu_are_sorted_and_the_plan_takes_the_first) {
  const problem square = transpose_problem(2000, 2000, 4);
  problem converts = square;
  converts.math = {.src = element_type::float32, .dst = element_type::float16};
  problem in_place = square;
  in_place.in_place = true;
  const problem permuted = permute_problem(std::vector<std::int64_t>{30, 40, 50}, std::vector<int>{2, 0, 1}, 2);
  for (const problem& what : {square, converts, in_place, permuted}) {
    const std::vector<plan_offer> all = offers(what, {.machine = "cpu", .threads = 1});
    ASSERT_FALSE(all.empty());
    const plan chosen(what, {.device = device::cpu, .threads = 1});
    EXPECT_STREQ(all[0].kernel, chosen.kernel());
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_TRUE(std::string_view(all[k].kernel).starts_with("cpu_")) << all[k].kernel;
      EXPECT_GT(all[k].time, 0) << all[k].kernel;
      EXPECT_STRNE(all[k].bound, "") << all[k].kernel;
      EXPECT_STRNE(all[k].reason, "") << all[k].kernel;
      if (k > 0) {
        EXPECT_LE(all[k - 1].time, all[k].time);
      }
    }
    const std::string text = explain(what, {.machine = "cpu", .threads = 1});
    EXPECT_EQ(text, chosen.explain());
  }
}

// explain() of another CPU takes the row that this CPU takes, on any computer.
TEST(offers, of_another_cpu_do_not_depend_on_this_one) {
  problem in_place = transpose_problem(700, 700, 4);
  in_place.in_place = true;
  problem rectangle = transpose_problem(300, 500, 4);
  rectangle.in_place = true;
  const std::vector<problem> all = {transpose_problem(10000, 7000, 4),
                                    transpose_problem(1000000, 3, 1),
                                    transpose_problem(64, 64, 2),
                                    transpose_problem(1000, 1000, 3),
                                    in_place,
                                    rectangle};
  for (const auto& file : kernels::known_machines()) {
    if (file->is_gpu) continue;
    const kernels::machine_file& one = *file;
    const base::machine machine = one.on;
    for (const problem& what : all) {
      std::set<std::string> texts;
      for (const std::string_view target : kernels::simd_targets()) {
        ASSERT_TRUE(kernels::force_simd_target(target));
        texts.insert(explain(what, {.machine = one.name}));
      }
      ASSERT_TRUE(kernels::force_simd_target(""));
      ASSERT_EQ(texts.size(), 1U) << one.name;
      EXPECT_NE(texts.begin()->find("machine    " + one.name + ": "), std::string::npos);
      if (what.in_place) continue;
      const kernels::offer best = planning::choose(map::canonicalize(what), {.threads = 1}, machine);
      EXPECT_NE(texts.begin()->find("kernel     " + std::string(best.row->name)), std::string::npos) << *texts.begin();
      EXPECT_STREQ(offers(what, {.machine = one.name})[0].kernel, best.row->name);
    }
  }
  const problem large = transpose_problem(10000, 7000, 4);
  EXPECT_STREQ(offers(large, {.machine = "zen4"})[0].kernel, "cpu_stream_elements");
  EXPECT_STREQ(offers(large, {.machine = "zen3"})[0].kernel, "cpu_stream_lines_b4");
}

TEST(offers, of_a_rectangle_in_place_do_not_exist) {
  problem what = transpose_problem(300, 500, 4);
  what.in_place = true;
  EXPECT_TRUE(offers(what, {.machine = "cpu"}).empty());
  EXPECT_TRUE(offers(what, h200).empty());
  what.axes[0].src_stride = 7;
  EXPECT_NE(refusal(what, {.machine = "cpu"}).find("in_place is set, but "), std::string::npos);
  EXPECT_NE(refusal(what, h200).find("in_place is set, but "), std::string::npos);
}

TEST(offers, need_a_machine_of_the_table_and_an_alignment) {
  const problem what = transpose_problem(64, 64, 4);
  EXPECT_NE(refusal(what, {.machine = "abacus", .alignment = 16}).find("machine is \"abacus\", wanted one of: cpu, "),
            std::string::npos);
  EXPECT_NE(refusal(what, {.machine = "H200", .alignment = 3}).find("alignment is 3, wanted 1, 2, 4, 8 or 16"),
            std::string::npos);
  EXPECT_NE(refusal(what, {.machine = "cpu", .threads = -1}).find("threads is -1, wanted 0 (all) or more"),
            std::string::npos);
}

// A count of pieces that is a multiple of 2^32 was a division by zero.
TEST(offers, runs_of_any_length) {
  for (int bits = 28; bits <= 48; ++bits) {
    for (const std::int64_t element_bytes : {1, 16}) {
      problem what{.element_bytes = element_bytes, .rank = 2};
      what.axes[0] = {2, std::int64_t{1} << 50, std::int64_t{1} << 49};
      what.axes[1] = {std::int64_t{1} << bits, 1, 1};
      EXPECT_NO_THROW(static_cast<void>(offers(what, {.machine = "H200"}))) << bits;
      what.rank = 1;
      what.axes[0] = what.axes[1];
      EXPECT_NO_THROW(static_cast<void>(offers(what, {.machine = "H200"}))) << bits;
    }
  }
}

}  // namespace
}  // namespace cornerturn
