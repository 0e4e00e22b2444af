#include "command.hpp"

#include <vector>

#include "cli/app.hpp"

namespace cornerturn::python {

int run_command(const nb::list& arguments) {
  if (arguments.size() == 0) throw nb::type_error("the command has no arguments. Wanted: its name, and more");
  std::vector<nb::object> kept;
  std::vector<const char*> pointers;
  for (const nb::handle one : arguments) {
    PyObject* bytes = nullptr;  // as the operating system passed them, also if they are no UTF-8
    if (PyUnicode_FSConverter(one.ptr(), &bytes) == 0) throw nb::python_error();
    kept.push_back(nb::steal(bytes));
    pointers.push_back(PyBytes_AsString(bytes));
  }
  return cli::run(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace cornerturn::python
