// The memory of any array: NumPy's and PyTorch's directly, others as cornerturn/_frameworks.py describes them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "move.hpp"

namespace cornerturn::python {

// Memory described by Python: a DLPack capsule, or (pointer, shape, strides in bytes, bytes of an element, is it on CUDA).
// The view points into this object.
struct described {
  // Errors  ValueError: another device; RuntimeError: the capsule is read-only, but `writable` is set
  explicit described(nb::handle memory, bool writable = false);
  described(const described&) = delete;
  described& operator=(const described&) = delete;

  view is;
  std::vector<std::int64_t> extents, strides;
  std::optional<nb::ndarray<nb::ro>> capsule;
};

// Returns a function of cornerturn/_frameworks.py
[[nodiscard]] nb::object frameworks(const char* name);

// Effect  returns the memory of an array of any framework; `kept` owns it if the array itself does not
[[nodiscard]] view look_at(nb::handle x, std::optional<described>& kept, const char* name = "x");

}  // namespace cornerturn::python
