// `cornerturn report`: shows result files of the bench and the ladder as one self-contained HTML page.
// A measurement is also converted to a result file first, so that the page has one kind of input.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ladder/ladder.hpp"

namespace cornerturn::cli {

using fact = std::pair<std::string, std::string>;  // name, value

struct measured_case {
  std::string set;
  std::string shape;
  std::string kernel;
  std::int64_t element_bytes = 0;
  std::int64_t bytes = 0;  // one way
  int threads = 0;         // 0: a GPU
  bool hot = false;        // in cache
  bool right = true;
  double other_cpus = 0;  // CPUs used by other processes during the measurement
  double gigabytes_per_second = 0;
  double roof = 0;   // GB/s of the best copy
  double share = 0;  // our GB/s over the roof; with several processes the median of their shares
  double nanoseconds = 0;
  std::vector<std::pair<std::string, double>> peers;  // GB/s of the peers with correct results
};

struct bench_run {
  std::string device;  // name
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
  std::vector<std::string> files;  // sources of the page; empty: measured here
};

// Effect  adds a result file of `bench -o` or of `ladder -o`
// Errors  failure: the text is no such file; the sentence begins with `name`
void add_result(report& all, const std::string& text, const std::string& name);

[[nodiscard]] std::string page_of(const report& all);

// The sections of the page; empty without measurements for them.
[[nodiscard]] std::string ladder_section(const std::vector<ladder_run>& runs);
[[nodiscard]] std::string prediction_section(const report& all);
[[nodiscard]] std::string banks_section(const model::architecture& machine);
[[nodiscard]] std::string sizes_section(const std::vector<bench_run>& runs);
[[nodiscard]] std::string cases_section(const std::vector<bench_run>& runs);
[[nodiscard]] std::string peers_section(const std::vector<bench_run>& runs);

// Text functions of several sections.
[[nodiscard]] std::string escaped(const std::string& text);
[[nodiscard]] std::string section(const std::string& title, const std::string& lead, const std::string& body);
[[nodiscard]] std::string set_title(const measured_case& one);
[[nodiscard]] std::string peer_title(const std::string& name);     // display name of a contender
[[nodiscard]] std::string rate_text(double gigabytes_per_second);  // 4152, 33.8, 1.07
[[nodiscard]] double geometric_mean(const std::vector<double>& values);
// Returns sm_90 if no run names an architecture of the table.
[[nodiscard]] const model::architecture& architecture_of(const report& all);

}  // namespace cornerturn::cli
