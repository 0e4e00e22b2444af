// The options, ad-hoc shapes, and the choice of cases.
#include "bench/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

namespace cornerturn::bench {

namespace {

// An ad-hoc shape of up to this many bytes is timed in cache.
constexpr std::int64_t hot_bytes = 256 * 1024, hot_bytes_gpu = 16 << 20;

bench_case ad_hoc(const std::string& shape, std::int64_t element_bytes, std::vector<int> axes, machine on) {
  static const std::regex form("[0-9]{1,18}(x[0-9]{1,18})*");
  if (!std::regex_match(shape, form)) throw std::invalid_argument("--shape: '" + shape + "' is not like 4096x4096");
  if (element_bytes < 1) throw std::invalid_argument("--bytes: must be 1 or more");
  bench_case one{"ad_hoc", element_bytes, {}, std::move(axes), false, false, "", {}, {}};
  for (std::size_t at = 0; at <= shape.size();) {
    const std::size_t end = std::min(shape.find('x', at), shape.size());
    one.extents.push_back(std::stoll(shape.substr(at, end - at)));
    at = end + 1;
  }
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : one.extents) {
    if (extent < 1) throw std::invalid_argument("--shape: an extent of 0 moves nothing");
    if (__builtin_mul_overflow(bytes, extent, &bytes)) throw std::invalid_argument("--shape: 2^63 bytes or more");
  }
  const auto rank = static_cast<int>(one.extents.size());
  if (one.axes.empty()) {
    for (int k = rank; k-- > 0;) one.axes.push_back(k);
  }
  std::vector<int> sorted = one.axes;
  std::sort(sorted.begin(), sorted.end());
  for (int k = 0; k < std::max(rank, static_cast<int>(sorted.size())); ++k) {
    if (static_cast<int>(sorted.size()) != rank || sorted[static_cast<std::size_t>(k)] != k) {
      throw std::invalid_argument(fmt::format("--axes: must be a permutation of 0 to {}", rank - 1));
    }
  }
  one.hot = one.bytes() <= (on == machine::cpu ? hot_bytes : hot_bytes_gpu);
  return one;
}

}  // namespace

void declare(CLI::App& app, arguments& given) {
  app.add_option(
      "--set", given.sets,
      "a set of cases, may be repeated: plain odd pow2 small_types skinny batched rank_n "
      "hot odd_elements quick bars all in_place_square in_place_rectangle; on a GPU: pow2 odd odd_small skinny "
      "batched rank_n small rank_many odd_elements quick bars all (default: quick); on both, and alone: random");
  app.add_option("--case,--filter", given.pattern, "only cases whose name matches this regular expression");
  app.add_option("--shape,shape", given.shapes,
                 "an ad-hoc case, as 4096x4096; up to 256 KiB (GPU: 16 MiB) it is timed in cache");
  app.add_option("--bytes", given.element_bytes, "bytes of an element, for --shape (4)")->delimiter(',');
  app.add_option("--axes", given.axes, "order of the axes, for --shape (reversed)")->delimiter(',');
  app.add_option("--threads", given.threads, "thread counts (1 and all)")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--rounds", given.rounds, "timed runs of each contender (9; GPU: 7)")->check(CLI::PositiveNumber);
  app.add_option("--min-time", given.min_time, "seconds of our own runs at least, for each case (0)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--peers", given.peers, "on: time the linked libraries too (off)")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--device", given.device, "auto, cpu or cuda:N (auto)");
  app.add_option("--placements", given.placements, "GPU: measure all of it so many times, on other memory (1)")
      ->check(CLI::PositiveNumber);
  app.add_option("--kernel", given.kernel, "force one kernel by its name");
  app.add_option("--json", given.json, "write a result file");
  app.add_option("--seed", given.random.seed, "random: the list of cases; equal on every machine (1)");
  app.add_option("--count", given.random.count, "random: cases, the kinds in rotation (100)")
      ->check(CLI::PositiveNumber);
  app.add_option("--kinds", given.random.kinds,
                 "random: some of matrix skinny rank copy batch in_place odd (all of them)")
      ->delimiter(',');
  app.add_option("--index", given.random.index, "random: only this case of each kind")->check(CLI::NonNegativeNumber);
  app.add_option("--size", given.size, "random: bytes of one side, as MIN:MAX with K, M or G (16M:256M; GPU: 64M:1G)");
  app.add_flag("--regret", given.regret, "time every kernel that accepts each cold case, and print chosen over best");
  app.add_flag("--huge", given.huge, "ask for 2 MiB pages");
  app.add_flag("--list", given.list, "print the names of the chosen cases, or write them to --json, and stop");
  app.add_flag("--check-bars", given.bars, "hold the results against the bars; a miss is exit code 1");
}

