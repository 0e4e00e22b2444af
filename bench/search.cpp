// 1. random problems whose chosen kernel uses the number, one after the other, until the share of this number in the time is over. For
//    a limit, problems whose plans differ between its values
// 2. each problem runs with every value in turn: one pool of memory, plans that differ in the number only
// 3. the value whose geometric mean is least stays, if its gain is more than chance
#include "bench/search.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.hpp"
#include "bench/contender.hpp"
#include "bench/measure.hpp"
#include "bench/random_cases.hpp"
#include "bench/statistics.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t least_bytes = 4 << 20, most_bytes = 24 << 20;
constexpr std::size_t warm_rounds = 1, rounds_of_values = 5;
constexpr std::size_t fewest_problems = 8, most_problems = 96;  // of a number
// Random problems of a kind that are planned for it. Limits make a plan for each value and problem, of 0.1 ms.
constexpr int most_indices = 400, most_indices_of_limit = 100;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Later plans use it. load_machine() reads a file; this one has no name.
void load(const ordered_json& machine) {
  const base::descriptor file(::memfd_create("cornerturn-machine", MFD_CLOEXEC));
  if (!file) throw error(status::io_error, "a file in memory cannot be made: " + base::error_text(errno));
  base::write_all(file.get(), machine.dump(), 0);
  load_machine("/proc/self/fd/" + std::to_string(file.get()));
}

// False: the kernels cannot serve a number of it.
bool can_load(const ordered_json& machine) {
  try {
    load(machine);
    return true;
  } catch (const error& failure) {
    if (!is_refusal(failure)) throw;
    return false;
  }
}

ordered_json with(ordered_json machine, const char* number, std::int64_t value) {
  machine["numbers"][number] = value;
  return machine;
}

bool begins_with_one_of(std::string_view name, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return name.starts_with(one); });
}

// The kernel that runs a case, by prediction; "" if it has none.
std::string chosen_for(const bench_case& what, int threads) {
  const std::vector<plan_offer> offers = offers_for(what, threads, machine::cpu);
  return offers.empty() ? "" : offers.front().kernel;
}

// Plans the case with this value. Null: the kernels cannot serve the value, or the kernel refuses the case with it. kernel "": the chosen
// one.
std::unique_ptr<runner> with_value(const ordered_json& machine, const char* number, std::int64_t value,
                                   const setup& given) {
  if (!can_load(with(machine, number, value))) return nullptr;
  try {
    return ours().prepare(given);
  } catch (const error& failure) {
    if (!is_refusal(failure)) throw;
    return nullptr;
  }
}

class search {
 public:
  search(const std::string& machine, const search_options& options, const std::function<void()>& progress)
      : machine_(ordered_json::parse(machine)), options_(options), progress_(progress), pool_(false, cpu().l3_bytes) {}

  std::string run() {
    std::size_t left = searched_numbers().size();
    for (const searched_number& one : searched_numbers()) {
      const double share = (options_.seconds - seconds()) / static_cast<double>(left--);
      find(one, seconds() + share);
    }
    load(machine_);
    return machine_.dump();
  }

 private:
  [[nodiscard]] double seconds() const { return seconds_now() - begin_; }

  void find(const searched_number& one, double until) {
    std::vector<std::int64_t> values = one.values;
    const auto present = machine_.at("numbers").at(one.name).get<std::int64_t>();
    if (std::find(values.begin(), values.end(), present) == values.end()) values.push_back(present);
    std::vector<times_of_values> all;
    const bool is_limit = one.rows.empty();
    for (const bench_case& what : is_limit ? cases_that_differ(one, values, until) : cases_of(one, most_indices)) {
      if (all.size() == most_problems || seconds() >= until) break;
      const std::string kernel = is_limit ? "" : chosen_for(what, options_.threads);
      if (!is_limit && !begins_with_one_of(kernel, one.rows)) continue;
      all.push_back(times(what, one.name, values, kernel));
      load(machine_);
      progress_();
    }
    if (all.size() < fewest_problems) return;
    const auto at = static_cast<std::size_t>(std::find(values.begin(), values.end(), present) - values.begin());
    machine_ = with(std::move(machine_), one.name, values[fastest_value(all, at)]);
  }

