#include "command.hpp"

#include "cli/app.hpp"

namespace cornerturn::python {

int run_command(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& one : arguments) pointers.push_back(one.c_str());
  return cli::run(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace cornerturn::python
