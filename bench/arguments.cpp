// Ad-hoc shapes, and the choice of cases.
#include "bench/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

namespace cornerturn::bench {

namespace {

// An ad-hoc shape of up to this many bytes is timed in cache, and so is a random case on a GPU.
constexpr std::int64_t hot_bytes = 256 * 1024, hot_bytes_gpu = 16 << 20;

bench_case ad_hoc(const ad_hoc_case& given, std::int64_t element_bytes, machine on, bool hot) {
  bench_case one{"ad_hoc", element_bytes, given.extents, given.axes, false, false, "", {}, {}};
  const std::string shape = fmt::format("{}", fmt::join(given.extents, "x"));
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : one.extents) {
    if (extent < 1) throw std::invalid_argument(fmt::format("shape {} has an extent of 0, wanted 1 or more", shape));
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      throw std::invalid_argument(fmt::format(
          "shape {} at {} bytes an element is too large, wanted fewer than 2^63 bytes", shape, element_bytes));
    }
  }
  one.hot = hot || one.bytes() <= (on == machine::cpu ? hot_bytes : hot_bytes_gpu);
  return one;
}

void check_random(const arguments& given) {
  const bool named = std::find(given.sets.begin(), given.sets.end(), "random") != given.sets.end();
  if (named && (!given.is_random() || !given.shapes.empty())) {
    throw std::invalid_argument("--set random is given with another set or a shape, wanted it alone");
  }
  if (named && given.bars) {
    throw std::invalid_argument(
        "--check-bars is given with --set random, wanted another set: random cases have no bars");
  }
  const random_options& random = given.random;
  const bool only_random = random.seed != 1 || random.count != random_options{}.count || random.index >= 0 ||
                           !random.kinds.empty() || random.most_bytes != 0;
  if (given.hot && !named && given.shapes.empty()) {
    throw std::invalid_argument("--hot is given without --set random or a SHAPE, wanted one of them");
  }
  if (!named && only_random) {
    throw std::invalid_argument("--seed, --count, --kinds, --index or --size is given, wanted --set random with it");
  }
}

// std::regex compiles and searches by recursion: over brackets, and over repetitions such as (){50000}.
constexpr std::size_t most_pattern = 200;

// By default libstdc++ tries one way after another, 2^n of them for (a|a)* and n letters. This search takes all ways at once,
// and refuses references such as \1. A lookahead starts a search at each letter, so several within each other would take n^depth.
#ifdef __GLIBCXX__
constexpr auto how = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto how = std::regex::ECMAScript;
#endif

std::regex regex_of(const std::string& pattern) {
  if (pattern.size() > most_pattern) {
    throw std::invalid_argument(
        fmt::format("--case has {} characters, wanted at most {}", pattern.size(), most_pattern));
  }
  const bool repeats = pattern.find('{') != std::string::npos;
  const bool looks_ahead = pattern.find("(?=") != std::string::npos || pattern.find("(?!") != std::string::npos;
  try {
    if (!repeats && !looks_ahead) return std::regex(pattern, how);
  } catch (const std::regex_error&) {
  }
  throw std::invalid_argument(fmt::format("--case is \"{}\", wanted a regular expression, such as 'skinny.*b4'{}",
                                          pattern,
                                          repeats       ? ", without braces"
                                          : looks_ahead ? ", without lookahead"
                                                        : ""));
}

}  // namespace

std::vector<bench_case> chosen_cases(const arguments& given) {
  const machine on = given.on();
  std::vector<bench_case> chosen;
  check_random(given);
  const std::regex pattern = regex_of(given.pattern);
  if (given.is_random()) {
    for (bench_case& one : random_cases(given.random, on, given.hot)) {
      const bool is_small = on == machine::gpu && one.bytes() <= hot_bytes_gpu;
      one.hot = (given.hot || is_small) && (on == machine::cpu || !one.in_place());
      if (std::regex_search(one.name(), pattern)) chosen.push_back(std::move(one));
    }
    return chosen;
  }
  for (const ad_hoc_case& shape : given.shapes) {
    for (const std::int64_t bytes : given.element_bytes) chosen.push_back(ad_hoc(shape, bytes, on, given.hot));
  }
  std::vector<std::string> sets = given.sets;
  if (sets.empty() && chosen.empty()) sets.emplace_back(given.pattern.empty() ? "quick" : "all");
  for (const bench_case& one : all_cases(on)) {  // in the order of the table, once each
    const bool member =
        std::any_of(sets.begin(), sets.end(), [&](const std::string& set) { return is_in(one, set, on); });
    if (member && std::regex_search(one.name(), pattern)) chosen.push_back(one);
  }
  return chosen;
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
