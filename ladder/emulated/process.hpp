// Runs a program and collects what it prints.
#pragma once

#include <string>
#include <vector>

namespace cornerturn::ladder {

struct finished {
  int code = 0;         // of the exit; -1: the program was not found
  std::string printed;  // on both streams
};
[[nodiscard]] finished run_program(const std::vector<std::string>& words);

}  // namespace cornerturn::ladder