  [[nodiscard]] std::vector<bench_case> cases_of(const searched_number& one, int indices) const {
    std::vector<bench_case> all;
    for (int index = 0; index < indices; ++index) {
      for (const std::string_view kind : one.kinds) {
        bench_case what = random_case(options_.seed + 2, std::string(kind), index, least_bytes, most_bytes);
        if (what.element_bytes >= one.elements.least && what.element_bytes <= one.elements.most)
          all.push_back(std::move(what));
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<bench_case> cases_that_differ(const searched_number& one,
                                                          const std::vector<std::int64_t>& values, double until) const {
    std::vector<bench_case> all = cases_of(one, most_indices_of_limit), differ;
    std::vector<std::set<std::string>> plans(all.size());
    for (const std::int64_t value : values) {
      if (!can_load(with(machine_, one.name, value))) continue;
      for (std::size_t k = 0; k < all.size() && seconds() < until; ++k) plans[k].insert(cut_of(all[k]));
    }
    load(machine_);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (plans[k].size() > 1) differ.push_back(all[k]);
    }
    return differ;
  }
  // How the library's plan cuts a case: its kernel and its blocking, without the predicted times.
  [[nodiscard]] std::string cut_of(const bench_case& what) const {
    const plan made(problem_of(what), {.device = device::cpu, .threads = options_.threads});
    const std::string text = made.explain();
    const std::size_t blocking = text.find("\nblocking ");
    return std::string(made.kernel()) + (blocking == std::string::npos ? "" : text.substr(blocking));
  }

  // Results are not checked here: search_test.cpp checks the kernels with every value.
  times_of_values times(const bench_case& what, const char* number, const std::vector<std::int64_t>& values,
                        const std::string& kernel) {
    const std::vector<buffer_pair> pairs = pool_.pairs(what.buffer_bytes());
    const setup given{what, full_view(what), options_.threads, pairs.front(), kernel};
    std::vector<std::unique_ptr<runner>> runners;
    for (const std::int64_t value : values) runners.push_back(with_value(machine_, number, value, given));
    std::vector<std::vector<double>> seconds(values.size());
    std::size_t next = 0;
    for (std::size_t round = 0; round < warm_rounds + rounds_of_values; ++round) {
      for (std::size_t turn = 0; turn < values.size(); ++turn) {
        const std::size_t k = (turn + round) % values.size();
        if (runners[k] == nullptr) continue;
        const buffer_pair& slot = pairs[next++ % pairs.size()];
        const double begin = seconds_now();
        runners[k]->run(slot.src + what.shift.src, slot.dst + what.shift.dst);
        if (round >= warm_rounds) seconds[k].push_back(seconds_now() - begin);
      }
    }
    times_of_values made(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!seconds[k].empty()) made[k] = quartiles_of(seconds[k]).q1;
    }
    return made;
  }

  ordered_json machine_;
  search_options options_;
  const std::function<void()>& progress_;
  memory pool_;
  double begin_ = seconds_now();
};

}  // namespace

