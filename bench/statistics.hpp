// Medians, quartiles and geometric means: the only statistics that the bench prints.
#pragma once

#include <vector>

namespace cornerturn::bench {

struct quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};

// Effect  returns quartiles by linear interpolation between order statistics, as numpy.percentile does. Zeros if there is no
//         sample
[[nodiscard]] quartiles quartiles_of(std::vector<double> samples);

// Effect  returns exp(mean(log(x))). Zero if there is no sample or any x <= 0
[[nodiscard]] double geometric_mean(const std::vector<double>& samples);

}  // namespace cornerturn::bench
