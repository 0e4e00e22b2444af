// `cornerturn ladder`: times the teaching rungs on this machine's GPU, or on its CPU, and prints a table.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "base/text_stream.hpp"
#include "bench/bench.hpp"
#include "commands.hpp"
#include "ladder_options.hpp"
#include "output_file.hpp"
#include "print.hpp"

namespace cornerturn::cli {
namespace {

const char* vendor_of(const std::string& device) { return device == "hip" ? "HIP" : "CUDA"; }

std::vector<ladder::matrix_shape> shapes_of(const ladder_options& options, bool on_gpu) {
  if (options.shapes.empty() && on_gpu) return {{8192, 8192}, {16384, 16384}};
  if (options.shapes.empty()) return {{4096, 4096}, {5008, 7008}};
  std::vector<ladder::matrix_shape> made;
  for (const auto& shape : options.shapes) {
    made.push_back(ladder_shape(shape));
    if (!on_gpu && shape.size() != 2)
      throw failure(fmt::format("{}: wanted one matrix, RxC, for the CPU", shape_text(shape)), exit_usage);
  }
  return made;
}

void expect_rung(const ladder_options& options, bool on_gpu) {
  const auto has = [&](const auto& rungs) {
    return std::ranges::any_of(rungs, [&](const auto& one) {
      return one.word_bytes == options.element_bytes && ladder::is_named(one_name(one), options.rung);
    });
  };
  if (on_gpu && ladder::find_rung(options.rung, options.element_bytes) == nullptr)
    throw no_such_rung(options.rung, ladder::rungs(), options.element_bytes);
  if (!on_gpu && !ladder::is_named("00_copy", options.rung) && !ladder::is_named("90_library", options.rung) &&
      !has(ladder::cpu_rungs()))
    throw no_such_rung(options.rung, ladder::cpu_rungs(), options.element_bytes);
}

// Returns a sentence if the rungs cannot run on this device, else an empty string.
std::string why_not(const std::string& device) {
  const std::string built = ladder::vendor_device();
  if (device != "auto" && device != "cpu" && !built.empty() && device != built) {
    return fmt::format(
        "this build has {}, not {}: configure with -DCORNERTURN_{}=ON and -DCORNERTURN_{}=OFF for --device {}",
        vendor_of(built), vendor_of(device), vendor_of(device), vendor_of(built), device);
  }
  return ladder::absence();
}

}  // namespace

int run_ladder(const ladder_options& options) {
  if (!options.file.empty() && options.device != "emulated")
    throw failure(fmt::format("\"{}\" is a FILE for --device emulated. Wanted: that option, or -o FILE for the result",
                              options.file),
                  exit_usage);
  if (options.device == "emulated") return run_emulated_ladder(options);
  if (options.device == "cuda") require_device({options.device, options.gpu});  // the sentence of all commands
  const std::string why = why_not(options.device);
  if (!why.empty() && options.device != "auto" && options.device != "cpu") {
    throw failure(why + (ladder::has_emulator() ? ". Wanted: --device emulated, which needs no GPU, or --device cpu"
                                                : ". Wanted: --device cpu"),
                  exit_no_device);
  }
  const bool on_gpu = options.device != "cpu" && why.empty();
  if (on_gpu && options.gpu >= 0) ladder::use_device(options.gpu);
  if (options.json) require_stdout();
  std::optional<output_file> file;  // opened first, so that a bad path fails before the measurement
  if (!options.output.path.empty()) file.emplace(options.output.path, 0, options.output.rules);
  std::ostream& tables = options.json || (file && file->is_stdout()) ? std::cerr : std::cout;
  const auto shapes = shapes_of(options, on_gpu);
  if (!options.rung.empty()) expect_rung(options, on_gpu);
  if (options.check) {
    const int wrong = on_gpu ? ladder::check_rungs(tables) : ladder::check_cpu_rungs(tables);
    if (options.json) print_safe("{{\"device\": \"{}\", \"wrong\": {}}}\n", on_gpu ? "gpu" : "cpu", wrong);
    return wrong == 0 ? exit_ok : exit_failure;
  }
  const int threads = options.threads;
  const ladder::timed_on where = on_gpu ? ladder::this_device() : bench::cpu_ladder_here(threads);
  if (!on_gpu)
    tables << fmt::format("{}, {}, {} thread{}\n", where.device, where.arch, threads, threads == 1 ? "" : "s");
  tables.flush();
  std::vector<ladder::timing> times;
  for (const ladder::matrix_shape& shape : shapes) {
    const auto more =
        on_gpu ? ladder::time_rungs(shape, options.element_bytes, options.repetitions, options.rung)
               : bench::time_cpu_ladder(shape, options.element_bytes, options.repetitions, threads, options.rung);
    ladder::print_table(tables, more);
    tables.flush();
    times.insert(times.end(), more.begin(), more.end());
  }
  base::text_stream text;
  ladder::write_json(text, where, times);
  if (options.json) print_safe("{}", text.str());
  if (file) {
    file->write_at(text.str(), 0);
    file->publish();
  }
  return exit_ok;
}

}  // namespace cornerturn::cli
