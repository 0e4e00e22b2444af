// Capsules of DLPack, old and versioned. They are read here: nanobind's reader would copy some arrays and raise its own
// errors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>

#include "element.hpp"

namespace cornerturn::python {

namespace nb = nanobind;

struct dlpack_tensor {
  std::unique_ptr<void, void (*)(void*)> owner;  // its end runs code of the framework: after the move
  const nb::dlpack::dltensor* is;
  bool is_read_only;
  element_facts type;
};

// Effect  takes the tensor of a capsule, which has none from then on; `name` is x, out or second
// Errors  TypeError: not a capsule of a tensor; a capsule without its tensor; elements that cannot be moved.
//         ValueError: another version of DLPack; a negative extent; more than 64 axes; no shape
[[nodiscard]] dlpack_tensor take_tensor(nb::handle capsule, const char* name);

}  // namespace cornerturn::python
