// The machines that the planner knows: their files have the constants of its predictions. `cornerturn calibrate` writes one.
#pragma once

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

// Returns a sentence for each file of the environment that was ignored
[[nodiscard]] std::vector<std::string> ignored_machine_files();

}  // namespace cornerturn
#pragma GCC visibility pop
