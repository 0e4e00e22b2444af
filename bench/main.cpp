// `cornerturn bench`: options, the choice of cases, the loop over them, and the exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <regex>

#include "bench/arguments.hpp"
#include "bench/bars.hpp"
#include "bench/bench.hpp"
#include "bench/copies.hpp"
#include "bench/gpu.hpp"
#include "bench/load.hpp"
#include "bench/report.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {

namespace {

constexpr int exit_failure = 1, exit_usage = 2, exit_no_device = 3;

std::vector<result> measure_all(const std::vector<bench_case>& cases, const arguments& given, memory& pool,
                                const measure_options& options) {
  std::size_t name_width = 12;
  std::vector<std::int64_t> sizes;
  for (const bench_case& one : cases) {
    name_width = std::max(name_width, one.shape().size());
    if (!one.hot) sizes.push_back(one.buffer_bytes());
  }
  pool.reserve(sizes);
  std::vector<result> results;
  std::string set;
  for (const bench_case& one : cases) {
    if (one.set != set) {
      fmt::print("{}", table_head(one.set, options.with_peers, name_width));
      set = one.set;
    }
    for (const int threads : one.hot ? std::vector<int>{1} : given.threads) {
      const load_watch watch;
      results.push_back(one.hot ? measure_hot(one, pool, options) : measure_cold(one, threads, pool, options));
      results.back().other_cpus = watch.other_cpus();
      fmt::print("{}", table_row(results.back(), options.with_peers, name_width));
      std::fflush(stdout);
    }
  }
  return results;
}

int report_bars(const std::vector<result>& results, machine on) {
  bool missed = false;
  fmt::print("\nbars\n");
  for (const bar_line& line : check_bars(results, on)) {
    const char* word = line.outcome == verdict::pass          ? "pass        "
                       : line.outcome == verdict::falls_short ? "FALLS SHORT "
                                                              : "not measured";
    missed |= line.outcome == verdict::falls_short;
    fmt::print("  {}  {}\n", word, line.text);
  }
  return missed ? exit_failure : 0;
}

// Few rounds, because there are many cases. A large case on a GPU has 3 buffer pairs; a multiple of 3 lets each contender run
// equally often on each pair.
constexpr int rounds_of_random = 6;

int rounds_of(const arguments& given, int usual) {
  if (given.rounds > 0) return given.rounds;
  return given.is_random() ? rounds_of_random : usual;
}

// Prints the tables after the last case.
void print_summary(const std::vector<result>& results, const arguments& given, machine on) {
  if (given.is_random()) {
    fmt::print("{}", random_summary(results));
  } else {
    fmt::print("{}", on == machine::cpu ? summary(results) : gpu_summary(results));
  }
  if (given.regret) fmt::print("{}", regret_summary(results));
  if (!given.is_random()) return;
  fmt::print("\none case again: cornerturn bench --set random --seed {} --kinds KIND --index INDEX{}{}{}{}\n",
             given.random.seed, given.size.empty() ? "" : " --size " + given.size,
             on == machine::cpu ? "" : " --device " + given.device, given.regret ? " --regret" : "",
             given.peers == "on" ? " --peers on" : "");
}

// The destinations of the result file: the path of --json, and the string that the caller of main() passed.
struct sink {
  std::ofstream file;
  std::string path;
  std::string* text = nullptr;

