// The table of a GPU's results on the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/report.hpp"

namespace cornerturn::bench {

namespace {

constexpr std::size_t gpu_kernel_width = 32;

const result* worst_of(const std::vector<const result*>& group, double (*value)(const result&)) {
  return *std::min_element(group.begin(), group.end(),
                           [value](const result* a, const result* b) { return value(*a) < value(*b); });
}

double lowest_place(const result& one) { return one.ours().wrong.empty() ? one.place_shares().q1 : 0; }

}  // namespace

std::string gpu_table_head(const std::string& set, bool with_peers, std::size_t name_width) {
  return fmt::format("\n{}\n{:<{}} {:>3} {:>7} {:<{}} {:>9} {:>6} {:>6}  {:<21} {:>9} {:<11} {:<15}{}\n", set, "case",
                     name_width, "B", "MiB", "kernel", gpu_kernel_width, "time us", "GB/s", "roof", "share (q1-q3)",
                     "predicted", "places", "best copy", with_peers ? " best peer" : "");
}

std::string gpu_table_row(const result& one, bool with_peers, std::size_t name_width) {
  const double mib = static_cast<double>(one.what.bytes()) / 1048576.0;
  std::string line = fmt::format("{:<{}} {:>3} {:>7.{}f} {:<{}} ", one.what.shape(), name_width, one.what.element_bytes,
                                 mib, mib < 10 ? 2 : 0, fitted(one.ours().detail, gpu_kernel_width), gpu_kernel_width);
  if (one.ours().seconds.empty()) return line + "WRONG  " + one.ours().wrong + "\n";
  const quartiles share = one.share(), places = one.place_shares();
  const series* roof = one.best(role::roof);
  line += fmt::format("{:>9.2f} {:>6.0f} {:>6.0f}  {:<21} {:>9} {:.3f}-{:.3f} {:<15}", one.ours().time().median * 1e6,
                      one.median_gb_s(one.ours()), one.roof_gb_s(),
                      fmt::format("{:.3f} ({:.3f}-{:.3f})", share.median, share.q1, share.q3), predicted_text(one),
                      places.q1, places.q3, roof == nullptr ? "-" : roof->name);
  if (with_peers) {
    const series* peer = one.best(role::peer);
    line += peer == nullptr ? " -" : fmt::format(" {} {:.3f}", peer->name, one.median_gb_s(*peer) / one.roof_gb_s());
  }
  if (!one.ours().wrong.empty()) line += "  WRONG";
  return line + "\n";
}

std::string gpu_summary(const std::vector<result>& results) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const result*>> groups;
  for (const result& one : results) {
    auto& group = groups[one.what.set];
    if (group.empty()) order.push_back(one.what.set);
    group.push_back(&one);
  }
  std::string text = fmt::format("\n{:<13} {:>5} {:>8} {:>6}  {:<44} {:>6}  {:<44} {}\n", "set", "cases", "geo.mean",
                                 "worst", "worst case", "place", "worst place", "peers");
  for (const std::string& set : order) {
    const std::vector<const result*>& group = groups[set];
    std::vector<double> shares, peers;
    std::size_t faster = 0;
    for (const result* one : group) {
      shares.push_back(share_of(*one));
      const series* peer = one->best(role::peer);
      if (peer == nullptr) continue;
      peers.push_back(one->median_gb_s(*peer) / one->roof_gb_s());
      faster += peers.back() < shares.back() ? 1U : 0U;
    }
    const result *worst = worst_of(group, share_of), *place = worst_of(group, lowest_place);
    text += fmt::format(
        "{:<13} {:>5} {:>8.3f} {:>6.3f}  {:<44} {:>6.3f}  {:<44} {}\n", set, group.size(), geometric_mean(shares),
        share_of(*worst), worst->what.name(), lowest_place(*place), place->what.name(),
        peers.empty()
            ? "-"
            : fmt::format("{:.3f}, slower than ours in {} of {}", geometric_mean(peers), faster, peers.size()));
  }
  for (const result& one : results) {
    for (const series& entry : one.entries) {
      if (!entry.wrong.empty()) text += fmt::format("WRONG  {}  {}: {}\n", one.what.name(), entry.name, entry.wrong);
    }
  }
  return text;
}

}  // namespace cornerturn::bench
