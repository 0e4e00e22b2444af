// The worst cases, the change since an earlier run, and the spread of the measurements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::size_t listed = 10;

std::string case_link(const bench_run& run, const measured_case& one) {
  return fmt::format("<a href=\"#{}\">{}</a>", row_id(run, one), name_html(one.shape));
}

std::string bytes_cell(const measured_case& one) { return fmt::format("{}", one.element_bytes); }

const measured_case* same_case(const bench_run& run, const measured_case& as) {
  const auto found = std::ranges::find_if(run.cases, [&as](const measured_case& one) {
    return one.set == as.set && one.shape == as.shape && one.element_bytes == as.element_bytes &&
           one.threads == as.threads;
  });
  return found == run.cases.end() ? nullptr : &*found;
}

// A case of both runs.
struct change {
  const measured_case* now;
  const measured_case* before;
  [[nodiscard]] double ratio() const { return now->share / before->share; }
};

std::vector<change> changes_of(const bench_run& now, const bench_run& before) {
  std::vector<change> changes;
  for (const measured_case& one : now.cases) {
    const measured_case* const old = same_case(before, one);
    if (old != nullptr && !one.hot && one.share > 0 && old->share > 0) changes.push_back({&one, old});
  }
  std::ranges::stable_sort(changes, std::greater<>{},
                           [](const change& one) { return std::abs(std::log(one.ratio())); });
  return changes;
}

std::string changes_html(const bench_run& now, const bench_run& before) {
  constexpr double noise = 0.02;
  const std::vector<change> changes = changes_of(now, before);
  if (changes.empty()) return "<p>The two runs have no cold case in common.</p>\n";
  std::vector<double> ratios;
  for (const change& one : changes) ratios.push_back(one.ratio());
  const auto better = std::ranges::count_if(ratios, [](double ratio) { return ratio > 1 + noise; });
  const auto worse = std::ranges::count_if(ratios, [](double ratio) { return ratio < 1 - noise; });
  std::vector<table_row> rows;
  for (const change& one : changes) {
    if (rows.size() == listed) break;
    rows.push_back({case_link(now, *one.now), bytes_cell(*one.now), escaped(set_title(*one.now)),
                    percent_text(one.before->share), percent_text(one.now->share),
                    fmt::format("{:+.1f} %", 100 * (one.ratio() - 1))});
  }
  return fmt::format(
             "<p>{} to {}: the shares of {} changed by {:+.1f} % in the geometric mean. {} better by more than {:.0f} "
             "%, "
             "{} worse.</p>\n",
             before.date, now.date, count_text(changes.size(), "case"), 100 * (geometric_mean(ratios) - 1), better,
             100 * noise, worse) +
         table_html("The largest changes", {{"case"}, {"bytes"}, {"class", true}, {"before"}, {"now"}, {"change"}},
                    rows);
}

// The width between the quartiles, relative to the median.
double width_of(const measured_case& one) { return one.share > 0 ? (one.share_q3 - one.share_q1) / one.share : 0; }

table_row spread_row(const bench_run& run, const group& of, bool merged) {
  std::vector<double> widths;
  for (const measured_case* one : of.cases) widths.push_back(width_of(*one));
  const std::size_t widest = static_cast<std::size_t>(std::ranges::max_element(widths) - widths.begin());
  table_row cells = {escaped(of.title), fmt::format("{}", of.cases.size()), "", percent_text(widths[widest]),
                     case_link(run, *of.cases[widest])};
  std::ranges::sort(widths);
  cells[2] = percent_text(widths[widths.size() / 2]);
  if (merged) {
    const auto by_process = [](const measured_case* one) { return one->worst_process; };
    const auto by_place = [](const measured_case* one) { return one->worst_place; };
    cells.push_back(percent_text(by_process(*std::ranges::min_element(of.cases, {}, by_process))));
    cells.push_back(percent_text(by_place(*std::ranges::min_element(of.cases, {}, by_place))));
  }
  return cells;
}

}  // namespace

part worst_part(const std::vector<bench_run>& runs) {
  part made{"worst", "The ten worst cases", "The lowest shares of the copy, out of cache.", "", false};
  for (const bench_run& run : runs) {
    std::vector<const measured_case*> cases;
    for (const measured_case& one : run.cases) {
      if (!one.hot) cases.push_back(&one);
    }
    if (cases.empty()) continue;
    std::ranges::stable_sort(cases, {}, [](const measured_case* one) { return one->share; });
    if (cases.size() > listed) cases.resize(listed);
    std::vector<table_row> rows;
    for (const measured_case* one : cases) {
      rows.push_back({case_link(run, *one), bytes_cell(*one), escaped(set_title(*one)), name_html(one->kernel),
                      rate_text(one->gigabytes_per_second), percent_text(one->share), escaped(best_peer_text(*one))});
    }
    made.body += table_html("The lowest shares on " + run.device,
                            {{"case"},
                             {"bytes"},
                             {"class", true},
                             {"kernel", true},
                             {"GB/s"},
                             {"share"},
                             {"best other library, GB/s", true}},
                            rows);
  }
  return made;
}

part changes_part(const report& all) {
  part made{"changes", "Change since the last run", "", "", false};
  for (const bench_run& before : all.before) {
    for (const bench_run& now : all.benches) {
      if (now.device == before.device && now.arch == before.arch) made.body += changes_html(now, before);
    }
  }
  return made;
}

part spread_part(const std::vector<bench_run>& runs) {
  part made{"spread", "Spread",
            "The width between the quartiles of a share, relative to its median: half of all measurements are inside.",
            "", false};
  for (const bench_run& run : runs) {
    const bool merged = std::ranges::any_of(run.cases, [](const measured_case& one) { return one.worst_process > 0; });
    std::vector<column> columns = {{"class"}, {"cases"}, {"typical width"}, {"widest"}, {"widest case", true}};
    if (merged) columns.insert(columns.end(), {{"lowest process"}, {"lowest place"}});
    std::vector<table_row> rows;
    for (const group& one : groups_of(run)) rows.push_back(spread_row(run, one, merged));
    if (rows.empty()) continue;
    made.body +=
        table_html(merged ? "Spread over the processes on " + run.device : "Spread over the rounds on " + run.device,
                   columns, rows);
    if (merged) {
      made.body +=
          "<p class=\"quiet\">The lowest process and place: the lowest share of one process, and of one pair of "
          "buffers in it.</p>\n";
    }
  }
  return made;
}

}  // namespace cornerturn::cli
