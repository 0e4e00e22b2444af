// Doors: how an array of any framework becomes a view of memory.
//
//   1. a door is made: it runs all Python code that it needs, and checks and holds what it found;
//   2. look() returns the view. It runs no Python code, so that no view is older than the last Python code.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "dlpack.hpp"
#include "move.hpp"

namespace cornerturn::python {

enum class access { read, write };

class door {
 public:
  // Takes an ndarray, a tensor, a capsule of DLPack, a dict of __cuda_array_interface__, or as cornerturn/_frameworks.py
  // describes arrays: (pointer, shape, strides in bytes, bytes of an element, is it on CUDA). Anything else is described by
  // that module
  // Errors  TypeError: no array; elements that cannot be moved.  ValueError: another device; read-only, but access::write
  explicit door(nb::handle array, const char* name = "x", access wanted = access::read);
  door(const door&) = delete;
  door& operator=(const door&) = delete;
  door(door&&) = default;

  // Returns the memory and the layout as they are at this moment. The view points into this object or into the array
  [[nodiscard]] view look() const;

  // Returns the text of element.hpp; empty for NumPy, PyTorch and CuPy, whose dtypes the caller compares
  [[nodiscard]] const std::string& type() const noexcept { return type_; }

  // Returns whether Python described the memory, so it is neither an ndarray nor a tensor
  [[nodiscard]] bool is_described() const noexcept { return how_ == kind::fixed; }

 private:
  enum class kind { numpy, torch, fixed };
  void describe(nb::handle memory, const char* name);
  void take_capsule(nb::handle capsule, const char* name);
  void take_interface(nb::handle fields, const char* name);
  void take_tuple(nb::handle tuple, const char* name);

  kind how_ = kind::fixed;
  nb::object array_;  // holds the memory
  std::optional<dlpack_tensor> tensor_;
  view fixed_;
  std::vector<std::int64_t> extents_, strides_;
  std::string type_;
};

// Errors  ValueError: both doors know their types of elements, and these differ
void check_equal_types(const door& x, const door& out);

// Returns a function of cornerturn/_frameworks.py
[[nodiscard]] nb::object frameworks(const char* name);

}  // namespace cornerturn::python
