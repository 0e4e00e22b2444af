// `cornerturn report`: measures, or reads result files, and writes one HTML page.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

#include "bench/bench.hpp"
#include "commands.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

struct workload {
  std::vector<ladder::matrix_shape> ladder_shapes;
  int repetitions;
  std::vector<std::string> bench;  // arguments
};

// Returns the measurements of a run without --from. The sides are multiples of 16, so that all rungs accept them.
workload workload_for(bool on_gpu, bool quick) {
  if (quick) return {{{1024, 1024}}, 3, {"--rounds", "3", "--shape", "512x512", "--shape", "1024x1024"}};
  workload made{{{4096, 4096}, {5008, 7008}}, 9, {}};
  std::vector<std::string> shapes = {"512x512", "1024x1024", "2048x2048", "4096x4096", "5008x7008", "8192x8192"};
  if (on_gpu) {
    made.ladder_shapes = {{8192, 8192}, {16384, 16384}};
    shapes = {"4096x4096", "8192x8192", "10000x14000", "16384x16384", "20000x28000", "32768x32768"};
  }
  for (std::string& shape : shapes) made.bench.insert(made.bench.end(), {"--shape", std::move(shape)});
  return made;
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
  std::ostringstream file;
  ladder::write_json(file, on_gpu ? ladder::this_device() : bench::cpu_ladder_here(threads), times);
  add_result(all, file.str(), "the ladder");
}

// Returns the exit code of the bench: 1 for a wrong result. The page also shows wrong results.
int measure_cases(report& all, const workload& work, bool on_gpu) {
  std::vector<std::string> words = {"--device", on_gpu ? "cuda:0" : "cpu"};
  words.insert(words.end(), work.bench.begin(), work.bench.end());
  if (on_gpu || !bench::linked_peers().empty()) words.insert(words.end(), {"--peers", "on"});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::string file;
  const int code = bench::main(static_cast<int>(argv.size()), argv.data(), &file);
  if (file.empty()) throw failure("nothing was measured", static_cast<exit_code>(code));
  add_result(all, file, "the bench");
  return code;
}

std::string content_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw failure(fmt::format("cannot read {}", name));
  return text;
}

void check_result(const std::string& text, const std::string& name) {
  report alone;
  add_result(alone, text, name);
}

std::string file_name_of(const std::string& name) { return name.substr(name.find_last_of('/') + 1); }

}  // namespace

int run_report(const report_options& options) {
  output_file page(options.output, 0);  // fail before minutes of measuring, not after
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
    const bool on_gpu = ladder::absence().empty();
    const workload work = workload_for(on_gpu, options.quick);
    measure_ladder(all, work, on_gpu);
    code = measure_cases(all, work, on_gpu);
  }
  if (save) {
    save->write_at(all.measured, 0);
    save->publish();
  }
  if (!options.since.empty()) add_earlier(all, earlier, options.since);
  const std::string text = page_of(all);
  page.write_at(text, 0);
  page.publish();
  fmt::print("{}: {}\n", options.output, bytes_text(static_cast<std::int64_t>(text.size())));
  return code;
}

}  // namespace cornerturn::cli