namespace {

void check_random(const arguments& given) {
  const bool named = std::find(given.sets.begin(), given.sets.end(), "random") != given.sets.end();
  if (named && (!given.is_random() || !given.shapes.empty())) {
    throw std::invalid_argument("--set: 'random' goes with no other set and no --shape");
  }
  if (named && given.bars) throw std::invalid_argument("--check-bars: there are no bars for --set random");
  const random_options& random = given.random;
  const bool only_random = random.seed != 1 || random.count != random_options{}.count || random.index >= 0 ||
                           !random.kinds.empty() || !given.size.empty();
  if (!named && only_random) {
    throw std::invalid_argument("--seed, --count, --kinds, --index and --size want --set random");
  }
}

}  // namespace

std::vector<bench_case> chosen_cases(const arguments& given, machine on) {
  std::vector<bench_case> chosen;
  check_random(given);
  if (given.is_random()) {
    random_options options = given.random;
    if (!given.size.empty()) parse_size_range(given.size, options);
    const std::regex pattern(given.pattern);
    for (bench_case& one : random_cases(options, on)) {
      if (std::regex_search(one.name(), pattern)) chosen.push_back(std::move(one));
    }
    return chosen;
  }
  for (const std::string& shape : given.shapes) {
    for (const std::int64_t bytes : given.element_bytes) chosen.push_back(ad_hoc(shape, bytes, given.axes, on));
  }
  std::vector<std::string> sets = given.sets;
  if (sets.empty() && chosen.empty()) sets.emplace_back(given.pattern.empty() ? "quick" : "all");
  const std::regex pattern(given.pattern);
  for (const bench_case& one : all_cases(on)) {  // in the order of the table, once each
    const bool member =
        std::any_of(sets.begin(), sets.end(), [&](const std::string& set) { return is_in(one, set, on); });
    if (member && std::regex_search(one.name(), pattern)) chosen.push_back(one);
  }
  return chosen;
}

int gpu_ordinal(const std::string& device) {
  if (device == "auto" || device == "cpu") return -1;
  static const std::regex form("cuda(:([0-9]{1,4}))?");
  std::smatch match;
  if (!std::regex_match(device, match, form)) {
    throw std::invalid_argument("--device: '" + device + "' is none of auto, cpu and cuda:N");
  }
  return match[2].matched ? std::stoi(match[2]) : 0;
}

std::string case_list_json(const std::vector<bench_case>& cases) {
  std::string text = "[\n";
  for (const bench_case& one : cases) {
    const nlohmann::ordered_json row{{"name", one.name()},
                                     {"set", one.set},
                                     {"element_bytes", one.element_bytes},
                                     {"extents", one.extents},
                                     {"axes", one.axes},
                                     {"src_strides", one.src_strides()},
                                     {"dst_strides", one.dst_strides()},
                                     {"bytes", one.bytes()},
                                     {"shift_bytes", {one.shift.src, one.shift.dst}},
                                     {"hot", one.hot}};
    text += (text.size() > 2 ? ",\n" : "") + row.dump();
  }
  return text + "\n]\n";
}

}  // namespace cornerturn::bench
