// Medians, quartiles and geometric means: the only statistics the bench quotes.
#pragma once

#include <vector>

namespace cornerturn::bench {

struct quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};

// Effect  linear interpolation between order statistics, as numpy.percentile does; zeros for no sample
[[nodiscard]] quartiles quartiles_of(std::vector<double> samples);

// Effect  exp(mean(log(x))); zero for no sample or any x <= 0
[[nodiscard]] double geometric_mean(const std::vector<double>& samples);

}  // namespace cornerturn::bench
