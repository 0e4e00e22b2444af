// The machines that the planner knows: their files have the constants of its predictions. `cornerturn calibrate` writes one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/plan.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

struct machine_info {
  std::string name;    // "zen4": offer_options::machine takes it
  std::string what;    // "AMD EPYC of the 4th generation"
  std::string date;    // of the measurement: "2026-11-25"
  std::string origin;  // "built in", or the path of the file
  bool is_gpu = false;
  bool measured = false;  // else the file has the attributes of the machine only
};

// Effect  returns all machines that the planner knows, those that were read later last
[[nodiscard]] std::vector<machine_info> machines();

// Effect  returns the machine whose constants predict the times of offer_options::machine: the nearest measured one
// Errors  as offers()
[[nodiscard]] machine_info machine_in_use(const std::string& machine = {});

// Effect  returns the text of a machine file: the attributes of offer_options::machine, and the constants of machine_in_use()
// Errors  as offers()
[[nodiscard]] std::string machine_text(const std::string& machine = {});

// Effect  later plans use the constants of the file on machines that no other file is nearer to. A process reads the file of
//         CORNERTURN_MACHINE_FILE, or else cornerturn/machine-*.json in XDG_CONFIG_HOME (~/.config), before its first plan
// Errors  invalid_argument: the file cannot be read or is no machine file; then it is ignored
void load_machine(const std::string& file);

struct calibrate_options {
  std::string device = "cpu";          // "cpu", "cuda" or "cuda:N"
  double minutes = 3;                  // approximate time of the measurement
  int threads = 1;                     // of each problem on the CPU
  std::int64_t seed = 1;               // of the random problems
  std::string file{};                  // the machine file to write; "": one that all later programs of this user read
  std::string command = "cornerturn";  // the command that measures: a path, or a name that PATH has
  bool quiet = true;                   // else the command prints its progress on stderr
};

struct calibration {
  // The time of the chosen kernel over the time of the fastest one, for the problems that were held out.
  struct regret {
    double mean = 1;  // geometric
    double worst = 1;
  };
  std::string machine;        // the name in the file
  std::string file;           // its path
  std::int64_t fitted = 0;    // problems
  std::int64_t held_out = 0;  // problems that the fit did not see
  regret before;              // with the old constants
  regret after;               // with the new ones
  std::int64_t numbers = 0;   // CPU: block sizes, limits and prefetch distances that changed
  std::int64_t changed = 0;   // kernels whose constants changed; 0: the old constants stay
};

// Effect  measures this machine: runs `cornerturn calibrate` in a process of its own, and loads the file that it writes. Random
//         problems run with each kernel that accepts them, so other programs that run meanwhile make the result worse
// Cost    options.minutes
// Errors  invalid_argument: an option is not valid, or the time was too short for a fit. io_error: the command cannot be run, or
//         it failed. The sentence is the command's
calibration calibrate(const calibrate_options& options = {});

// Returns a sentence for each file of the environment that was ignored
[[nodiscard]] std::vector<std::string> ignored_machine_files();

}  // namespace cornerturn
#pragma GCC visibility pop
