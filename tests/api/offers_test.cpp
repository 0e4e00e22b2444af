// offers() for a GPU of the cost table, which need not be present.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"

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
  EXPECT_EQ(std::string_view(all[0].kernel), "cuda_tile_b4_64x64_r4_xor");
  EXPECT_STREQ(all[0].bound, "DRAM");
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_GT(all[k].time, 0.8) << all[k].kernel << ": no kernel is faster than a copy";
    EXPECT_GT(all[k].counts[0], 0) << all[k].kernel;
    EXPECT_STRNE(all[k].reason, "") << all[k].kernel;
    if (k > 0) {
      EXPECT_LE(all[k - 1].time, all[k].time);
    }
  }
}

TEST(offers, of_unaligned_pointers_have_no_aligned_tile) {
  for (const plan_offer& one : offers(transpose_problem(9999, 7001, 4), {.machine = "H200", .alignment = 4})) {
    EXPECT_EQ(std::string_view(one.kernel).find("_xor"), std::string_view::npos) << one.kernel;
  }
}

TEST(offers, explain_marks_one_as_chosen) {
  const std::string text = explain(transpose_problem(8192, 8192, 4), h200);
  EXPECT_NE(text.find("cuda_tile_b4_64x64_r4_xor  (chosen)"), std::string::npos) << text;
  EXPECT_NE(text.find("H200, sm_90, 132 multiprocessors"), std::string::npos) << text;
}

TEST(offers, need_a_machine_of_the_table_and_an_alignment) {
  const problem what = transpose_problem(64, 64, 4);
  EXPECT_NE(refusal(what, {.machine = "abacus", .alignment = 16}).find("machine is \"abacus\", wanted one of: "),
            std::string::npos);
  EXPECT_NE(refusal(what, {.machine = "H200", .alignment = 3}).find("alignment is 3, wanted 1, 2, 4, 8 or 16"),
            std::string::npos);
}

}  // namespace
}  // namespace cornerturn
