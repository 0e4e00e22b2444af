// `cornerturn calibrate`: measures this machine, and writes the file of the constants that later plans use.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "bench/bench.hpp"
#include "commands.hpp"
#include "cornerturn/machine.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::int64_t most_file_bytes = std::int64_t{1} << 20;

// The library reads all files of this folder whose names are machine-*.json.
std::string file_for(const std::string& name) {
  std::string folder = base::environment("XDG_CONFIG_HOME");
  if (folder.empty()) {
    folder = base::environment("HOME");
    if (folder.empty()) throw failure("HOME is not set, wanted -o FILE", exit_usage);
    folder += "/.config";
  }
  folder += "/cornerturn";
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  return folder + "/machine-" + name + ".json";
}

// Before the measurement: its minutes are not lost to a folder that cannot take the file.
void require_folder_of(const std::string& file) {
  const std::filesystem::path above = std::filesystem::path(file).parent_path();
  const std::string folder = above.empty() ? "." : above.string();
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw failure(fmt::format("{}: cannot be written: {}", folder, base::error_text(errno)));
}

std::string minutes_text(double seconds) {
  const int whole = static_cast<int>(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// A line at each tenth second.
class lines_of_progress {
 public:
  explicit lines_of_progress(double minutes) : all_(60 * minutes) {}
  void show(std::size_t problems, double seconds) {
    if (seconds < next_) return;
    next_ = seconds + 10;
    print_safe(stderr, "{} problems in {}, {} left\n", problems, minutes_text(seconds),
               minutes_text(std::max(0.0, all_ - seconds)));
  }

 private:
  double all_, next_ = 0;
};

std::string regret_text(const bench::regret_of_all& one) {
  return fmt::format("{:.3f} in the mean, {:.2f} at most", one.mean, one.worst);
}

void print_json(const bench::calibration& made, const std::string& file) {
  const auto both = [](const bench::regret_of_all& one) {
    return nlohmann::ordered_json{{"mean", one.mean}, {"worst", one.worst}};
  };
  const nlohmann::ordered_json report = {{"machine", made.name},        {"file", base::printable(file)},
                                         {"fitted", made.fitted},       {"held_out", made.held_out},
                                         {"before", both(made.before)}, {"after", both(made.after)},
                                         {"numbers", made.numbers},     {"changed", made.changed}};
  print_safe("{}\n", report.dump(-1, ' ', true));
}

}  // namespace

int run_calibrate(const calibrate_request& options) {
  require_device(options.device);
  require_folder_of(options.file.empty() ? file_for("") : options.file);
  const bool on_gpu = options.device.kind == "cuda";
  lines_of_progress lines(options.minutes);
  const bench::calibration made = bench::calibrate({.gpu = on_gpu ? options.device.gpu() : -1,
                                                    .minutes = options.minutes,
                                                    .threads = options.threads,
                                                    .seed = options.seed},
                                                   [&](std::size_t problems, double seconds) {
                                                     if (!options.quiet) lines.show(problems, seconds);
                                                   });
  const std::string file = options.file.empty() ? file_for(made.name) : options.file;
  base::change_file(file, most_file_bytes, [&](const std::string&) { return made.text; });
  load_machine(file);
  if (options.json) {
    print_json(made, file);
    return exit_ok;
  }
  if (!on_gpu) {
    print_safe("{} of block sizes, limits and prefetch distances changed\n",
               count_text(static_cast<std::int64_t>(made.numbers), "number"));
  }
  print_safe("{} fitted problems, {} held out. Regret, the time of the chosen kernel over the fastest one's:\n",
             made.fitted, made.held_out);
  print_safe("  before  {}\n  after   {}\n", regret_text(made.before), regret_text(made.after));
  if (made.changed == 0) {
    print_safe("The old constants stay: the fitted ones choose no faster kernels\n");
  } else {
    print_safe("{} of kernels changed\n", count_text(static_cast<std::int64_t>(made.changed), "constant"));
  }
  print_safe(
      "Wrote {}: {}\n", file,
      options.file.empty() ? "later plans use it" : "later plans of programs with CORNERTURN_MACHINE_FILE use it");
  return exit_ok;
}

}  // namespace cornerturn::cli
