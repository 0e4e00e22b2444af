// Reads result files; docs/measuring.md describes their format.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

using nlohmann::json;

// The reason without nlohmann's own prefix, "[json.exception.out_of_range.403] ".
std::string reason_of(const json::exception& fault) {
  const std::string text = fault.what();
  const auto end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

// Deeper than any result file. nlohmann copies and prints values by recursion.
constexpr int most_depth = 16;

json parsed(const std::string& text) {
  return json::parse(text, [](int depth, json::parse_event_t, const json&) {
    if (depth <= most_depth) return true;
    throw failure(
        fmt::format("is nested deeper than {}, wanted a result file of `cornerturn bench` or `ladder`", most_depth));
  });
}

// Returns a number of the file. No number outside of the range reaches a sum, a chart or a conversion.
template <class Number>
Number number_of(const json& value, std::string_view name, Number least, Number most) {
  bool is_right = false;
  Number found{};
  if constexpr (std::is_integral_v<Number>) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    const std::int64_t whole = fits ? value.get<std::int64_t>() : 0;
    is_right = fits && whole >= least && whole <= most;
    found = static_cast<Number>(is_right ? whole : 0);
  } else {
    found = value.is_number() ? value.get<double>() : 0;
    is_right = value.is_number() && found >= least && found <= most;
  }
  if (is_right) return found;
  const std::string text = value.is_structured() ? "a list or an object" : value.dump().substr(0, 40);
  throw failure(fmt::format("{} is {}, wanted {} from {} to {}", name, text,
                            std::is_integral_v<Number> ? "an integer" : "a number", least, most));
}

template <class Number>
Number number_at(const json& from, const char* key, Number least, Number most) {
  return number_of(from.at(key), key, least, most);
}
template <class Number>
Number number_or(const json& from, const char* key, Number otherwise, Number least, Number most) {
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? otherwise : number_of(*found, key, least, most);
}

constexpr std::int64_t most_size = std::int64_t{1} << 50;  // bytes
constexpr int most_count = 1 << 30;
constexpr double least_rate = 1e-6, most_rate = 1e9;  // GB/s

template <class Value>
Value value_or(const json& from, const char* key, Value otherwise) {
  static_assert(!std::is_arithmetic_v<Value> || std::is_same_v<Value, bool>, "number_or() checks the range");
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? otherwise : found->template get<Value>();
}

const json& object_at(const json& from, const char* key) {
  static const json* const none = new json(json::object());
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? *none : *found;
}

void add(std::vector<fact>& facts, const char* name, std::string value) {
  if (!value.empty()) facts.emplace_back(name, std::move(value));
}

std::string mebibytes(const json& from, const char* key) {
  const auto bytes = number_or<std::int64_t>(from, key, 0, 0, most_size);
  return bytes > 0 ? bytes_text(bytes) : "";
}

