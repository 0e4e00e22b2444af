// `cornerturn bench`: its options, and the files and streams of its results.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "app.hpp"
#include "base/numbers.hpp"
#include "bench/bench.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"
#include "fold.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

struct bench_options {
  bench::arguments given;
  std::vector<std::vector<std::int64_t>> shapes;
  std::optional<std::vector<int>> axes;
  device_choice device;
  std::string peers = "off";
  bool json = false;
  output_choice output;
};

// "16M:256M"
bool parse_size_range(const std::string& text, bench::arguments& given) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return false;
  const auto least = parse_size(std::string_view(text).substr(0, colon));
  const auto most = parse_size(std::string_view(text).substr(colon + 1));
  if (!least || !most || *most > std::int64_t{1} << 40) return false;
  given.random.least_bytes = *least;
  given.random.most_bytes = *most;
  given.size = text;
  return *least >= 64 && *most >= 2 * *least;
}

void require_kernel(const std::string& name) {
  std::vector<std::string> names;
  for (const kernel_info& one : kernel_list()) names.push_back(one.name);
  if (name.empty() || std::ranges::find(names, name) != names.end()) return;
  const auto meant = closest(name, names);
  throw failure(fmt::format("--kernel is \"{}\", {}", name,
                            meant ? fmt::format("which is no kernel of this build; did you mean {}?", *meant)
                                  : std::string("wanted a name that `cornerturn kernels` lists")),
                exit_usage);
}

int run_bench(const bench_options& options, const std::vector<std::string>& words) {
  bench::arguments given = options.given;
  require_device(options.device);
  require_kernel(given.kernel);
  given.gpu = options.device.kind == "cuda" ? options.device.gpu() : -1;
  given.peers = options.peers == "on";
  for (const std::vector<std::int64_t>& shape : options.shapes) {
    const auto axes = resolve_axes(options.axes, static_cast<int>(shape.size()), shape_text(shape), exit_usage);
    const array_axes array = folded({shape, axes});
    given.shapes.push_back({array.shape, array.axes});
  }
  if (options.axes && options.shapes.empty()) throw failure("--axes is given without a SHAPE, wanted both", exit_usage);
  if (options.json && options.output.path == "-")
    throw failure("--json and -o - both write to stdout, wanted one of them", exit_usage);
  if (options.json) require_stdout();
  // Opened first, so that a bad path fails before minutes of measuring.
  std::optional<output_file> file;
  if (!options.output.path.empty()) file.emplace(options.output.path, 0, options.output.rules);
  const bool is_stdout_taken = options.json || (file && file->is_stdout());
  std::FILE* const tables = given.list && (options.json || file) ? nullptr : is_stdout_taken ? stderr : stdout;
  const bench::outcome result = [&] {
    try {
      return bench::run(given, words, tables);
    } catch (const error& fault) {
      if (fault.code() != status::invalid_argument) throw;
      throw failure(fault.what(), exit_usage);  // a kernel that cannot run a case
    }
  }();
  if (options.json) print_safe("{}", result.file);
  if (file) {
    file->write_at(result.file, 0);
    file->publish();
  }
  return result.code;
}

void add_random(CLI::App& command, bench::arguments& given) {
  add_integer(command, "--seed",
              "random: the seed of the list of cases. One seed makes one list, on every machine. Default: 1",
              given.random.seed, 0, std::int64_t{1} << 62);
  add_integer(command, "--count", "random: cases, an equal number of each kind. Default: 100", given.random.count, 1,
              1000000);
  add_items(
      command, "--kinds", "KIND,...",
      "random: some of matrix, skinny, rank, copy, batch, in_place, odd, view, record. Default: all but the last two",
      "kinds of random cases with commas", [&given](const std::string& kind) {
        given.random.kinds.push_back(kind);
        return true;
      });
  add_integer(command, "--index", "random: only this case of each kind", given.random.index, 0, 1000000000);
  add_value(command, "--size", "MIN:MAX",
            "random: bytes of one side. Default: 16M:256M; GPU: 64M:1G; --hot: 64:1M; GPU: 16K:32M",
            "two sizes such as 16M:256M, of at least 64, the second at least twice the first",
            [&given](const std::string& text) { return parse_size_range(text, given); });
}

}  // namespace

