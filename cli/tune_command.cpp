// `cornerturn tune`: times every kernel that accepts a problem in host memory, and stores the fastest one for later plans.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/tune.hpp"
#include "fold.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

using memory = std::unique_ptr<std::byte, decltype(&std::free)>;

// Every page is written: an array that was never written is one page of zeros to the system.
memory written_memory(std::int64_t bytes) {
  memory made(static_cast<std::byte*>(std::aligned_alloc(64, (static_cast<std::size_t>(bytes) + 63) / 64 * 64)),
              &std::free);
  if (made == nullptr) throw failure(fmt::format("no memory for an array of {}", bytes_text(bytes)));
  std::memset(made.get(), 0x5A, static_cast<std::size_t>(bytes));
  return made;
}

std::int64_t bytes_of(const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw failure(fmt::format("{}: an array of 2^63 bytes or more", shape_text(shape)), exit_usage);
  }
  if (bytes == 0)
    throw failure(fmt::format("{}: has no elements, wanted extents of 1 or more", shape_text(shape)), exit_usage);
  return bytes;
}

void print_json(const tune_request& options, const std::vector<int>& axes, const tune_result& found) {
  nlohmann::ordered_json report = {
      {"shape", options.shape},   {"axes", axes},       {"element_bytes", options.element_bytes},
      {"machine", found.machine}, {"file", found.file}, {"listed", found.listed}};
  report["trials"] = nlohmann::ordered_json::array();
  for (const tune_trial& one : found.trials) {
    report["trials"].push_back(
        {{"kernel", one.kernel}, {"threads", one.threads}, {"seconds", one.seconds}, {"runs", one.runs}});
  }
  print_safe("{}\n", report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void print_table(const tune_result& found, std::int64_t bytes) {
  std::size_t width = 6;
  for (const tune_trial& one : found.trials) width = std::max(width, std::strlen(one.kernel));
  print_safe("{:<{}}  {:>7}  {:>9}  {:>7}  {:>5}\n", "kernel", width, "threads", "median", "GB/s", "runs");
  for (const tune_trial& one : found.trials) {
    print_safe("{:<{}}  {:>7}  {:>9}  {:>7.2f}  {:>5}{}\n", one.kernel, width, one.threads, seconds_text(one.seconds),
               2 * static_cast<double>(bytes) / one.seconds * 1e-9, one.runs,
               std::string_view(one.kernel) == found.listed ? "  the planner's choice" : "");
  }
  if (found.file.empty()) {
    print_safe("stored in no file, wanted -o FILE, or the name of one in CORNERTURN_TUNE_FILE\n");
  } else {
    print_safe("{}: later plans of programs with CORNERTURN_TUNE_FILE={} use {}\n", found.machine, found.file,
               found.trials.front().kernel);
  }
}

}  // namespace

int run_tune(const tune_request& options) {
  if (options.file == "-") throw failure("-: is no file, wanted the name of a tuning file for -o", exit_usage);
  const std::vector<int> axes =
      resolve_axes(options.axes, static_cast<int>(options.shape.size()), shape_text(options.shape), exit_usage);
  const std::int64_t bytes = bytes_of(options.shape, options.element_bytes);
  const array_axes array = folded({options.shape, axes});
  const problem what = permute_problem(array.shape, array.axes, options.element_bytes);
  const memory src = written_memory(bytes), dst = written_memory(bytes);
  const tune_result found =
      tune(what, src.get(), dst.get(),
           {.device = device::cpu, .threads = options.threads, .seconds = options.seconds, .file = options.file});
  if (options.json) {
    print_json(options, axes, found);
  } else {
    print_table(found, bytes);
  }
  return exit_ok;
}

}  // namespace cornerturn::cli
