// `cornerturn calibrate`: measures random problems with every row, and writes a machine file whose constants predict them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/fit.hpp"

namespace cornerturn::bench {

struct calibrate_options {
  int gpu = -1;        // -1: the CPU
  double minutes = 3;  // of measurements
  int threads = 1;     // CPU: of each problem
  std::uint64_t seed = 1;
};

struct calibration {
  std::string name;                      // of the machine: "cpu-25-17-1", "nvidia-h200"
  std::string text;                      // of its machine file
  std::size_t fitted = 0, held_out = 0;  // problems
  // Of the held-out problems, which the fit did not see.
  regret_of_all before{}, after{};
  std::size_t numbers = 0;  // CPU: block sizes, limits and prefetch distances that changed
  std::size_t changed = 0;  // groups of rows; 0: the old constants stay, because the fitted ones choose no better
};

// Effect  measures for about options.minutes, and calls progress(problems so far, seconds so far) after each problem
// Errors  as run()
calibration calibrate(const calibrate_options& options, const std::function<void(std::size_t, double)>& progress);

}  // namespace cornerturn::bench