  void write(const std::string& content) {
    if (text != nullptr) *text = content;
    if (path.empty()) return;
    file << content;
    file.close();
    if (!file) throw std::runtime_error("--json: cannot write '" + path + "'");
  }
};

int verdict_of(const std::vector<result>& results, const arguments& given, machine on) {
  int code = given.bars ? report_bars(results, on) : 0;
  for (const result& one : results) {
    if (one.any_wrong()) code = exit_failure;
  }
  return code;
}

int run_on_cpu(arguments given, const std::vector<bench_case>& cases, sink& report,
               const std::vector<std::string>& argv) {
  if (given.peers == "on" && peers().empty()) {
    fmt::print(stderr, "cornerturn bench: --peers on: this build links none (CMake option CORNERTURN_PEERS)\n");
  }
  const cpu_info host = cpu();
  if (given.threads.empty()) {
    given.threads = host.threads > 1 ? std::vector<int>{1, host.threads} : std::vector<int>{1};
  }
  measure_options options{rounds_of(given, 9), given.min_time, given.peers == "on" && !peers().empty(), given.kernel};
  options.regret = given.regret;
  memory pool(given.huge, host.l3_bytes);
  fmt::print("{}, {}, {} thread(s), {} pages, LLC {} MiB, each pair met again after {} MiB of other traffic\n",
             host.model, host.simd, host.threads, given.huge ? "2 MiB" : "4 KiB", host.l3_bytes >> 20,
             pool.rotation_bytes() >> 20);
  const std::vector<result> results = measure_all(cases, given, pool, options);
  print_summary(results, given, machine::cpu);
  report.write(
      json_text(results, {argv, given.huge, pool.rotation_bytes(), CORNERTURN_BENCH_REVISION, options, {}, 1}));
  return verdict_of(results, given, machine::cpu);
}

#ifdef CORNERTURN_BENCH_CUDA
int run_on_gpu(const arguments& given, int ordinal, const std::vector<bench_case>& cases, sink& report,
               const std::vector<std::string>& argv) {
  const gpu_options options{rounds_of(given, 7), given.placements, given.peers == "on", given.kernel, given.regret};
  gpu_facts facts;
  try {
    facts = look_at_gpu(ordinal);
  } catch (const std::exception& absent) {
    fmt::print(stderr, "cornerturn bench: --device {}: {}\n", given.device, absent.what());
    return exit_no_device;
  }
  fmt::print("{}, {}, {} multiprocessors, L2 {} MiB, CUDA {}, driver for {}, revision {}\n", facts.name, facts.arch,
             facts.multiprocessors, facts.l2_bytes >> 20, facts.runtime, facts.driver, CORNERTURN_BENCH_REVISION);
  std::vector<gpu_peer> peers_here;
  if (options.with_peers) peers_here = gpu_peers();
  for (const gpu_peer& peer : peers_here) {
    if (peer.absence.empty()) {
      fmt::print("peer {}{}{}\n", peer.name, peer.version.empty() ? "" : " ", peer.version);
    } else {
      fmt::print(stderr, "cornerturn bench: --peers on: no {}: {}\n", peer.name, peer.absence);
    }
  }
  std::size_t name_width = 12;
  for (const bench_case& one : cases) name_width = std::max(name_width, one.shape().size());
  std::string heading;
  const auto show = [&](const result& one, int placement) {
    std::string wanted = one.what.set;
    if (options.placements > 1) wanted += fmt::format(", placement {}", placement + 1);
    if (wanted != heading) fmt::print("{}", gpu_table_head(wanted, options.with_peers, name_width));
    heading = wanted;
    fmt::print("{}", gpu_table_row(one, options.with_peers, name_width));
    std::fflush(stdout);
  };
  std::string failure;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<result> results = measure_on_gpu(ordinal, cases, options, show, failure);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  print_summary(results, given, machine::gpu);
  if (given.is_random()) fmt::print("{} cases took {:.0f} s\n", results.size(), took.count());
  measure_options method{options.rounds, 0, options.with_peers, options.kernel};
  method.regret = options.regret;
  report.write(json_text(results, {argv, false, 4 * facts.l2_bytes, CORNERTURN_BENCH_REVISION, method, facts,
                                   options.placements, peers_here}));
  const int code = verdict_of(results, given, machine::gpu);
  if (failure.empty()) return code;
  fmt::print(stderr, "cornerturn bench: the device failed at {}\n", failure);
  return exit_failure;
}
#else
int run_on_gpu(const arguments& given, int, const std::vector<bench_case>&, sink&, const std::vector<std::string>&) {
  fmt::print(stderr, "cornerturn bench: --device {}: not in this build\n", given.device);
  return exit_no_device;
}
#endif

int run(const arguments& given, const std::vector<std::string>& argv, std::string* result_file) {
  const int ordinal = gpu_ordinal(given.device);
  const machine on = ordinal < 0 ? machine::cpu : machine::gpu;
  const std::vector<bench_case> cases = chosen_cases(given, on);
  // Opened first, so that a bad path fails before minutes of measuring.
  sink report{{}, given.json, result_file};
  if (!given.json.empty()) report.file.open(given.json);
  if (!report.file) throw std::runtime_error("--json: cannot write '" + given.json + "'");
  if (given.list && given.json.empty()) {
    for (const bench_case& one : cases) {
      fmt::print("{}{}{}\n", one.name(), one.note.empty() ? "" : "  # ", one.note);
    }
  }
  if (given.list) {
    report.write(case_list_json(cases));
    return 0;
  }
  if (cases.empty()) throw std::invalid_argument("--case: no case matches '" + given.pattern + "'");
  return ordinal < 0 ? run_on_cpu(given, cases, report, argv) : run_on_gpu(given, ordinal, cases, report, argv);
}

}  // namespace

int main(int argc, const char* const* argv, std::string* result_file) {
  CLI::App app{"Times cornerturn against the best copy of this machine and, where linked, other libraries"};
  app.name("cornerturn bench");
  arguments given;
  declare(app, given);
  std::vector<std::string> words(argv, argv + argc), recorded{"cornerturn", "bench"};
  recorded.insert(recorded.end(), words.begin(), words.end());
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects the arguments in reverse order
    app.parse(words);
    return run(given, recorded, result_file);
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure) == 0 ? 0 : exit_usage;
  } catch (const std::regex_error& failure) {
    fmt::print(stderr, "cornerturn bench: --case: {}\n", failure.what());
    return exit_usage;
  } catch (const std::invalid_argument& failure) {
    fmt::print(stderr, "cornerturn bench: {}\n", failure.what());
    return exit_usage;
  } catch (const error& failure) {
    fmt::print(stderr, "cornerturn bench: {}\n", failure.what());
    return failure.code() == status::invalid_argument ? exit_usage
           : failure.code() == status::no_device      ? exit_no_device
                                                      : exit_failure;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "cornerturn bench: {}\n", failure.what());
    return exit_failure;
  }
}

std::vector<std::string> linked_peers() {
  std::vector<std::string> names;
  for (const contender& who : peers()) names.push_back(who.name);
  return names;
}

double copy_roof_gb_s(std::int64_t bytes, int threads) {
  memory pool(false, cpu().l3_bytes);
  const std::vector<buffer_pair> pairs = pool.pairs(bytes);
  std::size_t next = 0;
  double best = 0;
  std::vector<series> all(copies().size());
  for (int round = -1; round < 7; ++round) {  // round -1 is the warm-up
    for (std::size_t i = 0; i < all.size(); ++i) {
      const buffer_pair& on = pairs[next++ % pairs.size()];
      const auto begin = std::chrono::steady_clock::now();
      parallel_copy(copies()[i], on.src, on.dst, bytes, threads);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (round >= 0) all[i].seconds.push_back(took.count());
    }
  }
  for (const series& one : all) best = std::max(best, one.gb_s(bytes).median);
  return best;
}

}  // namespace cornerturn::bench
