// `cornerturn report`: result files of the bench and the ladder as one HTML page that needs nothing else.
// What is measured here goes through the same files as what is given, so that the page shows files and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ladder/ladder.hpp"

namespace cornerturn::cli {

using fact = std::pair<std::string, std::string>;  // what it is, how it is

struct measured_case {
  std::string set;
  std::string shape;
  std::string kernel;
  std::int64_t element_bytes = 0;
  std::int64_t bytes = 0;  // one way
  int threads = 0;         // 0: a GPU
  bool hot = false;        // in cache
  bool right = true;
  double other_cpus = 0;  // that other processes used meanwhile
  double gigabytes_per_second = 0;
  double roof = 0;   // GB/s of the best copy
  double share = 0;  // ours of the best copy's; of several processes, the median of theirs
  double nanoseconds = 0;
  std::vector<std::pair<std::string, double>> peers;  // GB/s of those that were right
};

struct bench_run {
  std::string device;  // its name
  std::string arch;    // sm_90; empty: a CPU
  std::string date;
  std::string version;
  std::vector<fact> machine;
  std::vector<fact> method;
  std::vector<measured_case> cases;
};

struct ladder_run {
  ladder::timed_on where;
  std::vector<ladder::timing> times;
};

struct report {
  std::vector<bench_run> benches;
  std::vector<ladder_run> ladders;
  std::vector<std::string> files;  // that it was made from; empty: measured here
};

// Effect  adds the result file of `bench --json` or of `ladder --json`
// Errors  failure: it is neither; the sentence begins with `name`
void add_result(report& all, const std::string& text, const std::string& name);

[[nodiscard]] std::string page_of(const report& all);

// The parts of the page; empty where nothing was measured that belongs there.
[[nodiscard]] std::string ladder_section(const std::vector<ladder_run>& runs);
[[nodiscard]] std::string prediction_section(const report& all);
[[nodiscard]] std::string banks_section(const model::architecture& machine);
[[nodiscard]] std::string sizes_section(const std::vector<bench_run>& runs);
[[nodiscard]] std::string cases_section(const std::vector<bench_run>& runs);
[[nodiscard]] std::string peers_section(const std::vector<bench_run>& runs);

// Words that they share.
[[nodiscard]] std::string escaped(const std::string& text);
[[nodiscard]] std::string section(const std::string& title, const std::string& lead, const std::string& body);
[[nodiscard]] std::string set_title(const measured_case& one);
[[nodiscard]] std::string peer_title(const std::string& name);     // of a contender
[[nodiscard]] std::string rate_text(double gigabytes_per_second);  // 4152, 33.8, 1.07
[[nodiscard]] double geometric_mean(const std::vector<double>& values);
[[nodiscard]] const model::architecture& architecture_of(const report& all);  // sm_90 where nothing names another

}  // namespace cornerturn::cli
