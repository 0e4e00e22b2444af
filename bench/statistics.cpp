// Medians, quartiles and geometric means.
#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace cornerturn::bench {

quartiles quartiles_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&samples](double fraction) {
    const double position = fraction * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<std::size_t>(position);
    const std::size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (position - static_cast<double>(low)) * (samples[high] - samples[low]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

double geometric_mean(const std::vector<double>& samples) {
  if (samples.empty()) return 0;
  double sum = 0;
  for (const double sample : samples) {
    if (sample <= 0) return 0;
    sum += std::log(sample);
  }
  return std::exp(sum / static_cast<double>(samples.size()));
}

}  // namespace cornerturn::bench
