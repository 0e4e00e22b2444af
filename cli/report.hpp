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
  double roof = 0;                    // GB/s of the best copy
  double share = 0;                   // our GB/s over the roof; with several processes the median of their shares
  double share_q1 = 0, share_q3 = 0;  // quartiles over rounds, or over processes
  double worst_process = 0, worst_place = 0;          // 0 in files of one process
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
  std::vector<bench_run> before;  // an earlier run on each of these devices, or on none
  std::vector<ladder_run> ladders;
  std::vector<std::string> files;  // sources of the page; empty: measured here
  std::string measured;            // the text of the last result file of the bench
};

// Effect  adds a result file of `bench -o` or of `ladder -o`
// Errors  failure: the text is no such file; the sentence begins with `name`
void add_result(report& all, const std::string& text, const std::string& name);

// Effect  adds a result file of the bench as the earlier run of a device in all.benches
// Errors  failure: as add_result, or no run of that device is in all.benches
void add_earlier(report& all, const std::string& text, const std::string& name);

[[nodiscard]] std::string page_of(const report& all);

// A part of the page. A part without a body is left out.
struct part {
  std::string id;
  std::string title;
  std::string lead;
  std::string body;
  bool folded = false;
};

// The parts of the page, except the machine and the method.
[[nodiscard]] part peers_part(const std::vector<bench_run>& runs);
[[nodiscard]] part worst_part(const std::vector<bench_run>& runs);
[[nodiscard]] part changes_part(const report& all);
[[nodiscard]] part spread_part(const std::vector<bench_run>& runs);
[[nodiscard]] part sizes_part(const std::vector<bench_run>& runs);
[[nodiscard]] part cases_part(const std::vector<bench_run>& runs);
[[nodiscard]] part ladder_part(const std::vector<ladder_run>& runs);
[[nodiscard]] part prediction_part(const report& all);
[[nodiscard]] part banks_part(const report& all);

// A table. The first cell of a row is its heading; a row of one cell is a heading of the rows below it. Cells are HTML.
struct column {
  std::string title;
  bool text = false;  // left-aligned
};
using table_row = std::vector<std::string>;
[[nodiscard]] std::string table_html(const std::string& caption, const std::vector<column>& columns,
                                     const std::vector<table_row>& rows);

// Text functions of several parts.
[[nodiscard]] std::string escaped(const std::string& text);
[[nodiscard]] std::string name_html(const std::string& name);  // may be broken after '_' and before 'x'
[[nodiscard]] std::string set_title(const measured_case& one);
[[nodiscard]] std::string peer_title(const std::string& name);       // display name of a contender
[[nodiscard]] std::string rate_text(double gigabytes_per_second);    // 4152, 33.8, 1.07
[[nodiscard]] std::string percent_text(double share);                // 93.7 %
[[nodiscard]] std::string best_peer_text(const measured_case& one);  // "JAX 3409", or empty
// The id of the row of a case in the table of all cases.
[[nodiscard]] std::string row_id(const bench_run& run, const measured_case& one);
[[nodiscard]] double geometric_mean(const std::vector<double>& values);

struct group {
  std::string title;
  std::vector<const measured_case*> cases;
};
[[nodiscard]] std::vector<group> groups_of(const bench_run& run);

// Returns sm_90 if no run names an architecture of the table.
[[nodiscard]] const model::architecture& architecture_of(const report& all);

}  // namespace cornerturn::cli
