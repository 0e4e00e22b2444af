// The fit of `cornerturn calibrate`: constants whose predicted times choose the fastest row.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cornerturn::bench {

// A row that ran a problem. Its predicted time is the sum of the terms, each times a constant of the group.
struct timed_row {
  std::string group;  // rows of one group have equal constants
  double seconds = 0;
  std::vector<double> terms;
};
// All rows that ran one problem.
struct timed_problem {
  std::string kind;
  std::vector<timed_row> rows;
};

// By group. In a missing one all constants are 1.
using constants = std::map<std::string, std::vector<double>>;

// The chosen row's time over the fastest one's.
struct regret_of_all {
  double mean = 1;  // geometric
  double worst = 1;
};
[[nodiscard]] regret_of_all regret_with(const std::vector<timed_problem>& all, const constants& by);

// Effect  returns `start` with other constants for groups of `all`, which choose faster rows. A larger `caution` changes fewer of them;
//         cross_validated() finds the caution that chooses best in problems that its fit did not see, and returns `start` if none
//         chooses better beyond chance
[[nodiscard]] constants fit(const std::vector<timed_problem>& all, const constants& start, double caution);
[[nodiscard]] constants cross_validated(const std::vector<timed_problem>& all, const constants& start);

}  // namespace cornerturn::bench
