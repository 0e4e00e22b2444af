// The options of `cornerturn bench`, and the cases that they select.
#pragma once

#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/random_cases.hpp"

namespace CLI {
class App;
}

namespace cornerturn::bench {

struct arguments {
  std::vector<std::string> sets;
  std::string pattern;
  std::vector<std::string> shapes;
  std::vector<std::int64_t> element_bytes{4};
  std::vector<int> axes;
  std::vector<int> threads;
  std::string peers = "off", device = "auto", json, kernel;
  int rounds = 0;  // 0: the default of the device
  int placements = 1;
  double min_time = 0;
  bool huge = false, list = false, bars = false, regret = false;
  random_options random;  // options of the set `random`
  std::string size;

  [[nodiscard]] bool is_random() const { return sets == std::vector<std::string>{"random"}; }
};

// Effect  declares the options of the command; `given` must outlive the parsing
void declare(CLI::App& app, arguments& given);

// Effect  returns -1 for auto and cpu, N for cuda:N, and 0 for cuda
// Errors  std::invalid_argument: `device` is none of these
[[nodiscard]] int gpu_ordinal(const std::string& device);

// Effect  returns the ad-hoc shapes, then the cases of the table that are in a chosen set and match the pattern. For the set
//         `random`: the random cases that match the pattern
// Errors  std::invalid_argument: a shape, a list of axes or a set is invalid; an option that the set `random` does not
//         accept, or an option that only this set accepts
[[nodiscard]] std::vector<bench_case> chosen_cases(const arguments& given, machine on);

// Effect  returns the cases as JSON for other programs: names, extents, axes, strides
[[nodiscard]] std::string case_list_json(const std::vector<bench_case>& cases);

}  // namespace cornerturn::bench
