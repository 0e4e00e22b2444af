// The bench: the loop over the chosen cases, the tables, and the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

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

constexpr int exit_failure = 1;

// The request, the command line for the result file, and the stream of the tables.
struct session {
  const arguments& given;
  const std::vector<std::string>& argv;
  std::FILE* out;
};

std::vector<result> measure_all(const std::vector<bench_case>& cases, const session& now,
                                const std::vector<int>& thread_counts, memory& pool, const measure_options& options) {
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
      fmt::print(now.out, "{}", table_head(one.set, options.with_peers, name_width));
      set = one.set;
    }
    for (const int threads : one.hot ? std::vector<int>{1} : thread_counts) {
      const load_watch watch;
      results.push_back(one.hot ? measure_hot(one, pool, options) : measure_cold(one, threads, pool, options));
      results.back().other_cpus = watch.other_cpus();
      fmt::print(now.out, "{}", table_row(results.back(), options.with_peers, name_width));
      std::fflush(now.out);
    }
  }
  return results;
}

int report_bars(const std::vector<result>& results, const session& now) {
  bool missed = false;
  fmt::print(now.out, "\nbars\n");
  for (const bar_line& line : check_bars(results, now.given.on())) {
    const char* word = line.outcome == verdict::pass          ? "pass        "
                       : line.outcome == verdict::falls_short ? "FALLS SHORT "
                                                              : "not measured";
    missed |= line.outcome == verdict::falls_short;
    fmt::print(now.out, "  {}  {}\n", word, line.text);
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
void print_summary(const std::vector<result>& results, const session& now) {
  const arguments& given = now.given;
  const bool on_cpu = given.on() == machine::cpu;
  if (given.is_random()) {
    fmt::print(now.out, "{}", random_summary(results));
  } else {
    fmt::print(now.out, "{}", on_cpu ? summary(results) : gpu_summary(results));
  }
  if (given.regret) fmt::print(now.out, "{}", regret_summary(results));
  if (!given.is_random()) return;
  fmt::print(now.out,
             "\none case again: cornerturn bench --set random --seed {} --kinds KIND --index INDEX{}{}{}{}{}\n",
             given.random.seed, given.size.empty() ? "" : " --size " + given.size, given.hot ? " --hot" : "",
             on_cpu ? "" : fmt::format(" --device cuda:{}", given.gpu), given.regret ? " --regret" : "",
             given.peers ? " --peers on" : "");
}

int verdict_of(const std::vector<result>& results, const session& now) {
  int code = now.given.bars ? report_bars(results, now) : 0;
  for (const result& one : results) {
    if (one.any_wrong()) code = exit_failure;
  }
  return code;
}

outcome run_on_cpu(const session& now, const std::vector<bench_case>& cases) {
  const arguments& given = now.given;
  if (given.peers && peers().empty()) {
    fmt::print(stderr, "cornerturn: --peers is on, but this build links no peer: CMake option CORNERTURN_PEERS\n");
  }
  const cpu_info host = cpu();
  const int all_threads = host.default_threads;
  std::vector<int> thread_counts = given.threads;
  if (thread_counts.empty()) thread_counts = all_threads > 1 ? std::vector<int>{1, all_threads} : std::vector<int>{1};
  measure_options options{rounds_of(given, 9), given.min_time, given.peers && (given.hot || !peers().empty()),
                          given.kernel};
  options.regret = given.regret;
  memory pool(given.huge, host.l3_bytes);
  fmt::print(now.out,
             "{}, {}, {} thread{}, {} pages, L3 {} MiB; a pair of buffers is used again after {} MiB of other "
             "traffic\n",
             host.model, host.simd, all_threads, all_threads == 1 ? "" : "s", given.huge ? "2 MiB" : "4 KiB",
             host.l3_bytes >> 20, pool.rotation_bytes() >> 20);
  const std::vector<result> results = measure_all(cases, now, thread_counts, pool, options);
  print_summary(results, now);
  std::string file =
      json_text(results, {now.argv, given.huge, pool.rotation_bytes(), CORNERTURN_BENCH_REVISION, options, {}, 1});
  return {verdict_of(results, now), std::move(file)};
}

#ifdef CORNERTURN_BENCH_CUDA
outcome run_on_gpu(const session& now, const std::vector<bench_case>& cases) {
  const arguments& given = now.given;
  const gpu_options options{rounds_of(given, 7), given.placements, given.peers, given.kernel, given.regret};
  const gpu_facts facts = look_at_gpu(given.gpu);
  fmt::print(now.out, "{}, {}, {} multiprocessors, L2 {} MiB, CUDA {}, driver for {}, revision {}\n", facts.name,
             facts.arch, facts.multiprocessors, facts.l2_bytes >> 20, facts.runtime, facts.driver,
             CORNERTURN_BENCH_REVISION);
  std::vector<gpu_peer> peers_here;
  if (options.with_peers) peers_here = gpu_peers();
  for (const gpu_peer& peer : peers_here) {
    if (peer.absence.empty()) {
      fmt::print(now.out, "peer {}{}{}\n", peer.name, peer.version.empty() ? "" : " ", peer.version);
    } else {
      fmt::print(stderr, "cornerturn: --peers is on, but {} is absent: {}\n", peer.name, peer.absence);
    }
  }
  std::size_t name_width = 12;
  for (const bench_case& one : cases) name_width = std::max(name_width, one.shape().size());
  std::string heading;
  const auto show = [&](const result& one, int placement) {
    std::string wanted = one.what.set;
    if (options.placements > 1) wanted += fmt::format(", placement {}", placement + 1);
    if (wanted != heading) fmt::print(now.out, "{}", gpu_table_head(wanted, options.with_peers, name_width));
    heading = wanted;
    fmt::print(now.out, "{}", gpu_table_row(one, options.with_peers, name_width));
    std::fflush(now.out);
  };
  std::string failure;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<result> results = measure_on_gpu(given.gpu, cases, options, show, failure);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  print_summary(results, now);
  if (given.is_random()) fmt::print(now.out, "{} cases took {:.0f} s\n", results.size(), took.count());
  measure_options method{options.rounds, 0, options.with_peers, options.kernel};
  method.regret = options.regret;
  std::string file = json_text(results, {now.argv, false, 4 * facts.l2_bytes, CORNERTURN_BENCH_REVISION, method, facts,
                                         options.placements, peers_here});
  const int code = verdict_of(results, now);
  if (failure.empty()) return {code, std::move(file)};
  fmt::print(stderr, "cornerturn: the device failed at {}\n", failure);
  return {exit_failure, std::move(file)};
}

outcome run_between_gpus(const session& now) {
  bool right = true;
  std::string rows;
  for (const std::int64_t bytes : now.given.slabs) {
    const dist_outcome made = measure_dist(bytes, now.given.dist_bytes, rounds_of(now.given, 7), now.out);
    right = right && made.right;
    rows += rows.empty() ? made.json : ",\n " + made.json;
  }
  return {right ? 0 : exit_failure, "[" + rows + "]\n"};
}

double gpu_copy_roof_gb_s(std::int64_t bytes, int gpu) {
  constexpr std::int64_t word = 16;
  const bench_case what{"roof", word, {std::max<std::int64_t>(1, bytes / word)}, {0}, false, false, "", {}, {}};
  std::string failure;
  const std::vector<result> results = measure_on_gpu(
      gpu, {what}, {}, [](const result&, int) {}, failure);
  const series* roof = results.empty() ? nullptr : results.front().best(role::roof);
  if (roof == nullptr) throw error(status::device_error, "the GPU failed to copy: " + failure);
  return results.front().median_gb_s(*roof);
}
#else
[[noreturn]] void refuse_gpu() { throw error(status::no_device, "this build has no cuda kernels"); }
outcome run_on_gpu(const session&, const std::vector<bench_case>&) { refuse_gpu(); }
outcome run_between_gpus(const session&) { refuse_gpu(); }
double gpu_copy_roof_gb_s(std::int64_t, int) { refuse_gpu(); }
#endif

}  // namespace

outcome run(const arguments& given, const std::vector<std::string>& argv, std::FILE* out) {
  if (given.dist) {
    const bool has_cases = !given.sets.empty() || !given.shapes.empty() || !given.pattern.empty() || given.list;
    if (has_cases) throw std::invalid_argument("--dist is given with cases, wanted one of them");
    return run_between_gpus({given, argv, out});
  }
  const std::vector<bench_case> cases = chosen_cases(given);
  if (given.list) {
    for (const bench_case& one : out == nullptr ? std::vector<bench_case>{} : cases) {
      fmt::print(out, "{}{}{}\n", one.name(), one.note.empty() ? "" : "  # ", one.note);
    }
    return {0, case_list_json(cases)};
  }
  if (cases.empty()) {
    throw std::invalid_argument(
        fmt::format("--case is \"{}\", but no chosen case matches it; --list prints their names", given.pattern));
  }
  const session now{given, argv, out};
  return given.on() == machine::cpu ? run_on_cpu(now, cases) : run_on_gpu(now, cases);
}

std::vector<std::string> linked_peers() {
  std::vector<std::string> names;
  for (const contender& who : peers()) names.push_back(who.name);
  return names;
}

double copy_roof_gb_s(std::int64_t bytes, int threads, int gpu) {
  if (gpu >= 0) return gpu_copy_roof_gb_s(bytes, gpu);
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
