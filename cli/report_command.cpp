// `cornerturn report`: measures, or reads result files, and writes one HTML page.
#include <fmt/format.h>

#include <iostream>
#include <optional>

#include "base/files.hpp"
#include "base/text_stream.hpp"
#include "bench/bench.hpp"
#include "commands.hpp"
#include "output_file.hpp"
#include "print.hpp"
#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

struct workload {
  std::vector<ladder::matrix_shape> ladder_shapes;
  int repetitions;
  std::vector<std::vector<std::int64_t>> shapes;  // of the bench
  int rounds = 0;                                 // of the bench; 0: its default
};

// Returns the measurements of a run without --from. The sides are multiples of 16, so that all rungs accept them.
workload workload_for(bool on_gpu, bool quick) {
  if (quick) return {{{1024, 1024}}, 3, {{512, 512}, {1024, 1024}}, 3};
  if (!on_gpu) {
    return {{{4096, 4096}, {5008, 7008}},
            9,
            {{512, 512}, {1024, 1024}, {2048, 2048}, {4096, 4096}, {5008, 7008}, {8192, 8192}}};
  }
  return {{{8192, 8192}, {16384, 16384}},
          9,
          {{4096, 4096}, {8192, 8192}, {10000, 14000}, {16384, 16384}, {20000, 28000}, {32768, 32768}}};
}

void measure_ladder(report& all, const workload& work, bool on_gpu) {
  constexpr int word_bytes = 4, threads = 1;
  std::vector<ladder::timing> times;
  for (const ladder::matrix_shape& shape : work.ladder_shapes) {
    const auto more = on_gpu ? ladder::time_rungs(shape, word_bytes, work.repetitions)
                             : bench::time_cpu_ladder(shape, word_bytes, work.repetitions, threads);
    ladder::print_table(std::cout, more);
    std::cout.flush();
    times.insert(times.end(), more.begin(), more.end());
  }
  base::text_stream file;
  ladder::write_json(file, on_gpu ? ladder::this_device() : bench::cpu_ladder_here(threads), times);
  add_result(all, file.str(), "the ladder");
}

// Returns the exit code of the bench: 1 for a wrong result. The page also shows wrong results.
int measure_cases(report& all, const workload& work, int gpu) {
  bench::arguments given;
  given.gpu = gpu;
  given.rounds = work.rounds;
  given.peers = gpu >= 0 || !bench::linked_peers().empty();
  std::vector<std::string> words = {"cornerturn", "bench", "--device", gpu < 0 ? "cpu" : fmt::format("cuda:{}", gpu)};
  if (work.rounds > 0) words.insert(words.end(), {"--rounds", fmt::format("{}", work.rounds)});
  if (given.peers) words.insert(words.end(), {"--peers", "on"});
  for (const std::vector<std::int64_t>& shape : work.shapes) {
    given.shapes.push_back({shape, {1, 0}});
    words.push_back(shape_text(shape));
  }
  const bench::outcome measured = bench::run(given, words, stdout);
  add_result(all, measured.file, "the bench");
  return measured.code;
}

// The largest result file of the repository has 0.7 MB.
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

std::string content_of(const std::string& name) {
  try {
    return base::read_file(name, most_bytes, "a result file");
  } catch (const base::file_error& fault) {
    const int number = fault.error_number();
    throw failure(fmt::format("{}: {}", name, number == 0 ? fault.what() : "cannot read: " + error_text(number)));
  }
}

void check_result(const std::string& text, const std::string& name) {
  report alone;
  add_result(alone, text, name);
}

std::string file_name_of(const std::string& name) { return name.substr(name.find_last_of('/') + 1); }

}  // namespace

int run_report(const report_options& options) {
  require_device(options.device);
  output_file page(options.output.path, 0, options.output.rules);  // fail before minutes of measuring, not after
  report all;
  int code = exit_ok;
  std::optional<output_file> save;
  if (!options.save.empty()) save.emplace(options.save, 0);
  const std::string earlier = options.since.empty() ? "" : content_of(options.since);
  if (!options.since.empty()) check_result(earlier, options.since);
  for (const std::string& name : options.from) {
    add_result(all, content_of(name), name);
    all.files.push_back(file_name_of(name));
  }
  if (options.from.empty()) {
    const bool on_gpu = options.device.kind != "cpu" && ladder::absence().empty();
    if (on_gpu && options.device.ordinal >= 0) ladder::use_device(options.device.ordinal);
    const workload work = workload_for(on_gpu, options.quick);
    measure_ladder(all, work, on_gpu);
    code = measure_cases(all, work, on_gpu ? options.device.gpu() : -1);
  }
  if (save) {
    save->write_at(all.measured, 0);
    save->publish();
  }
  if (!options.since.empty()) add_earlier(all, earlier, options.since);
  const std::string text = page_of(all);
  page.write_at(text, 0);
  page.publish();
  print_safe(page.is_stdout() ? stderr : stdout, "{}: {}\n", options.output.path,
             bytes_text(static_cast<std::int64_t>(text.size())));
  return code;
}

}  // namespace cornerturn::cli