void add_bench(CLI::App& app, command_line& chosen) {
  auto options = std::make_shared<bench_options>();
  bench::arguments& given = options->given;
  CLI::App& command = *app.add_subcommand("bench", "Measure the library, plain copies and other libraries");
  add_shapes(command, "SHAPE",
             "Arrays to permute, such as 4096x4096. Up to 256 KiB (GPU: 16 MiB) they are timed in cache",
             options->shapes);
  add_shapes(command, "--shape", "One more SHAPE; can be repeated", options->shapes);
  add_items(
      command, "--set", "NAME,...",
      "Sets of cases. CPU: plain, odd, pow2, small_types, skinny, batched, rank_n, hot, odd_elements, "
      "in_place_square, in_place_rectangle, quick, bars, all. GPU: pow2, odd, odd_small, skinny, batched, rank_n, "
      "small, rank_many, odd_elements, quick, bars, all. CPU and GPU: random, which cannot be combined with another "
      "set "
      "or a SHAPE. Default: quick",
      "sets of cases with commas", [&given](const std::string& name) {
        given.sets.push_back(name);
        return true;
      });
  add_text(command, "--case,--filter", "REGEX", "Only cases whose name matches this regular expression", given.pattern);
  auto bytes = std::make_shared<std::vector<std::int64_t>>();
  add_items(
      command, "--bytes", "SIZE,...", "Bytes of one element of each SHAPE. Default: 4; --dist: nine sizes from 1 to 24",
      "a number of bytes from 1 to 1.00 TiB, such as 4 or 1K, or a list with commas", [bytes](const std::string& text) {
        const auto read = parse_size(text);
        bytes->push_back(read.value_or(0));
        return read && *read >= 1 && *read <= std::int64_t{1} << 40;
      });
  add_axes(command, options->axes);
  add_device(command, options->device, {"auto", "cpu", "cuda"}, "Device to measure. Default: auto, the CPU");
  add_integers(
      command, "--threads", "Threads of the CPU. Default: 1 and all of them",
      [&given](std::int64_t value) { given.threads.push_back(static_cast<int>(value)); }, 1, 4096);
  add_integer(command, "--rounds", "Timed runs of each contender. Default: 9; GPU: 7; random: 6", given.rounds, 1,
              100000);
  add_value(
      command, "--min-time", "SECONDS",
      "CPU: repeat each case until the runs of cornerturn take this time together. Default: 0, which means --rounds",
      "a number of seconds from 0 to 3600", [&given](const std::string& text) {
        return base::read_number(text, given.min_time) && given.min_time >= 0 && given.min_time <= 3600;
      });
  add_choice(command, "--peers", "Time the other libraries that are found, too. Default: off", {"on", "off"},
             options->peers);
  add_integer(command, "--placements", "GPU: measure everything N times, each time in other memory. Default: 1",
              given.placements, 1, 1000);
  add_text(command, "--kernel", "NAME", "Force one kernel: a name that `cornerturn kernels` lists", given.kernel);
  add_random(command, given);
  add_flag(command, "--hot",
           "Time every SHAPE and random case in cache, whatever its size: one pair of buffers again and again. GPU: in "
           "a graph",
           given.hot);
  add_flag(
      command, "--regret",
      "Also time every other kernel that accepts the case. Print the regret: the time of the chosen kernel divided by "
      "the time of the fastest one",
      given.regret);
  add_flag(command, "--dist",
           "Measure transposes between the GPUs of this process instead of cases, against copies by their copy engines",
           given.dist);
  auto slabs = std::make_shared<std::vector<std::int64_t>>();
  add_items(command, "--slab", "SIZE,...",
            "--dist: bytes on each GPU; a run takes four times as much memory. Default: 2G",
            "sizes from 1M to 1T, such as 64M,16G", [slabs](const std::string& text) {
              const auto read = parse_size(text);
              slabs->push_back(read.value_or(0));
              return read && *read >= std::int64_t{1} << 20 && *read <= std::int64_t{1} << 40;
            });
  add_flag(command, "--huge", "Ask for 2 MiB pages", given.huge);
  add_flag(command, "--list", "Print the names of the chosen cases and stop; as JSON with --json or -o", given.list);
  add_flag(command, "--check-bars",
           "Compare the results with the bars, the slowest speeds that are accepted: bench/bars.inc, GPU: "
           "bench/gpu_bars.inc. A slower result is exit code 1",
           given.bars);
  add_json(command, options->json);
  add_output(command, options->output, "Write the results to this file, for `report --from` and bench/table.py");
  command.footer("docs/measuring.md describes the method. With --json the tables are printed on stderr.");
  command.callback([options, bytes, slabs, &chosen] {
    if (!bytes->empty()) options->given.element_bytes = options->given.dist_bytes = *bytes;
    if (!slabs->empty()) options->given.slabs = *slabs;
    chosen.action = [options, words = chosen.words] { return run_bench(*options, words); };
  });
}

}  // namespace cornerturn::cli
