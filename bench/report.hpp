// The output of the bench: a table for people, JSON for tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/gpu.hpp"
#include "bench/measure.hpp"

namespace cornerturn::bench {

struct run_facts {
  std::vector<std::string> argv;
  bool huge = false;
  std::int64_t rotation_bytes = 0;
  std::string git_revision;
  measure_options options;
  std::optional<gpu_facts> gpu{};
  int placements = 1;
  std::vector<gpu_peer> peers{};  // of a GPU, found or not
};

// The median share of the roof; 0 for a wrong result, so that it is listed among the worst.
[[nodiscard]] inline double share_of(const result& one) { return one.ours().wrong.empty() ? one.share().median : 0; }

// The text, cut to at most `width` characters.
[[nodiscard]] std::string fitted(const std::string& text, std::size_t width);

// The predicted share of a result, with three digits; "-" without a prediction.
[[nodiscard]] std::string predicted_text(const result& one);

[[nodiscard]] std::string table_head(const std::string& set, bool with_peers, std::size_t name_width);
[[nodiscard]] std::string table_row(const result& one, bool with_peers, std::size_t name_width);

// Effect  returns the geometric means of GB/s and of shares for each set and thread count, and lists all wrong results
[[nodiscard]] std::string summary(const std::vector<result>& results);

// The table and the summary for results of a GPU. The summary has a line for each bar: geometric mean, worst share and its
// case.
[[nodiscard]] std::string gpu_table_head(const std::string& set, bool with_peers, std::size_t name_width);
[[nodiscard]] std::string gpu_table_row(const result& one, bool with_peers, std::size_t name_width);
[[nodiscard]] std::string gpu_summary(const std::vector<result>& results);

// Effect  summarizes random cases by kind: geometric mean, median, worst, and the ten worst cases with their kernels. Then
//         peers_summary, and all wrong results
[[nodiscard]] std::string random_summary(const std::vector<result>& results);

// Effect  compares each peer with the library on the cases that the peer supports, and lists the ten cases in which the fastest
//         peer is furthest ahead. "" without peers. Wrong results do not count
[[nodiscard]] std::string peers_summary(const std::vector<result>& results);

// Effect  summarizes cases that were measured with all kernels: the time of the chosen kernel over the fastest one, and the ten
//         largest of these ratios
[[nodiscard]] std::string regret_summary(const std::vector<result>& results);

// Effect  returns a result file: Google Benchmark's `context` and `benchmarks`, and our own versioned block `cornerturn`
[[nodiscard]] std::string json_text(const std::vector<result>& results, const run_facts& facts);

}  // namespace cornerturn::bench
