// The result file. Google Benchmark's compare.py reads `context` and `benchmarks`; times are medians per call. The block
// `cornerturn` is our own; it has a format [major, minor, patch]. A new major version means that readers have to change.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "bench/report.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {

namespace {

using nlohmann::ordered_json;

const char* name_of(role part) {
  switch (part) {
    case role::ours:
      return "ours";
    case role::roof:
      return "roof";
    case role::peer:
      return "peer";
    case role::row:
      return "row";
  }
  return "";
}

ordered_json spread(const quartiles& each, double scale = 1) {
  return {{"q1", each.q1 * scale}, {"median", each.median * scale}, {"q3", each.q3 * scale}};
}

ordered_json cache(const char* type, int level, std::int64_t bytes) {
  return {{"type", type}, {"level", level}, {"size", bytes}, {"num_sharing", 0}};
}

ordered_json context_of(const run_facts& facts, const cpu_info& cpu_here) {
  char date[40] = "";
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &local);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return {{"date", date},
          {"host_name", host},
          {"executable", facts.argv.empty() ? "cornerturn" : facts.argv.front()},
          {"num_cpus", cpu_here.threads},
          {"mhz_per_cpu", 0},
          {"cpu_scaling_enabled", false},
          {"caches",
           {cache("Data", 1, cpu_here.l1d_bytes), cache("Unified", 2, cpu_here.l2_bytes),
            cache("Unified", 3, cpu_here.l3_bytes)}},
          {"load_avg", ordered_json::array()},
#ifdef NDEBUG
          {"library_build_type", "release"}
#else
          {"library_build_type", "debug"}
#endif
  };
}

// Everything that a planner knows about a case, for tools that fit the planner's constants. Axes are in the order of dst,
// outermost first.
ordered_json problem_json(const bench_case& what) {
  ordered_json axes = ordered_json::array();
  for (const view_axis& axis : full_view(what).axes) {
    axes.push_back({{"extent", axis.extent}, {"src_stride", axis.src_stride}, {"dst_stride", axis.dst_stride}});
  }
  const std::int64_t word = what.element_bytes & -what.element_bytes;
  return {{"element_bytes", what.element_bytes},
          {"word_bytes", word < 16 ? word : 16},
          {"axes", axes},
          {"in_place", what.in_place()},
          {"base_alignment", base_alignment(what)},
          {"src_shift_bytes", what.shift.src},
          {"dst_shift_bytes", what.shift.dst}};
}

