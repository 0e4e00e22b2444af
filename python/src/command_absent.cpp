#include "command.hpp"

namespace cornerturn::python {

int run_command(const std::vector<std::string>&) { return -1; }

}  // namespace cornerturn::python
