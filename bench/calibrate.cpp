// 1. on a CPU, a third of the time: block sizes, limits and prefetch distances (search.hpp)
// 2. random problems of all kinds, one of each in turn, until the time is over; each row that accepts one runs it. Most stay in a cache
// 3. four fifths of them are fitted (fit.hpp): a factor of the predicted time on a CPU, constants of the counts on a GPU
// 4. the last fifth tells the regret with the old constants and with the new ones; worse ones are not taken
// 5. the machine file is the library's, with the new constants
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
#include "bench/search.hpp"
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
  [[nodiscard]] std::size_t size() const { return fitted.size() + held_out.size(); }
  void add(timed_problem one, int index) {
    (index % held_out_of == held_out_of - 1 ? held_out : fitted).push_back(std::move(one));
  }
};

// terms_of(offer, row) sets the terms of a row's predicted time; without any, it does not count. Empty without two rows that the planner
// predicts and that ran without a fault.
template <class TermsOf>
timed_problem timed(const result& one, const TermsOf& terms_of) {
  timed_problem made{one.what.set, {}};
  for (const series& entry : one.entries) {
    if ((entry.part != role::ours && entry.part != role::row) || !entry.wrong.empty() || entry.seconds.empty())
      continue;
    const std::string row = entry.part == role::ours ? entry.detail : entry.name;
    const plan_offer* const offer = one.offer_of(row);
    if (offer == nullptr || offer->time <= 0) continue;
    // The first quartile: other programs of the machine only make times longer.
    timed_row its{row, entry.time().q1, {}};
    terms_of(*offer, its);
    if (!its.terms.empty()) made.rows.push_back(std::move(its));
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

std::vector<std::string> kinds_to_measure() {
  std::vector<std::string> kinds = random_kinds();
  kinds.insert(kinds.end(), {"view", "record"});
  return kinds;
}

// Problems in memory, and problems that stay in a cache.
struct measured_both {
  measured usual, cached;
  [[nodiscard]] std::size_t size() const { return usual.size() + cached.size(); }
};

// On a CPU most time goes into the reference of the check and into slow rows, so small problems give more for a minute.
constexpr std::int64_t cpu_least = 1 * mebibyte, cpu_most = 24 * mebibyte;

// Five problems in cache take about as long as one in memory, with all kernels.
constexpr std::int64_t cpu_cached_least = 256;
constexpr int cached_of_one = 5;

measured_both measure_cpu(const calibrate_options& options, const clock_of_minutes& clock,
                          const progress_of& progress) {
  memory pool(false, cpu().l3_bytes);
  measure_options every_row;
  every_row.rounds = rounds;
  every_row.regret = true;
  const std::int64_t cached_most = std::clamp(cpu().l2_bytes, mebibyte / 4, mebibyte);
  const std::vector<std::string> kinds = kinds_to_measure();
  const auto predicted = [](const plan_offer& offer, timed_row& row) { row.terms = {offer.time}; };
  measured_both made;
  const auto take = [&](timed_problem one, measured& to, int index) {
    if (!one.rows.empty()) to.add(std::move(one), index);
    progress(made.size(), clock.seconds());
  };
  for (int index = 0; !clock.is_over(); ++index) {
    for (const std::string& kind : kinds) {
      if (clock.is_over()) break;
      const bench_case what = random_case(options.seed, kind, index, cpu_least, cpu_most);
      take(timed(measure_cold(what, options.threads, pool, every_row), predicted), made.usual, index);
      for (int k = cached_of_one * index; k < cached_of_one * (index + 1); ++k) {
        bench_case cached = random_case(options.seed + 1, kind, k, cpu_cached_least, cached_most);
        cached.hot = true;
        take(timed(measure_hot(cached, pool, every_row), predicted), made.cached, k);
      }
    }
  }
  return made;
}

#ifdef CORNERTURN_BENCH_CUDA
// A row under its own name if the file has it, else under the name of its group.
std::string group_in(const ordered_json& table, const std::string& row) {
  return table.contains(row) ? row : kernels::group_of(row);
}

// Large problems, and problems that stay in L2 in a graph. These begin at 16 KiB: constants fitted from 1 MiB on had a regret of 1.10 to
// 1.13 below 2 MiB, the constants before them 1.06 (H100, 2026-11-27).
constexpr std::int64_t gpu_least = 64 * mebibyte, gpu_most = 256 * mebibyte, gpu_cached_least = mebibyte / 64;

measured_both measure_gpu(const calibrate_options& options, const ordered_json& file, const progress_of& progress) {
  const clock_of_minutes clock(options.minutes);
  const ordered_json &numbers = file.at("numbers"), &usual = file.at("rows"), &cached = file.at("cached_rows");
  const double cached_bytes = numbers["cached_bytes"], cached_rate = numbers["cached_bytes_per_us"];
  const gpu_options every_row{rounds, 1, false, "", true};
  measured_both made;
  for (int index = 0; !clock.is_over(); ++index) {
    std::vector<bench_case> cases;
    for (const std::string& kind : kinds_to_measure()) {
      if (kind == "in_place") continue;
      cases.push_back(random_case(options.seed, kind, index, gpu_least, gpu_most));
      cases.push_back(
          random_case(options.seed + 1, kind, index, gpu_cached_least, static_cast<std::int64_t>(cached_bytes)));
      cases.back().hot = true;
    }
    std::string failure;
    const auto take = [&](const result& of, int) {
      const bool is_cached = of.what.hot;
      const double copy_us = is_cached ? 2 * static_cast<double>(of.what.bytes()) / cached_rate : 1;
      const auto terms_of = [&](const plan_offer& offer, timed_row& row) {
        const ordered_json& table = is_cached ? cached : usual;
        row.group = group_in(table, row.group);
        if (!table.contains(row.group)) return;
        if (is_cached) row.terms.push_back(1);  // of the latency
        const offer_counts& its = offer.counts;
        for (const double count : {its.traffic, its.wasted_sectors, its.requests, its.wavefronts, its.instructions})
          row.terms.push_back(count * copy_us);
      };
      timed_problem one = timed(of, terms_of);
      if (one.rows.empty()) return;
      (is_cached ? made.cached : made.usual).add(std::move(one), index);
      progress(made.size(), clock.seconds());
    };
    static_cast<void>(measure_on_gpu(options.gpu, cases, every_row, take, failure));
    if (!failure.empty()) throw error(status::device_error, "the GPU failed at " + failure);
  }
  return made;
}
#else
measured_both measure_gpu(const calibrate_options&, const ordered_json&, const progress_of&) {
  throw error(status::no_device, "this build has no cuda kernels");
}
#endif

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

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

// Returns constants that choose no worse than `start` in the held-out problems, and adds what they change to `made`.
constants fitted(const measured& all, const constants& start, calibration& made) {
  const auto joined = [&](regret_of_all& to, const regret_of_all& one) {
    const auto before = static_cast<double>(made.held_out), more = static_cast<double>(all.held_out.size());
    if (more > 0) to.mean = std::exp((before * std::log(to.mean) + more * std::log(one.mean)) / (before + more));
    to.worst = std::max(to.worst, one.worst);
  };
  constants found = cross_validated(all.fitted, start);
  const regret_of_all before = regret_with(all.held_out, start);
  regret_of_all after = regret_with(all.held_out, found);
  if (after.mean > before.mean) found = start, after = before;
  joined(made.before, before);
  joined(made.after, after);
  made.fitted += all.fitted.size();
  made.held_out += all.held_out.size();
  return found;
}

void check_enough(const calibration& made) {
  constexpr std::size_t fewest = 20;
  if (made.fitted >= fewest && made.held_out > 0) return;
  throw std::invalid_argument("the time was enough for " + std::to_string(made.fitted + made.held_out) +
                              " problems, wanted more --minutes");
}

void fit_cpu(const measured& all, ordered_json& file, const char* name, calibration& made) {
  // The predicted times have the old factors in them.
  ordered_json& table = file[name];
  if (table.is_null()) table = ordered_json::object();
  for (const auto& [row, factor] : fitted(all, {}, made)) {
    if (factor[0] == 1) continue;
    table[row] = rounded(factor[0] * (table.contains(row) ? table[row].get<double>() : 1));
    ++made.changed;
  }
  if (table.empty()) file.erase(name);
}

void fit_gpu(const measured& all, ordered_json& table, calibration& made) {
  constants start;
  for (const auto& [group, numbers] : table.items()) start[group] = numbers.get<std::vector<double>>();
  for (const auto& [group, numbers] : fitted(all, start, made)) {
    if (numbers == start.at(group)) continue;
    ordered_json list = ordered_json::array();
    for (const double one : numbers) list.push_back(rounded(one));
    table[group] = std::move(list);
    ++made.changed;
  }
}

}  // namespace

calibration calibrate(const calibrate_options& options, const std::function<void(std::size_t, double)>& progress) {
  const bool on_gpu = options.gpu >= 0;
  ordered_json file = ordered_json::parse(machine_text(on_gpu ? "" : "cpu"));
  calibration made;
  if (on_gpu) {
    const measured_both all = measure_gpu(options, file, progress);
    fit_gpu(all.usual, file["rows"], made);
    fit_gpu(all.cached, file["cached_rows"], made);
  } else {
    const clock_of_minutes clock(options.minutes);
    std::size_t tried = 0;
    const ordered_json old = file["numbers"];
    file = ordered_json::parse(search_numbers(
        file.dump(), {.threads = options.threads, .seed = options.seed, .seconds = 60 * options.minutes / 3},
        [&] { progress(++tried, clock.seconds()); }));
    for (const auto& [name, value] : file["numbers"].items()) made.numbers += value != old[name];
    const measured_both all =
        measure_cpu(options, clock, [&](std::size_t problems, double seconds) { progress(tried + problems, seconds); });
    // Without factors of its own, a problem in cache was predicted with the others.
    if (!file.contains("cached_factors") && file.contains("factors")) file["cached_factors"] = file["factors"];
    fit_cpu(all.usual, file, "factors", made);
    fit_cpu(all.cached, file, "cached_factors", made);
  }
  check_enough(made);
  const std::string part = on_gpu ? "" : cpu().part;
  made.name = slug(part.empty() ? file["what"].get<std::string>() : "cpu-" + part);
  file["name"] = made.name;
  file["date"] = today();
  made.text = text_of(file);
  return made;
}

}  // namespace cornerturn::bench
