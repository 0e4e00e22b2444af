// The request to the bench, as `cornerturn bench` parses it, and the cases that it selects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/random_cases.hpp"

namespace cornerturn::bench {

struct ad_hoc_case {
  std::vector<std::int64_t> extents;
  std::vector<int> axes;  // a permutation
};

struct arguments {
  std::vector<std::string> sets;
  std::string pattern;
  std::vector<ad_hoc_case> shapes;
  std::vector<std::int64_t> element_bytes{4};  // of the shapes
  std::vector<int> threads;                    // CPU; empty: 1 and all
  int gpu = -1;                                // its number; -1: the CPU
  bool peers = false, huge = false, list = false, bars = false, regret = false;
  bool hot = false;   // every shape and random case in cache, whatever its size
  bool dist = false;  // transposes between the GPUs of this process, instead of cases
  std::vector<std::int64_t> dist_bytes{4, 8, 16, 2, 1, 3, 6, 12, 24};  // of their elements
  std::vector<std::int64_t> slabs{std::int64_t{2} << 30};              // of them: bytes on each GPU
  std::string kernel;
  int rounds = 0;  // 0: the default of the device
  int placements = 1;
  double min_time = 0;
  random_options random;  // options of the set `random`
  std::string size;       // the user's spelling of the range in `random`

  [[nodiscard]] bool is_random() const { return sets == std::vector<std::string>{"random"}; }
  [[nodiscard]] machine on() const { return gpu < 0 ? machine::cpu : machine::gpu; }
};

// Effect  returns the ad-hoc shapes, then the cases of the table that are in a chosen set and match the pattern. For the set
//         `random`: the random cases that match the pattern
// Errors  std::invalid_argument: a shape, a set or the pattern is invalid; an option that the set `random` does not accept,
//         or an option that only this set accepts
[[nodiscard]] std::vector<bench_case> chosen_cases(const arguments& given);

// Effect  returns the cases as JSON for other programs: names, extents, axes, strides
[[nodiscard]] std::string case_list_json(const std::vector<bench_case>& cases);

}  // namespace cornerturn::bench
