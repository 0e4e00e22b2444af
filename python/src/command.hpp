// The `cornerturn` command, for the script that pip installs.
#pragma once

#include <string>
#include <vector>

namespace cornerturn::python {

// Effect  runs the command with these arguments, the name of the program first
// Returns its exit code, or -1 in a build without the command
[[nodiscard]] int run_command(const std::vector<std::string>& arguments);

}  // namespace cornerturn::python
