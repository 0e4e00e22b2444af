// The rungs' own text on the host: every rung, every element size, shapes around its tiles, guards around dst.
#include <gtest/gtest.h>

#include "../thinner.hpp"
#include "ladder/cases.hpp"
#include "rungs_text.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::int64_t most_elements = 100000;  // a second for all rungs

#ifdef RUNGS_OF_HIP
constexpr int wavefronts[] = {64, 32};
#else
constexpr int wavefronts[] = {0};
#endif

class rungs : public ::testing::TestWithParam<text> {};

TEST_P(rungs, transpose_every_shape) {
  constexpr emulated::order orders[] = {emulated::order::forward, emulated::order::backward, emulated::order::shuffled};
  int checked = 0, number = 0;
  for (const int wavefront : wavefronts) {
    for (const matrix_shape& shape : cases) {
      if (!GetParam().takes(shape) || shape.rows * shape.cols * shape.batch > most_elements) continue;
      if (!testing::keeps(number++)) continue;
      ASSERT_EQ(check(GetParam(), shape, {orders[checked++ % 3], wavefront}).what, "")
          << GetParam().rung << " of " << GetParam().word_bytes << " bytes, " << shape.batch << "x" << shape.rows << "x"
          << shape.cols << ", wavefronts of " << wavefront;
    }
  }
  EXPECT_GT(checked, 2);
}

INSTANTIATE_TEST_SUITE_P(ladder, rungs, ::testing::ValuesIn(texts()), [](const auto& rung) {
  return std::string("rung_") + rung.param.rung + "_b" + std::to_string(rung.param.word_bytes);
});

}  // namespace
}  // namespace cornerturn::ladder
