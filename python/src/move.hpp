// From two views of memory to a problem of the library, and running it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn::python {

enum class home { host, cuda };

// Memory of somebody else's array; extents and strides are borrowed from it.
struct view {
  void* data = nullptr;  // of index 0
  std::int64_t element_bytes = 0;
  int rank = 0;
  const std::int64_t* extents = nullptr;
  const std::int64_t* strides = nullptr;  // null: packed, row-major
  std::int64_t stride_bytes = 1;          // of one unit of the strides
  home where = home::host;
};

// Errors  ValueError: out has another shape than x with these axes
void check_shape(const view& x, const axis_list& axes, const view& out);

// Effect  what moves x, with its axes in this order, to out; without an out: to a packed, row-major array
// Shape   axes of extent 1 are dropped. Byte strides that are no multiples of the element, as of a field of a record,
//         make one more axis, of the element's parts
// Errors  ValueError: more than max_rank axes are longer than 1
[[nodiscard]] problem make_problem(const view& x, const axis_list& axes, const view* out = nullptr);

// A plan for one array's layout: what cornerturn.plan holds.
struct planned {
  problem what;
  axis_list axes;
  plan how;
};

// Effect  moves; other Python threads run meanwhile if it takes long
// Errors  those of cornerturn::move; ValueError: `held` is for another problem; RuntimeError: x lives on a CUDA device
//         and this build or this machine has none
void run(const view& x, const axis_list& axes, const view& out, void* stream, const planned* held);

// Effect  the last two axes of x, which is `at`, trade places in their own memory
// Returns x where they have one extent, else x.reshape() of the other shape: a view of the same memory
// Errors  as run; ValueError: there are no two axes; they differ and `at` is not packed; elements of x share memory
nb::object transpose_in_place(nb::handle x, const view& at, void* stream);

// Effect  None is the default stream; an int; or an object of __cuda_stream__, .cuda_stream (PyTorch), .ptr (CuPy) or
//         .handle (Numba)
[[nodiscard]] void* stream_of(nb::handle stream);

// "(3, 4)"
[[nodiscard]] std::string shape_text(int rank, const std::int64_t* extents, const axis_list* axes = nullptr);

// "a torch.Tensor", for sentences
[[nodiscard]] std::string kind_of(nb::handle object);

}  // namespace cornerturn::python
