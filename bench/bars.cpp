// Checks results against the bars of bars.inc. A wrong result never passes a bar.
#include "bench/bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cornerturn::bench {

namespace {

bool right(const result& one) { return one.ours().wrong.empty(); }

std::set<int> thread_counts(const std::vector<result>& results) {
  std::set<int> counts;
  for (const result& one : results) {
    if (!one.what.hot) counts.insert(one.threads);
  }
  if (counts.empty()) counts.insert(1);
  return counts;
}

std::string list_of(const std::vector<std::string>& misses) {
  std::string text;
  for (const std::string& miss : misses) text += "\n      " + miss;
  return text;
}

bar_line check_share(const std::vector<result>& results, int threads, const char* set, std::int64_t bytes, double bar) {
  double worst = 1e9;
  std::size_t seen = 0;
  std::vector<std::string> misses;
  for (const result& one : results) {
    if (one.what.set != set || one.threads != threads || (bytes != 0 && one.what.element_bytes != bytes)) continue;
    const double share = right(one) ? one.share().median : 0;
    ++seen;
    worst = std::min(worst, share);
    if (share < bar) misses.push_back(fmt::format("{:.3f}  {}  [{}]", share, one.what.name(), one.ours().detail));
  }
  const std::string bar_text =
      fmt::format("{}{} {}t: every share >= {:.2f}", set, bytes != 0 ? fmt::format(" b{}", bytes) : "", threads, bar);
  if (seen == 0) return {bar_text, verdict::not_measured};
  return {fmt::format("{}: worst {:.3f}, {} of {} reach it{}", bar_text, worst, seen - misses.size(), seen,
                      list_of(misses)),
          misses.empty() ? verdict::pass : verdict::falls_short};
}

bar_line check_geomean(const std::vector<result>& results, int threads, const char* set, double bar) {
  std::vector<double> shares;
  for (const result& one : results) {
    if (one.what.set == set && one.threads == threads) shares.push_back(right(one) ? one.share().median : 0);
  }
  const std::string where = threads > 0 ? fmt::format(" {}t", threads) : "";
  const std::string bar_text = fmt::format("{}{}: geometric mean >= {:.2f}", set, where, bar);
  if (shares.empty()) return {bar_text, verdict::not_measured};
  const double mean = geometric_mean(shares);
  return {fmt::format("{}: {:.3f} of {} cases", bar_text, mean, shares.size()),
          mean >= bar ? verdict::pass : verdict::falls_short};
}

// On a GPU: compares the value of each case with the bar. at_least: the bar is the least value, else the greatest.
template <class Value>
bar_line check_each(const std::vector<result>& results, const std::string& set, const char* what, double bar,
                    bool at_least, const Value& value) {
  const std::string bar_text = fmt::format("{}: every {} {} {:.2f}", set, what, at_least ? ">=" : "<=", bar);
  double worst = at_least ? 1e9 : 0;
  std::size_t seen = 0;
  std::vector<std::string> misses;
  for (const result& one : results) {
    if (one.what.set != set) continue;
    const double found = right(one) && one.share().median > 0 ? value(one) : at_least ? 0 : 1e9;
    ++seen;
    worst = at_least ? std::min(worst, found) : std::max(worst, found);
    if (at_least ? found >= bar : found <= bar) continue;
    misses.push_back(fmt::format("{:.3f}  {}  [{}]", found, one.what.name(), one.ours().detail));
  }
  if (seen == 0) return {bar_text, verdict::not_measured};
  return {fmt::format("{}: worst {:.3f}, {} of {} reach it{}", bar_text, worst, seen - misses.size(), seen,
                      list_of(misses)),
          misses.empty() ? verdict::pass : verdict::falls_short};
}

bar_line check_nanoseconds(const std::vector<result>& results, const char* name, double bar) {
  const std::string bar_text = fmt::format("{}: <= {:.0f} ns per call", name, bar);
  for (const result& one : results) {
    if (one.what.name() != name) continue;
    const double found = one.ours().time().median * 1e9;
    return {fmt::format("{}: {:.1f} ns [{}]", bar_text, found, one.ours().detail),
            found <= bar && right(one) ? verdict::pass : verdict::falls_short};
  }
  return {bar_text, verdict::not_measured};
}

bar_line check_scaling(const std::vector<result>& results, const char* set, double bar) {
  std::vector<double> ratios, roof_ratios;
  double worst = 1e9;
  for (const result& one : results) {
    if (one.what.set != set || one.threads != 1) continue;
    for (const result& two : results) {
      if (two.threads != 2 || two.what.name() != one.what.name()) continue;
      ratios.push_back(two.median_gb_s(two.ours()) / one.median_gb_s(one.ours()));
      roof_ratios.push_back(two.roof_gb_s() / one.roof_gb_s());
      worst = std::min(worst, ratios.back());
    }
  }
  const std::string bar_text = fmt::format("{}: 2 threads over 1, geometric mean >= {:.1f}", set, bar);
  if (ratios.empty()) return {bar_text, verdict::not_measured};
  const double mean = geometric_mean(ratios);
  return {fmt::format("{}: {:.2f}, worst {:.2f}; the roof itself {:.2f}", bar_text, mean, worst,
                      geometric_mean(roof_ratios)),
          mean >= bar ? verdict::pass : verdict::falls_short};
}

bar_line check_peers(const std::vector<result>& results) {
  std::size_t seen = 0;
  std::vector<std::string> misses;
  for (const result& one : results) {
    const series* peer = one.best(role::peer);
    if (peer == nullptr) continue;
    ++seen;
    const double ours = one.ours().time().median, theirs = peer->time().median;
    if (right(one) && ours < theirs) continue;
    const std::string where = one.device.empty() ? fmt::format(" {}t", one.threads) : "";
    misses.push_back(fmt::format("{}{}: {} takes {:.2f} of our time [{}]", one.what.name(), where, peer->name,
                                 theirs / ours, one.ours().detail));
  }
  const std::string bar_text = "peers: faster than each of them in every case";
  if (seen == 0) return {bar_text, verdict::not_measured};
  return {fmt::format("{}: in {} of {}{}", bar_text, seen - misses.size(), seen, list_of(misses)),
          misses.empty() ? verdict::pass : verdict::falls_short};
}

std::vector<bar_line> check_gpu_bars(const std::vector<result>& results) {
  std::vector<bar_line> lines;
  const auto share = [](const result& one) { return one.share().median; };
  const auto place = [](const result& one) { return one.place_shares().q1; };
  const auto over_copy = [](const result& one) { return 1 / one.share().median; };
#define GEOMEAN(set, bar) lines.push_back(check_geomean(results, 0, #set, bar));
#define SHARE(set, bar) lines.push_back(check_each(results, #set, "share", bar, true, share));
#define PLACE(set, bar) lines.push_back(check_each(results, #set, "place", bar, true, place));
#define OVER_COPY(set, bar) lines.push_back(check_each(results, #set, "time over a copy's", bar, false, over_copy));
#include "bench/gpu_bars.inc"
#undef GEOMEAN
#undef SHARE
#undef PLACE
#undef OVER_COPY
  lines.push_back(check_peers(results));
  return lines;
}

}  // namespace

std::vector<bar_line> check_bars(const std::vector<result>& results, machine on) {
  if (on == machine::gpu) return check_gpu_bars(results);
  std::vector<bar_line> lines;
  const auto at_each = [&](const auto& check) {
    for (const int threads : thread_counts(results)) lines.push_back(check(threads));
  };
#define SHARE(set, bytes, bar) at_each([&](int threads) { return check_share(results, threads, #set, bytes, bar); });
#define GEOMEAN(set, bar) at_each([&](int threads) { return check_geomean(results, threads, #set, bar); });
#define NANOSECONDS(name, bar) lines.push_back(check_nanoseconds(results, name, bar));
#define SCALING(set, bar) lines.push_back(check_scaling(results, #set, bar));
#include "bench/bars.inc"
#undef SHARE
#undef GEOMEAN
#undef NANOSECONDS
#undef SCALING
  lines.push_back(check_peers(results));
  return lines;
}

}  // namespace cornerturn::bench