// All kernels, the chosen one first. A kernel with one sample was so slow that it ran once. A kernel without ns failed.
ordered_json kernels_json(const result& one) {
  ordered_json rows = ordered_json::array();
  for (const series& entry : one.entries) {
    if (entry.part != role::ours && entry.part != role::row) continue;
    ordered_json row{{"kernel", entry.part == role::ours ? entry.detail : entry.name},
                     {"chosen", entry.part == role::ours}};
    if (!entry.seconds.empty()) {
      const quartiles took = entry.time();
      row["ns"] = took.median * 1e9;
      row["ns_q1"] = took.q1 * 1e9;
      row["ns_q3"] = took.q3 * 1e9;
    }
    if (const plan_offer* known = one.offer_of(row["kernel"].get<std::string>()); known != nullptr) {
      row["predicted"] = known->time;
      const offer_counts& its = known->counts;
      if (!one.device.empty()) {
        row["counts"] = {its.traffic, its.wasted_sectors, its.requests, its.wavefronts, its.instructions};
      }
    }
    row["samples"] = entry.seconds.size();
    row["verified"] = entry.wrong.empty();
    if (!entry.wrong.empty()) row["wrong"] = entry.wrong;
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json case_of(const result& one) {
  ordered_json entries = ordered_json::array();
  for (const series& entry : one.entries) {
    if (entry.part == role::row) continue;  // kernels_json() has them
    ordered_json row{{"name", entry.name},
                     {"role", name_of(entry.part)},
                     {"gb_s", spread(entry.gb_s(one.what.bytes()))},
                     {"ns", spread(entry.time(), 1e9)},
                     {"samples", entry.seconds.size()},
                     {"calls_per_sample", entry.calls_per_sample},
                     {"sliced", entry.sliced},
                     {"verified", entry.wrong.empty()}};
    if (!entry.wrong.empty()) row["wrong"] = entry.wrong;
    entries.push_back(std::move(row));
  }
  ordered_json row{{"name", one.what.name()},     {"set", one.what.set},
                   {"shape", one.what.shape()},   {"element_bytes", one.what.element_bytes},
                   {"extents", one.what.extents}, {"axes", one.what.axes},
                   {"note", one.what.note},       {"bytes", one.what.bytes()},
                   {"hot", one.what.hot},         {"threads", one.threads},
                   {"pairs", one.pairs},          {"other_cpus", one.other_cpus},
                   {"kernel", one.ours().detail}, {"share", spread(one.share())}};
  if (!one.device.empty()) {
    const quartiles places = one.place_shares();
    row["device"] = one.device;
    row["place_shares"] = {{"lowest", places.q1}, {"median", places.median}, {"highest", places.q3}};
  }
  const series* roof = one.best(role::roof);
  const series* peer = one.best(role::peer);
  row["roof"] = roof == nullptr ? ordered_json(nullptr) : ordered_json(roof->name);
  row["best_peer"] = peer == nullptr ? ordered_json(nullptr) : ordered_json(peer->name);
  row["contenders"] = std::move(entries);
  row["problem"] = problem_json(one.what);
  if (one.best(role::row) != nullptr || one.what.set.starts_with("random") || !one.device.empty()) {
    row["roof_ns"] = roof == nullptr ? ordered_json(nullptr) : ordered_json(roof->time().median / one.what.roof * 1e9);
    row["kernels"] = kernels_json(one);
    row["regret"] = one.regret();
  }
  return row;
}

}  // namespace

std::string json_text(const std::vector<result>& results, const run_facts& facts) {
  const cpu_info cpu_here = cpu();
  ordered_json benchmarks = ordered_json::array();
  ordered_json cases = ordered_json::array();
  int family = 0;
  for (const result& one : results) {
    int instance = 0;
    for (const series& entry : one.entries) {
      if (entry.part == role::row) continue;
      const double ns = entry.time().median * 1e9;
      const std::string where = one.device.empty() ? "threads:" + std::to_string(one.threads) : one.device;
      const std::string name = one.what.name() + "/" + where + "/" + entry.name;
      benchmarks.push_back({{"name", name},
                            {"family_index", family},
                            {"per_family_instance_index", instance++},
                            {"run_name", name},
                            {"run_type", "iteration"},
                            {"repetitions", 1},
                            {"repetition_index", 0},
                            {"threads", one.threads},
                            {"iterations", static_cast<std::int64_t>(entry.seconds.size()) * entry.calls_per_sample},
                            {"real_time", ns},
                            {"cpu_time", quartiles_of(entry.cpu_seconds).median * 1e9},
                            {"time_unit", "ns"},
                            {"bytes_per_second", one.median_gb_s(entry) * 1e9}});
    }
    ++family;
    cases.push_back(case_of(one));
  }
  ordered_json own{{"format", {1, 2, 0}},
                   {"argv", facts.argv},
                   {"version", version()},
                   {"git_revision", facts.git_revision},
                   {"machine",
                    {{"model", cpu_here.model},
                     {"simd", cpu_here.simd},
                     {"threads", cpu_here.threads},
                     {"l1d_bytes", cpu_here.l1d_bytes},
                     {"l2_bytes", cpu_here.l2_bytes},
                     {"l3_bytes", cpu_here.l3_bytes},
                     {"page_bytes", cpu_here.page_bytes}}},
                   {"method",
                    {{"rounds", facts.options.rounds},
                     {"min_time", facts.options.min_time},
                     {"peers", facts.options.with_peers},
                     {"regret", facts.options.regret},
                     {"huge_pages", facts.huge},
                     {"rotation_bytes", facts.rotation_bytes}}},
                   {"cases", cases}};
  if (facts.gpu) {
    own["machine"]["gpu"] = {{"name", facts.gpu->name},
                             {"arch", facts.gpu->arch},
                             {"multiprocessors", facts.gpu->multiprocessors},
                             {"l2_bytes", facts.gpu->l2_bytes},
                             {"memory_bytes", facts.gpu->memory_bytes},
                             {"runtime", facts.gpu->runtime},
                             {"driver", facts.gpu->driver}};
    own["method"]["placements"] = facts.placements;
    for (const gpu_peer& peer : facts.peers) {
      ordered_json& known = own["machine"]["gpu"]["peers"][peer.name];
      known = ordered_json::object();
      if (!peer.version.empty()) known["version"] = peer.version;
      if (!peer.absence.empty()) known["absence"] = peer.absence;
    }
  }
  // Words of the command may have any encoding, but JSON is UTF-8.
  return ordered_json{{"context", context_of(facts, cpu_here)}, {"benchmarks", benchmarks}, {"cornerturn", own}}.dump(
             2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace cornerturn::bench
