// The `cornerturn` command, for the script that pip installs.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

namespace nb = nanobind;

// Effect  runs the command with these arguments, the name of the program first. A str is a name of a file: it may have the
//         surrogates of os.fsdecode()
// Returns its exit code, or -1 in a build without the command
[[nodiscard]] int run_command(const nb::list& arguments);

}  // namespace cornerturn::python
