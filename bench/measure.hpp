// The measurement of one case: all contenders in turn, round by round, over a rotating pool, every result checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contender.hpp"
#include "bench/memory.hpp"
#include "bench/statistics.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::bench {

// The results of one contender in one case.
struct series {
  std::string name;
  role part = role::peer;
  std::string detail;                 // the kernel, for the library
  bool sliced = false;                // the bench split the case over threads for it
  std::int64_t calls_per_sample = 1;  // more than 1 for hot cases
  std::vector<double> seconds;        // per call, one per sample
  std::vector<double> cpu_seconds;    // per call, of the whole process; empty on a GPU
  std::vector<int> places;            // on a GPU, for each sample: a number of its buffer pair and placement
  std::string wrong;                  // "" when the first and the last result were right everywhere

  [[nodiscard]] quartiles time() const { return quartiles_of(seconds); }
  [[nodiscard]] quartiles gb_s(std::int64_t bytes_one_side) const;  // read + written
};

struct result {
  bench_case what;
  int threads = 1;
  std::size_t pairs = 0;             // buffer pairs in the rotation; 1 for hot cases
  std::vector<series> entries;       // the library, then the roof, then peers, then forced kernels (on request)
  double other_cpus = 0;             // CPUs that other processes used meanwhile: see load.hpp
  std::string device = "";           // "cuda:0"; "" is the CPU. threads is 0 on a GPU
  std::vector<plan_offer> offers{};  // the planner's predictions; a rectangle in place has none

  [[nodiscard]] const series& ours() const { return entries.front(); }
  [[nodiscard]] const series* best(role part) const;  // the fastest correct one by median; null: there is none
  [[nodiscard]] double median_gb_s(const series& entry) const { return entry.gb_s(what.bytes()).median; }
  [[nodiscard]] double roof_gb_s() const;
  [[nodiscard]] quartiles share() const;         // speed of the library over the best roof median
  [[nodiscard]] quartiles place_shares() const;  // lowest, median and highest of the medians of single places
  [[nodiscard]] const plan_offer* offer_of(std::string_view kernel) const;  // null: the planner predicts no time
  [[nodiscard]] double predicted_share() const;                             // of a copy, for ours; 0: no prediction
  [[nodiscard]] bool any_wrong() const;
  [[nodiscard]] const series& fastest_kernel() const;  // of the chosen kernel and the correct forced ones
  [[nodiscard]] double regret() const;  // time of the chosen kernel over fastest_kernel(); 0: its result is wrong
};

struct measure_options {
  int rounds = 9;
  double min_time = 0;  // least total seconds of the library's runs
  bool with_peers = false;
  std::string kernel;
  std::vector<contender> more{};  // besides the library, the roof and the peers
  bool regret = false;            // also times every kernel that can be forced
};

// A forced kernel is not timed again if its first run takes this many times the fastest run so far. It then has one sample.
inline constexpr double hopeless = 3;

// Effect  predicts the time of each kernel, without a measurement; `on` a GPU: the current device
[[nodiscard]] std::vector<plan_offer> offers_for(const bench_case& what, int threads, machine on);

// Effect  measures out of cache: GB/s against the roof
// Errors  all errors of making a plan and of plan::execute
[[nodiscard]] result measure_cold(const bench_case& what, int threads, memory& pool, const measure_options& options);

// Effect  measures in cache: one pair reused, one thread, loops of calls long enough for the clock
[[nodiscard]] result measure_hot(const bench_case& what, memory& pool, const measure_options& options);

}  // namespace cornerturn::bench
