// 1. random problems of all kinds, one of each in turn, until the time is over; each row that accepts one runs it
// 2. four fifths of them are fitted: factors of the predicted times on a CPU, constants of the counts on a GPU (fit.hpp)
// 3. the last fifth tells the regret with the old constants and with the new ones; worse ones are not taken
// 4. the machine file is the library's, with the new constants
#include "bench/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/bench.hpp"
#include "bench/gpu.hpp"
#include "bench/measure.hpp"
#include "bench/random_cases.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/system.hpp"
#include "kernels/machine/groups.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr int rounds = 5;
constexpr int held_out_of = 5;  // one problem of so many is held out

struct measured {
  std::vector<timed_problem> fitted, held_out;
};

// A row under its own name if the file has it, else under the name of its group.
std::string group_in(const ordered_json& table, const std::string& row) {
  return table.contains(row) ? row : kernels::group_of(row);
}

// Empty without two rows that the planner predicts and that ran without a fault.
timed_problem timed(const result& one) {
  timed_problem made{one.what.set, {}, 0, false};
  for (const series& entry : one.entries) {
    if ((entry.part != role::ours && entry.part != role::row) || !entry.wrong.empty() || entry.seconds.empty())
      continue;
    const std::string row = entry.part == role::ours ? entry.detail : entry.name;
    const plan_offer* const offer = one.offer_of(row);
    if (offer == nullptr || offer->time <= 0) continue;
    const offer_counts& its = offer->counts;
    // The first quartile: other programs of the machine only make times longer.
    made.rows.push_back({row,
                         entry.time().q1,
                         offer->time,
                         {its.traffic, its.wasted_sectors, its.requests, its.wavefronts, its.instructions}});
  }
  if (made.rows.size() < 2) made.rows.clear();
  return made;
}

// Calls each(index) until the time is over.
class clock_of_minutes {
 public:
  explicit clock_of_minutes(double minutes) : most_(60 * minutes) {}
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  [[nodiscard]] bool is_over() const { return seconds() >= most_; }

