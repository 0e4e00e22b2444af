// Prints the table on the terminal.
#include <fmt/format.h>

#include <map>

#include "bench/load.hpp"
#include "bench/report.hpp"

namespace cornerturn::bench {

namespace {

constexpr std::size_t kernel_width = 30;

}  // namespace

std::string fitted(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string predicted_text(const result& one) {
  return one.predicted_share() > 0 ? fmt::format("{:.3f}", one.predicted_share()) : "-";
}

std::string table_head(const std::string& set, bool with_peers, std::size_t name_width) {
  return fmt::format("\n{}\n{:<{}} {:>3} {:>7} {:<{}} {:>2} {:>9} {:>7} {:>7}  {:<21} {:>9}{}\n", set, "case",
                     name_width, "B", "MiB", "kernel", kernel_width, "t", "time", "GB/s", "roof", "share (q1-q3)",
                     "predicted", with_peers ? " best peer" : "");
}

std::string table_row(const result& one, bool with_peers, std::size_t name_width) {
  const quartiles share = one.share();
  const double seconds = one.ours().time().median;
  const std::string time = seconds < 1e-5   ? fmt::format("{:.1f} ns", seconds * 1e9)
                           : seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                                            : fmt::format("{:.2f} ms", seconds * 1e3);
  const double mib = static_cast<double>(one.what.bytes()) / 1048576.0;
  std::string line = fmt::format(
      "{:<{}} {:>3} {:>7} {:<{}} {:>2} {:>9} {:>7.2f} {:>7.2f}  {:<21} {:>9}", one.what.shape(), name_width,
      one.what.element_bytes, mib < 1 ? fmt::format("{:.3f}", mib) : fmt::format("{:.0f}", mib),
      fitted(one.ours().detail, kernel_width), kernel_width, one.threads, time, one.median_gb_s(one.ours()),
      one.roof_gb_s(), fmt::format("{:.3f} ({:.3f}-{:.3f})", share.median, share.q1, share.q3), predicted_text(one));
  if (with_peers) {
    const series* peer = one.best(role::peer);
    line += peer == nullptr ? " -"
                            : fmt::format(" {}{} {:.3f}", peer->name, peer->sliced ? " (sliced)" : "",
                                          one.median_gb_s(*peer) / one.roof_gb_s());
  }
  if (one.other_cpus > busy_limit) line += fmt::format("  busy {:.2f}", one.other_cpus);
  if (!one.ours().wrong.empty()) line += "  WRONG";
  return line + "\n";
}

std::string summary(const std::vector<result>& results) {
  std::string text = "\n";
  std::vector<std::pair<std::string, int>> order;
  std::map<std::pair<std::string, int>, std::vector<const result*>> groups;
  for (const result& one : results) {
    auto& group = groups[{one.what.set, one.threads}];
    if (group.empty()) order.emplace_back(one.what.set, one.threads);
    group.push_back(&one);
  }
  for (const auto& key : order) {
    std::vector<double> rates, shares, peers;
    for (const result* one : groups[key]) {
      rates.push_back(one->median_gb_s(one->ours()));
      shares.push_back(one->share().median);
      if (const series* peer = one->best(role::peer)) peers.push_back(one->median_gb_s(*peer) / one->roof_gb_s());
    }
    text += fmt::format("geometric mean  {:<14} {}t  {:>3} cases  {:>7.2f} GB/s  share {:.3f}", key.first, key.second,
                        shares.size(), geometric_mean(rates), geometric_mean(shares));
    if (!peers.empty()) text += fmt::format("  best peers {:.3f} ({} cases)", geometric_mean(peers), peers.size());
    text += "\n";
  }
  std::size_t busy = 0;
  for (const result& one : results) busy += one.other_cpus > busy_limit ? 1 : 0;
  if (busy > 0) {
    text += fmt::format("{} of {} rows are marked busy: other processes used that many CPUs meanwhile; measure again\n",
                        busy, results.size());
  }
  for (const result& one : results) {
    for (const series& entry : one.entries) {
      if (!entry.wrong.empty()) {
        text += fmt::format("WRONG  {}  {}t  {}: {}\n", one.what.name(), one.threads, entry.name, entry.wrong);
      }
    }
  }
  return text;
}

}  // namespace cornerturn::bench
