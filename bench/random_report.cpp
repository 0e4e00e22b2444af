// The tables after a random set: shares by kind with the worst cases, the peers, and the regret.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
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

// Speed of a peer over ours; 0 if one of them has no correct result.
double lead_of(const result& one, const series* peer) {
  if (peer == nullptr || !one.ours().wrong.empty() || one.ours().seconds.empty()) return 0;
  return one.median_gb_s(*peer) / one.median_gb_s(one.ours());
}

const series* peer_named(const result& one, const std::string& name) {
  for (const series& entry : one.entries) {
    if (entry.part == role::peer && entry.name == name && entry.wrong.empty() && !entry.seconds.empty()) return &entry;
  }
  return nullptr;
}

std::vector<std::string> peer_names(const group& cases) {
  std::vector<std::string> names;
  for (const result* one : cases) {
    for (const series& entry : one->entries) {
      if (entry.part != role::peer) continue;
      if (std::find(names.begin(), names.end(), entry.name) == names.end()) names.push_back(entry.name);
    }
  }
  return names;
}

std::string peer_line(const std::string& name, const group& cases) {
  std::vector<double> theirs, ours;
  std::size_t ahead = 0;
  for (const result* one : cases) {
    const series* const peer = peer_named(*one, name);
    const double lead = lead_of(*one, peer);
    if (lead <= 0 || one->roof_gb_s() <= 0) continue;
    theirs.push_back(one->median_gb_s(*peer) / one->roof_gb_s());
    ours.push_back(share_of(*one));
    ahead += lead > 1 ? 1U : 0U;
  }
  return fmt::format("{:<18} {:>5} {:>9.3f} {:>7.3f} {:>7}\n", name, theirs.size(), geometric_mean(theirs),
                     geometric_mean(ours), ahead);
}

// Sizes of one side, in bytes, at which the tables of cases in cache are cut.
constexpr std::int64_t size_ends[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 8 << 20, 32 << 20};

std::string size_text(std::int64_t bytes) {
  return bytes < 1 << 20 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

std::string size_line(const std::string& name, const group& cases) {
  std::vector<double> times;  // ours over the fastest peer
  for (const result* one : cases) {
    const double lead = lead_of(*one, one->best(role::peer));
    if (lead > 0) times.push_back(lead);
  }
  std::string line = share_line(name, cases);
  if (times.empty()) return line;
  line.pop_back();
  return line +
         fmt::format(" {:>9.3f} {:>7.3f}\n", geometric_mean(times), *std::max_element(times.begin(), times.end()));
}

// Cases in cache by size: the share of the best copy, and the time over the fastest peer.
std::string hot_summary(const group& cases, const std::string& place) {
  std::string text = fmt::format(
      "\n{:<18} {:>5} {:>9} {:>7} {:>7}   in cache: share of the best copy; time over the "
      "fastest peer: geo.mean, worst; {}\n",
      "bytes up to", "cases", "geo.mean", "median", "worst", place);
  std::int64_t begin = 0;
  for (const std::int64_t end : size_ends) {
    group mine;
    std::copy_if(cases.begin(), cases.end(), std::back_inserter(mine),
                 [&](const result* one) { return one->what.bytes() > begin && one->what.bytes() <= end; });
    if (!mine.empty()) text += size_line(size_text(end), mine);
    begin = end;
  }
  return text + size_line("all", cases);
}

}  // namespace

std::string peers_summary(const std::vector<result>& results) {
  std::string text;
  const tables by(results);
  const auto best_lead = [](const result& one) { return lead_of(one, one.best(role::peer)); };
  for (const std::string& place : by.places) {
    const group all = by.all(place);
    const std::vector<std::string> names = peer_names(all);
    if (names.empty()) continue;
    text += fmt::format("\n{:<18} {:>5} {:>9} {:>7} {:>7}   share of the best copy, and ours in the peer's cases, {}\n",
                        "peer", "cases", "geo.mean", "ours", "ahead", place);
    for (const std::string& name : names) text += peer_line(name, all);
    group compared, ahead;
    std::copy_if(all.begin(), all.end(), std::back_inserter(compared),
                 [&](const result* one) { return best_lead(*one) > 0; });
    std::copy_if(compared.begin(), compared.end(), std::back_inserter(ahead),
                 [&](const result* one) { return best_lead(*one) > 1; });
    text += fmt::format("\na peer is ahead in {} of {} cases, {}\n", ahead.size(), compared.size(), place);
    for (const result* one : lowest(ahead, [&](const result& each) { return -best_lead(each); })) {
      const series& peer = *one->best(role::peer);
      const double share = one->roof_gb_s() > 0 ? one->median_gb_s(peer) / one->roof_gb_s() : 0;
      text += fmt::format("  {:.3f}  {:.3f} {:<14}  {:.3f} {:<{}}  {}\n", best_lead(*one), share, peer.name,
                          share_of(*one), one->ours().detail, listed_kernel_width, name_and_note(one->what));
    }
  }
  return text;
}

std::string random_summary(const std::vector<result>& results) {
  std::string text;
  const tables by(results);
  for (const std::string& place : by.places) {
    text += fmt::format("\n{:<18} {:>5} {:>9} {:>7} {:>7}   share of the best copy, {}\n", "kind", "cases", "geo.mean",
                        "median", "worst", place);
    for (const std::string& set : by.sets.at(place)) text += share_line(set, by.members.at({place, set}));
    const group all = by.all(place);
    text += share_line("all", all);
    group hot;
    std::copy_if(all.begin(), all.end(), std::back_inserter(hot), [](const result* one) { return one->what.hot; });
    if (!hot.empty()) text += hot_summary(hot, place);
    for (const std::string& set : by.sets.at(place)) {
      text += fmt::format("\nworst of {}, {}\n", set, place);
      for (const result* one : lowest(by.members.at({place, set}), share_of)) {
        text += fmt::format("  {:.3f}  {:<{}}  {}\n", share_of(*one), one->ours().detail, listed_kernel_width,
                            name_and_note(one->what));
      }
    }
  }
  text += peers_summary(results);
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
  std::vector<result> right;
  for (const result& one : results) {
    if (one.regret() > 0) right.push_back(one);
  }
  const tables by(right);
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