 private:
  double most_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

using progress_of = std::function<void(std::size_t, double)>;

// On a CPU most time goes into the reference of the check and into slow rows, so small problems give more for a minute.
constexpr std::int64_t cpu_least = 1 * mebibyte, cpu_most = 24 * mebibyte;

measured measure_cpu(const calibrate_options& options, const progress_of& progress) {
  const clock_of_minutes clock(options.minutes);
  memory pool(false, cpu().l3_bytes);
  measure_options every_row;
  every_row.rounds = rounds;
  every_row.regret = true;
  measured made;
  for (int index = 0; !clock.is_over(); ++index) {
    for (const std::string& kind : random_kinds()) {
      if (clock.is_over()) break;
      const bench_case what = random_case(options.seed, kind, index, cpu_least, cpu_most);
      timed_problem one = timed(measure_cold(what, options.threads, pool, every_row));
      std::vector<timed_problem>& to = index % held_out_of == held_out_of - 1 ? made.held_out : made.fitted;
      if (!one.rows.empty()) to.push_back(std::move(one));
      progress(made.fitted.size() + made.held_out.size(), clock.seconds());
    }
  }
  return made;
}

std::vector<timed_problem> renamed(std::vector<timed_problem> all, const ordered_json& usual,
                                   const ordered_json& cached) {
  for (timed_problem& one : all) {
    for (timed_row& row : one.rows) row.group = group_in(one.is_cached ? cached : usual, row.group);
  }
  return all;
}

#ifdef CORNERTURN_BENCH_CUDA
// Large problems, and problems that stay in L2 in a graph. These begin at 16 KiB: constants fitted from 1 MiB on had a regret of 1.10 to
// 1.13 below 2 MiB, the constants before them 1.06 (H100, 2026-11-27).
constexpr std::int64_t gpu_least = 64 * mebibyte, gpu_most = 256 * mebibyte, gpu_cached_least = mebibyte / 64;

measured measure_gpu(const calibrate_options& options, const ordered_json& numbers, const progress_of& progress) {
  const clock_of_minutes clock(options.minutes);
  const double cached_bytes = numbers["cached_bytes"], cached_rate = numbers["cached_bytes_per_us"];
  const gpu_options every_row{rounds, 1, false, "", true};
  measured made;
  for (int index = 0; !clock.is_over(); ++index) {
    std::vector<bench_case> cases;
    for (const std::string& kind : random_kinds()) {
      if (kind == "in_place") continue;
      cases.push_back(random_case(options.seed, kind, index, gpu_least, gpu_most));
      cases.push_back(
          random_case(options.seed + 1, kind, index, gpu_cached_least, static_cast<std::int64_t>(cached_bytes)));
      cases.back().hot = true;
    }
    std::string failure;
    const auto take = [&](const result& of, int) {
      timed_problem one = timed(of);
      const series* const roof = of.best(role::roof);
      if (one.rows.empty() || roof == nullptr) return;
      one.is_cached = of.what.hot;
      one.copy_us = one.is_cached ? 2 * static_cast<double>(of.what.bytes()) / cached_rate : roof->time().median * 1e6;
      std::vector<timed_problem>& to = index % held_out_of == held_out_of - 1 ? made.held_out : made.fitted;
      to.push_back(std::move(one));
      progress(made.fitted.size() + made.held_out.size(), clock.seconds());
    };
    static_cast<void>(measure_on_gpu(options.gpu, cases, every_row, take, failure));
    if (!failure.empty()) throw error(status::device_error, "the GPU failed at " + failure);
  }
  return made;
}
#else
measured measure_gpu(const calibrate_options&, const ordered_json&, const progress_of&) {
  throw error(status::no_device, "this build has no cuda kernels");
}
#endif

constants constants_of(const ordered_json& table) {
  constants made;
  for (const auto& [group, numbers] : table.items()) made[group] = numbers.get<std::vector<double>>();
  return made;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

void put(const constants& all, ordered_json& table) {
  for (const auto& [group, numbers] : all) {
    ordered_json list = ordered_json::array();
    for (const double one : numbers) list.push_back(rounded(one));
    table[group] = std::move(list);
  }
}

// One member a line, lists within the line.
std::string text_of(const ordered_json& file) {
  std::string text = "{";
  for (const auto& [name, value] : file.items()) {
    text += (text.size() == 1 ? "\n  \"" : ",\n  \"") + name + "\": ";
    if (!value.is_object()) {
      text += value.dump();
      continue;
    }
    std::string inside = "{";
    for (const auto& [key, one] : value.items()) {
      inside += (inside.size() == 1 ? "\n    " : ",\n    ") + ordered_json(key).dump() + ": " + one.dump();
    }
    text += inside + "\n  }";
  }
  return text + "\n}\n";
}

// "NVIDIA H200" becomes "nvidia-h200".
std::string slug(const std::string& text) {
  std::string made;
  for (const char one : text) {
    const char lower = one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one;
    const bool is_plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (is_plain) made += lower;
    if (!is_plain && !made.empty() && made.back() != '-') made += '-';
  }
  while (!made.empty() && made.back() == '-') made.pop_back();
  return made;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char date[16] = "";
  std::strftime(date, sizeof date, "%Y-%m-%d", &local);
  return date;
}

void check_enough(const measured& all) {
  constexpr std::size_t fewest = 20;
  if (all.fitted.size() >= fewest && !all.held_out.empty()) return;
  throw std::invalid_argument("the time was enough for " + std::to_string(all.fitted.size() + all.held_out.size()) +
                              " problems, wanted more --minutes");
}

void fit_cpu(const measured& all, ordered_json& file, calibration& made) {
  factors found = cross_validated_factors(all.fitted);
  made.before = regret_with(all.held_out, factors{});
  made.after = regret_with(all.held_out, found);
  if (made.after.mean > made.before.mean) found.clear(), made.after = made.before;
  made.changed = found.size();
  // The predicted times have the old factors in them.
  ordered_json& table = file["factors"];
  if (table.is_null()) table = ordered_json::object();
  for (const auto& [row, factor] : found)
    table[row] = rounded(factor * (table.contains(row) ? table[row].get<double>() : 1));
  if (table.empty()) file.erase("factors");
}

void fit_gpu(const measured& all, ordered_json& file, calibration& made) {
  ordered_json &usual = file["rows"], &cached = file["cached_rows"];
  const std::vector<timed_problem> fitted = renamed(all.fitted, usual, cached),
                                   held_out = renamed(all.held_out, usual, cached);
  const constants old_usual = constants_of(usual), old_cached = constants_of(cached);
  const constants new_usual = fit_constants(fitted, old_usual, false),
                  new_cached = fit_constants(fitted, old_cached, true);
  made.before = regret_with(held_out, old_usual, old_cached);
  // Each of the two parts is taken if it chooses no worse rows.
  const bool takes_usual = regret_with(held_out, new_usual, old_cached).mean <= made.before.mean;
  const constants& best_usual = takes_usual ? new_usual : old_usual;
  const bool takes_cached =
      regret_with(held_out, best_usual, new_cached).mean <= regret_with(held_out, best_usual, old_cached).mean;
  const constants& best_cached = takes_cached ? new_cached : old_cached;
  made.after = regret_with(held_out, best_usual, best_cached);
  for (const auto& [group, numbers] : best_usual) made.changed += numbers != old_usual.at(group) ? 1 : 0;
  for (const auto& [group, numbers] : best_cached) made.changed += numbers != old_cached.at(group) ? 1 : 0;
  put(best_usual, usual);
  put(best_cached, cached);
}

}  // namespace

calibration calibrate(const calibrate_options& options, const std::function<void(std::size_t, double)>& progress) {
  const bool on_gpu = options.gpu >= 0;
  ordered_json file = ordered_json::parse(machine_text(on_gpu ? "" : "cpu"));
  const measured all = on_gpu ? measure_gpu(options, file["numbers"], progress) : measure_cpu(options, progress);
  check_enough(all);
  calibration made;
  made.fitted = all.fitted.size();
  made.held_out = all.held_out.size();
  on_gpu ? fit_gpu(all, file, made) : fit_cpu(all, file, made);
  const std::string part = on_gpu ? "" : cpu().part;
  made.name = slug(part.empty() ? file["what"].get<std::string>() : "cpu-" + part);
  file["name"] = made.name;
  file["date"] = today();
  made.text = text_of(file);
  return made;
}

}  // namespace cornerturn::bench
