// The bars are the speeds that the project promises. Results are checked against them.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.hpp"

namespace cornerturn::bench {

enum class verdict { pass, falls_short, not_measured };

struct bar_line {
  std::string text;  // the bar, the measured value, and the cases that miss the bar
  verdict outcome = verdict::not_measured;
};

// Effect  returns one line for each bar of bars.inc and each thread count in the results, or for each bar of gpu_bars.inc, and
//         one line for the peers
[[nodiscard]] std::vector<bar_line> check_bars(const std::vector<result>& results, machine on = machine::cpu);

}  // namespace cornerturn::bench
