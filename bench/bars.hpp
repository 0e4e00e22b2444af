// The bars: what the project promises of its own speed, held against results.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.hpp"

namespace cornerturn::bench {

enum class verdict { pass, falls_short, not_measured };

struct bar_line {
  std::string text;  // the bar, what was found, and the cases that miss it
  verdict outcome = verdict::not_measured;
};

// Effect  one line for each bar of bars.inc and each thread count found, or for each of gpu_bars.inc, and one for the
// peers
[[nodiscard]] std::vector<bar_line> check_bars(const std::vector<result>& results, machine on = machine::cpu);

}  // namespace cornerturn::bench
