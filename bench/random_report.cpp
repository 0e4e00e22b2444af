// The tables after a random set: shares by kind with the worst cases, and the regret.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "bench/load.hpp"
#include "bench/report.hpp"

namespace cornerturn::bench {

namespace {

constexpr std::size_t listed = 10;
constexpr std::size_t listed_kernel_width = 34;

using group = std::vector<const result*>;

// "1 thread", "2 threads" or "cuda:0": all cases of one table share it.
std::string place_of(const result& one) {
  if (!one.device.empty()) return one.device;
  return fmt::format("{} thread{}", one.threads, one.threads == 1 ? "" : "s");
}

std::string name_and_note(const bench_case& what) {
  return what.note.empty() ? what.name() : what.name() + "  (" + what.note + ")";
}

// Groups of results in order of appearance: by place, and within a place by set.
struct tables {
  std::vector<std::string> places;
  std::map<std::string, std::vector<std::string>> sets;
  std::map<std::pair<std::string, std::string>, group> members;

  explicit tables(const std::vector<result>& results) {
    for (const result& one : results) {
      const std::string place = place_of(one);
      if (sets.count(place) == 0) places.push_back(place);
      group& mine = members[{place, one.what.set}];
      if (mine.empty()) sets[place].push_back(one.what.set);
      mine.push_back(&one);
    }
  }
  [[nodiscard]] group all(const std::string& place) const {
    group whole;
    for (const std::string& set : sets.at(place)) {
      const group& mine = members.at({place, set});
      whole.insert(whole.end(), mine.begin(), mine.end());
    }
    return whole;
  }
};

std::vector<double> values(const group& cases, const std::function<double(const result&)>& value) {
  std::vector<double> list;
  for (const result* one : cases) list.push_back(value(*one));
  return list;
}

group lowest(group cases, const std::function<double(const result&)>& value) {
  std::stable_sort(cases.begin(), cases.end(),
                   [&value](const result* a, const result* b) { return value(*a) < value(*b); });
  if (cases.size() > listed) cases.resize(listed);
  return cases;
}

std::string share_line(const std::string& name, const group& cases) {
  const std::vector<double> shares = values(cases, share_of);
  return fmt::format("{:<18} {:>5} {:>9.3f} {:>7.3f} {:>7.3f}\n", name, cases.size(), geometric_mean(shares),
                     quartiles_of(shares).median, *std::min_element(shares.begin(), shares.end()));
}

std::string regret_line(const std::string& name, const group& cases) {
  const std::vector<double> regrets = values(cases, [](const result& one) { return one.regret(); });
  const auto alone =
      std::count_if(cases.begin(), cases.end(), [](const result* one) { return one->best(role::row) == nullptr; });
  return fmt::format("{:<18} {:>5} {:>9.4f} {:>7.3f} {:>8}\n", name, cases.size(), geometric_mean(regrets),
                     *std::max_element(regrets.begin(), regrets.end()), alone);
}

}  // namespace

std::string random_summary(const std::vector<result>& results) {
  std::string text;
  const tables by(results);
  for (const std::string& place : by.places) {
    text += fmt::format("\n{:<18} {:>5} {:>9} {:>7} {:>7}   share of the best copy, {}\n", "kind", "cases", "geo.mean",
                        "median", "worst", place);
    for (const std::string& set : by.sets.at(place)) text += share_line(set, by.members.at({place, set}));
    text += share_line("all", by.all(place));
    for (const std::string& set : by.sets.at(place)) {
      text += fmt::format("\nworst of {}, {}\n", set, place);
      for (const result* one : lowest(by.members.at({place, set}), share_of)) {
        text += fmt::format("  {:.3f}  {:<{}}  {}\n", share_of(*one), one->ours().detail, listed_kernel_width,
                            name_and_note(one->what));
      }
    }
  }
  std::size_t busy = 0;
  for (const result& one : results) busy += one.other_cpus > busy_limit ? 1 : 0;
  if (busy > 0) {
    text += fmt::format("{} of {} rows are marked busy: other processes used that many CPUs meanwhile; measure again\n",
                        busy, results.size());
  }
  for (const result& one : results) {
    for (const series& entry : one.entries) {
      if (entry.wrong.empty()) continue;
      text += fmt::format("WRONG  {}  {}  {}: {}\n", name_and_note(one.what), place_of(one), entry.name, entry.wrong);
    }
  }
  return text;
}

std::string regret_summary(const std::vector<result>& results) {
  std::string text;
  std::vector<result> cold;  // results that have a regret
  for (const result& one : results) {
    if (!one.what.hot && one.regret() > 0) cold.push_back(one);
  }
  const tables by(cold);
  for (const std::string& place : by.places) {
    text += fmt::format("\n{:<18} {:>5} {:>9} {:>7} {:>8}   regret: time of the chosen kernel over the fastest, {}\n",
                        "kind", "cases", "geo.mean", "worst", "no other", place);
    for (const std::string& set : by.sets.at(place)) text += regret_line(set, by.members.at({place, set}));
    const group all = by.all(place);
    text += regret_line("all", all) + fmt::format("\nlargest regrets, {}\n", place);
    for (const result* one : lowest(all, [](const result& each) { return -each.regret(); })) {
      const series& fastest = one->fastest_kernel();
      const std::string name = fastest.part == role::ours ? "is the fastest" : fastest.name;
      const double share = one->roof_gb_s() > 0 ? one->median_gb_s(fastest) / one->roof_gb_s() : 0;
      text +=
          fmt::format("  {:.3f}  {:.3f} {:<{}}  {:.3f} {:<{}}  {}\n", one->regret(), share_of(*one), one->ours().detail,
                      listed_kernel_width, share, name, listed_kernel_width, name_and_note(one->what));
    }
  }
  return text;
}

}  // namespace cornerturn::bench