// Highway's word for AVX-512 is AVX3.
std::string instruction_set_of(const json& machine) {
  const auto name = value_or<std::string>(machine, "simd", "");
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

std::vector<fact> machine_of(const json& machine) {
  std::vector<fact> facts;
  if (machine.contains("gpu")) {
    const json& gpu = machine["gpu"];
    add(facts, "GPU", value_or<std::string>(gpu, "name", ""));
    add(facts, "Architecture",
        fmt::format("{}, {} multiprocessors", value_or<std::string>(gpu, "arch", ""),
                    number_or<int>(gpu, "multiprocessors", 0, 0, most_count)));
    add(facts, "GPU memory", mebibytes(gpu, "memory_bytes"));
    add(facts, "L2", mebibytes(gpu, "l2_bytes"));
    add(facts, "CUDA",
        fmt::format("{}, driver for {}", value_or<std::string>(gpu, "runtime", ""),
                    value_or<std::string>(gpu, "driver", "")));
  }
  const int threads = number_or<int>(machine, "threads", 0, 0, most_count);
  add(facts, machine.contains("gpu") ? "Host" : "CPU",
      fmt::format("{}, {}, {} thread{}", value_or<std::string>(machine, "model", ""), instruction_set_of(machine),
                  threads, threads == 1 ? "" : "s"));
  add(facts, "Caches",
      fmt::format("L1d {}, L2 {}, L3 {}", mebibytes(machine, "l1d_bytes"), mebibytes(machine, "l2_bytes"),
                  mebibytes(machine, "l3_bytes")));
  return facts;
}

std::vector<fact> method_of(const json& own) {
  const json& method = object_at(own, "method");
  std::vector<fact> facts;
  std::string rounds = fmt::format("{}", number_or<int>(method, "rounds", 0, 0, most_count));
  if (const int merged = number_or<int>(own, "merged", 1, 1, most_count); merged > 1) {
    rounds += fmt::format(" in each of {} processes; medians over the processes", merged);
  }
  add(facts, "Rounds", rounds);
  if (const auto rotation = mebibytes(method, "rotation_bytes"); !rotation.empty()) {
    add(facts, "Cold", "a pair of buffers is reused after " + rotation + " of other traffic");
  }
  add(facts, "Pages", value_or<bool>(method, "huge_pages", false) ? "2 MiB" : "4 KiB");
  std::string peers;
  for (const auto& [name, peer] : object_at(own, "peers").items()) {
    peers += fmt::format("{}{} {}", peers.empty() ? "" : ", ", name, value_or<std::string>(peer, "version", ""));
  }
  add(facts, "Frameworks", peers);
  add(facts, "Revision", value_or<std::string>(own, "git_revision", ""));
  if (own.contains("argv")) {
    add(facts, "Command", fmt::format("{}", fmt::join(own["argv"].get<std::vector<std::string>>(), " ")));
  }
  return facts;
}

measured_case case_of(const json& from) {
  measured_case made;
  made.set = from.at("set").get<std::string>();
  made.shape = from.at("shape").get<std::string>();
  made.kernel = from.at("kernel").get<std::string>();
  made.element_bytes = number_at<std::int64_t>(from, "element_bytes", 1, most_size);
  made.bytes = number_at<std::int64_t>(from, "bytes", 1, most_size);
  made.threads = number_at<int>(from, "threads", 0, most_count);
  made.hot = from.at("hot").get<bool>();
  made.other_cpus = number_or<double>(from, "other_cpus", 0, -1, most_rate);
  const json& share = from.at("share");
  made.share = number_at<double>(share, "median", 0, most_rate);
  made.share_q1 = number_or<double>(share, "q1", made.share, 0, most_rate);
  made.share_q3 = number_or<double>(share, "q3", made.share, 0, most_rate);
  if (const auto worst = from.find("worst"); worst != from.end()) {
    made.worst_process = number_at<double>(*worst, "process", 0, most_rate);
    made.worst_place = number_at<double>(*worst, "place", 0, most_rate);
  }
  for (const json& entry : from.at("contenders")) {
    const auto role = entry.at("role").get<std::string>();
    const double rate = number_of(entry.at("gb_s").at("median"), "gb_s.median", least_rate, most_rate);
    const bool right = value_or<bool>(entry, "verified", true);
    if (role == "ours") {
      made.gigabytes_per_second = rate;
      made.right = right;
    } else if (right && role == "roof") {
      made.roof = std::max(made.roof, rate);
    } else if (right && role == "peer") {
      made.peers.emplace_back(entry.at("name").get<std::string>(), rate);
    }
  }
  return made;
}

bench_run bench_of(const json& file) {
  const json& own = file.at("cornerturn");
  const json& machine = own.at("machine");
  if (const int format = number_of<int>(own.at("format").at(0), "format", 0, most_count); format != 1) {
    throw failure(fmt::format("the result file has format {}, wanted 1", format));
  }
  bench_run made;
  const bool on_gpu = machine.contains("gpu");
  made.device = on_gpu ? machine["gpu"].at("name").get<std::string>() : machine.at("model").get<std::string>();
  if (on_gpu) made.arch = machine["gpu"].at("arch").get<std::string>();
  made.date = file.at("context").at("date").get<std::string>().substr(0, 10);
  made.version = own.at("version").get<std::string>();
  made.machine = machine_of(machine);
  made.method = method_of(own);
  for (const json& one : own.at("cases")) made.cases.push_back(case_of(one));
  return made;
}

// The sides of a matrix, at most; their product with the batch and the bytes fits 62 bits.
constexpr std::int64_t most_side = std::int64_t{1} << 19;

std::vector<double> milliseconds_of(const json& list) {
  if (!list.is_array()) throw failure("milliseconds is no list, wanted a list of numbers");
  std::vector<double> made;
  for (const json& one : list) made.push_back(number_of(one, "milliseconds", 1e-6, 1e9));
  return made;
}

ladder_run ladder_of(const json& file) {
  ladder_run made;
  made.where = {file.at("device").get<std::string>(), file.at("arch").get<std::string>(),
                number_at<int>(file, "threads", 0, most_count), file.at("method").get<std::string>()};
  for (const json& one : file.at("rungs")) {
    made.times.push_back(
        {one.at("rung").get<std::string>(),
         number_at<int>(one, "element_bytes", 1, 16),
         {number_at<std::int64_t>(one, "rows", 1, most_side), number_at<std::int64_t>(one, "cols", 1, most_side),
          number_at<std::int64_t>(one, "batch", 1, most_side)},
         milliseconds_of(one.at("milliseconds")),
         one.at("note").get<std::string>()});
    if (made.times.back().milliseconds.empty())
      throw failure(made.times.back().rung + " has no milliseconds, wanted at least one");
  }
  if (made.times.empty() || made.times.front().rung != "00_copy")
    throw failure("the first rung is not the roof, wanted 00_copy");
  return made;
}

}  // namespace

namespace {

// Calls add(parsed text); its errors become sentences that begin with the name of the file.
template <class Add>
void add_file(const std::string& text, const std::string& name, const Add& add) {
  try {
    add(parsed(text));
  } catch (const json::parse_error&) {
    throw failure(fmt::format("{}: is not JSON, wanted a result file of `cornerturn bench` or `ladder`", name));
  } catch (const json::exception& fault) {
    throw failure(fmt::format("{}: not a result file of this version: {}", name, reason_of(fault)));
  } catch (const failure& fault) {
    throw failure(fmt::format("{}: {}", name, fault.what()));
  }
}

}  // namespace

void add_result(report& all, const std::string& text, const std::string& name) {
  add_file(text, name, [&all, &text](const json& file) {
    if (file.contains("cornerturn")) {
      all.benches.push_back(bench_of(file));
      all.measured = text;
    } else if (file.contains("rungs")) {
      all.ladders.push_back(ladder_of(file));
    } else {
      throw failure("found no bench and no ladder, wanted a result file of `cornerturn bench` or `cornerturn ladder`");
    }
  });
}

void add_earlier(report& all, const std::string& text, const std::string& name) {
  add_file(text, name, [&all](const json& file) {
    if (!file.contains("cornerturn")) throw failure("found no bench, wanted a result file of `cornerturn bench`");
    bench_run run = bench_of(file);
    const auto same = [&run](const bench_run& one) { return one.device == run.device && one.arch == run.arch; };
    if (std::ranges::none_of(all.benches, same)) {
      const std::string found = all.benches.empty() ? "no device" : all.benches.front().device;
      throw failure(fmt::format("measured on {}, but the page is about {}", run.device, found));
    }
    all.before.push_back(std::move(run));
  });
}

}  // namespace cornerturn::cli