const std::vector<searched_number>& searched_numbers() {
  static const std::vector<searched_number> list = {
      {"prefetch_bytes",
       {"cpu_stream_panels", "cpu_gather_packed", "cpu_gather", "cpu_end_to_end_packed"},
       {"matrix", "skinny", "rank", "batch", "odd"},
       {0, 128, 192, 256, 512},
       {.most = 16}},
      {"wide_ahead_bytes", {"cpu_gather"}, {"odd", "record"}, {0, 192, 512, 1024}, {.least = 17}},
      {"panel_bytes",
       {"cpu_stream_panels", "cpu_gather"},
       {"matrix", "skinny", "rank", "batch", "odd"},
       {2048, 4096, 8192, 16384}},
      {"piece_bytes",
       {"cpu_stream_panels", "cpu_gather"},
       {"matrix", "skinny", "rank", "batch", "odd"},
       {128, 256, 512, 1024},
       {.least = 3}},
      {"narrow_piece_bytes",
       {"cpu_stream_panels", "cpu_gather"},
       {"matrix", "skinny", "rank", "batch"},
       {128, 256, 512, 1024},
       {.most = 2}},
      {"carried_piece_bytes",
       {"cpu_stream_panels", "cpu_gather"},
       {"matrix", "skinny", "rank", "batch", "odd"},
       {128, 256, 512, 1024},
       {.least = 3}},
      {"staged_lines", {"cpu_stream_lines"}, {"matrix", "rank", "batch"}, {1, 2, 4}},
      {"carried_lines", {"cpu_stream_lines"}, {"matrix", "skinny", "rank", "batch"}, {1, 2, 4}},
      {"direct_cols", {"cpu_stream_lines"}, {"matrix", "skinny", "rank", "batch"}, {256, 512, 704, 1024, 1536}},
      {"panel_cols", {"cpu_stream_lines"}, {"matrix", "skinny", "rank", "batch"}, {256, 512, 1024}},
      {"lines_ahead_bytes",
       {"cpu_stream_lines", "cpu_end_to_end"},
       {"matrix", "skinny", "rank", "batch"},
       {0, 1024, 2048, 4096, 8192}},
      {"strip_bytes", {"cpu_stream_strips"}, {"matrix", "skinny", "rank", "batch"}, {1024, 2048, 4096, 8192}},
      {"strip_ahead_bytes", {"cpu_stream_strips"}, {"matrix", "skinny", "rank", "batch"}, {0, 256, 512, 1024}},
      {"end_to_end_panel_bytes",
       {"cpu_end_to_end_packed", "cpu_gather_packed"},
       {"skinny", "rank", "batch", "odd"},
       {1024, 2048, 4096, 8192}},
      {"short_wide_panel_bytes", {"cpu_short_wide"}, {"skinny", "batch"}, {4096, 8192, 16384, 32768}},
      {"run_ahead_bytes", {"cpu_copy_runs"}, {"copy", "rank", "record", "batch"}, {0, 1024, 2048, 4096, 8192}},
      {"tiled_outer_bytes", {"cpu_copy_runs"}, {"copy", "rank", "record"}, {0, 1024, 2048, 4096}},
      {"tiled_near_bytes", {"cpu_copy_runs"}, {"copy", "rank", "record"}, {0, 1024, 2048, 4096}},
      {"box_bytes", {"cpu_gather_box"}, {"rank", "odd", "batch"}, {8192, 16384, 32768}},
      {"page_prefetch_bytes",
       {"cpu_copy", "cpu_tall_skinny", "cpu_stream_strips", "cpu_end_to_end"},
       {"skinny", "copy", "batch", "rank"},
       {0, 1 << 20}},
      {"step_ahead_bytes", {"cpu_step_runs"}, {"view"}, {0, 512, 1024, 2048, 4096}},
      {"step_back_ahead_bytes", {"cpu_step_runs"}, {"view"}, {0, 4096, 8192, 16384}},
      {"step_gap_ahead_bytes", {"cpu_step"}, {"view"}, {0, 512, 1024, 2048}},
      {"swap_bytes", {"cpu_swap"}, {"in_place"}, {256, 512, 1024, 2048}},
      // Limits.
      {"tall_skinny_bytes", {}, {"skinny"}, {64, 128, 256}},
      {"short_wide_bytes", {}, {"skinny"}, {32, 64, 128}},
      {"long_run_bytes", {}, {"rank", "batch", "odd"}, {128, 256, 512, 1024}},
      {"end_to_end_bytes", {}, {"matrix", "skinny", "rank", "batch", "odd"}, {128, 256, 384, 640, 1024}},
      {"narrow_end_to_end_bytes", {}, {"matrix", "skinny", "rank", "batch"}, {64, 128, 256, 512}},
      {"long_rows_end_to_end_bytes", {}, {"matrix", "skinny", "batch"}, {128, 256, 384, 640, 1024}},
      {"end_to_end_row_bytes", {}, {"matrix", "skinny", "rank", "batch", "odd"}, {64, 128, 256, 512}},
  };
  return list;
}

std::size_t fastest_value(const std::vector<times_of_values>& problems, std::size_t present) {
  constexpr double caution = 2, least_gain = 0.01;  // standard errors; logarithm of a ratio of times
  std::size_t best = present;
  double best_mean = 0;
  const std::size_t values = problems.empty() ? 0 : problems.front().size();
  for (std::size_t value = 0; value < values; ++value) {
    std::vector<double> gains;
    for (const times_of_values& one : problems) {
      if (one[value] > 0 && one[present] > 0) gains.push_back(std::log(one[present] / one[value]));
    }
    // A value that some problems cannot run with is not compared.
    if (value == present || gains.size() < 2 || gains.size() < problems.size()) continue;
    double mean = 0, square = 0;
    for (const double gain : gains) mean += gain / static_cast<double>(gains.size());
    for (const double gain : gains) square += (gain - mean) * (gain - mean);
    const auto count = static_cast<double>(gains.size());
    const double chance = std::sqrt(square / (count - 1) / count);
    if (mean > best_mean && mean > std::max(caution * chance, least_gain)) best = value, best_mean = mean;
  }
  return best;
}

std::string search_numbers(const std::string& machine, const search_options& options,
                           const std::function<void()>& progress) {
  return search(machine, options, progress).run();
}

}  // namespace cornerturn::bench
