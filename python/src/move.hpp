// Converts two views of memory to a problem of the library, and executes it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn::python {

enum class memory_kind { host, cuda };

// The memory of a caller's array. extents and strides point into the array's own data.
struct view {
  void* data = nullptr;  // address of index 0
  std::int64_t element_bytes = 0;
  int rank = 0;
  const std::int64_t* extents = nullptr;
  const std::int64_t* strides = nullptr;  // null: packed, row-major
  std::int64_t stride_bytes = 1;          // bytes of one unit of the strides
  memory_kind where = memory_kind::host;
};

// Errors  ValueError: the shape of out is not the permuted shape of x
void check_shape(const view& x, const axis_list& axes, const view& out);

// Effect  returns the problem that copies x, with permuted axes, to out; a null out means a packed, row-major array
// Shape   axes of extent 1 are dropped. Byte strides that are not multiples of the element size, such as of a record
//         field, add one more axis for the parts of an element
// Errors  ValueError: more than max_rank axes are longer than 1
[[nodiscard]] problem make_problem(const view& x, const axis_list& axes, const view* out = nullptr);

// The state of cornerturn.plan: a plan for one layout.
struct planned {
  problem what;
  axis_list axes;
  plan how;
};

// Effect  executes the copy; a long copy releases the interpreter lock
// Errors  as cornerturn::move; ValueError: `held` is for another problem; RuntimeError: x is on a CUDA device, but this
//         build or this machine has none
void run(const view& x, const axis_list& axes, const view& out, void* stream, const planned* held);

// Effect  transposes the last two axes of x in place; `at` is the memory of x
// Returns x if their extents are equal, else x.reshape() with the transposed shape: a view of this memory
// Errors  as run; ValueError: x has fewer than two axes; the extents differ and `at` is not packed; elements of x share
//         memory
nb::object transpose_in_place(nb::handle x, const view& at, void* stream);

// Effect  converts a stream: None (the default stream), an int, or an object with __cuda_stream__, .cuda_stream
//         (PyTorch), .ptr (CuPy) or .handle (Numba)
[[nodiscard]] void* stream_of(nb::handle stream);

// Returns "(3, 4)"
[[nodiscard]] std::string shape_text(int rank, const std::int64_t* extents, const axis_list* axes = nullptr);

// Returns "torch.Tensor", for error sentences
[[nodiscard]] std::string kind_of(nb::handle object);

}  // namespace cornerturn::python
