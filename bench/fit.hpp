// The fit of `cornerturn calibrate`: constants that predict measured times, so that the cheapest offer is the fastest row.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

namespace cornerturn::bench {

// A row that ran a problem.
struct timed_row {
  std::string group;  // rows of one group have equal constants
  double seconds = 0;
  double predicted = 0;            // by the offer; only ratios within a problem count
  std::array<double, 5> counts{};  // of a GPU, relative to a copy
};
// All rows that ran one problem.
struct timed_problem {
  std::string kind;
  std::vector<timed_row> rows;
  double copy_us = 0;      // of a GPU: the predicted time of a copy
  bool is_cached = false;  // of a GPU: it stays in L2
};

// The chosen row's time over the fastest one's.
struct regret_of_all {
  double mean = 1;  // geometric
  double worst = 1;
};

using factors = std::map<std::string, double>;  // by group; a missing one is 1
[[nodiscard]] regret_of_all regret_with(const std::vector<timed_problem>& all, const factors& by);

// Effect  returns factors of the predicted times between 0.3 and 3 that choose faster rows. A larger `caution` keeps more of them
//         at 1; cross_validated_factors() finds the caution that chooses best in problems that its fit did not see
[[nodiscard]] factors fit_factors(const std::vector<timed_problem>& all, double caution);
[[nodiscard]] factors cross_validated_factors(const std::vector<timed_problem>& all);

// Constants of the counts of a group; of problems that stay in L2 after a latency in microseconds.
using constants = std::map<std::string, std::vector<double>>;
[[nodiscard]] regret_of_all regret_with(const std::vector<timed_problem>& all, const constants& usual,
                                        const constants& cached);

// Effect  returns constants from 0 to 5 that minimise the relative error, nearer to `start` the fewer problems a group has. A row
//         counts more the closer it is to the fastest one of its problem; outliers count less
[[nodiscard]] constants fit_constants(const std::vector<timed_problem>& all, const constants& start, bool of_cached);

}  // namespace cornerturn::bench
