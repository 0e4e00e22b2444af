// Converts two views of memory to a problem of the library, and executes it.
//
// First Python, then memory: a caller runs all Python code (iterators of axes, attributes, conversions, allocations) before
// it takes a view. From the view on, no Python code runs until the move is done. Only errors make text of Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"
#include "text.hpp"

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
  bool is_read_only = false;
};

// Returns the bytes of all elements
// Errors  ValueError: 2^63 or more
[[nodiscard]] std::int64_t bytes_of(const view& x);

// Returns whether the shape of out is the permuted shape of x
[[nodiscard]] bool has_shape(const view& x, const axis_list& axes, const view& out);

// Errors  ValueError: the shape of out is not the permuted shape of x
void check_shape(const view& x, const axis_list& axes, const view& out, const char* name = "out");

// Effect  returns the problem that copies x, with permuted axes, to out; a null out means a packed, row-major array
// Shape   axes of extent 1 are dropped. Byte strides that are not multiples of the element size, such as of a record
//         field, add one more axis for the parts of an element. More than max_rank axes are folded where both arrays are
//         contiguous. An axis of extent 1 has no stride. Elements of no byte make an empty problem
// Errors  ValueError: more than max_rank axes are left, which only `run` takes; a stride of 2^63 bytes or more
[[nodiscard]] problem make_problem(const view& x, const axis_list& axes, const view* out = nullptr);

// The state of cornerturn.plan: a plan for one layout.
struct planned {
  std::vector<std::int64_t> extents;  // of x
  std::int64_t element_bytes = 0;     // of x
  problem what;
  axis_list axes;
  plan how;
  memory_kind where = memory_kind::host;
  int threads = 0;     // as the caller gave them
  std::string kernel;  // empty: the planner chose it
  bool measure = false;
};

// Errors  ValueError: `what`, the problem of x, is not the plan's
void check_fits(const planned& held, const problem& what, const view& x);

// How to execute a copy.
struct execution {
  void* stream = nullptr;         // on a GPU
  const planned* held = nullptr;  // the caller's plan, for this problem only
  int threads = 0;                // on the CPU, without `held`; 0: all threads of the process
  bool has_lock = true;           // the caller holds the interpreter lock
};

// Effect  executes the copy; a long copy releases the interpreter lock. One of 32 MiB or more in host memory also runs signal
//         handlers: if one raises, such as for Ctrl-C, out is unspecified
// Errors  the exception of a signal handler; as cornerturn::execute; as check_fits; RuntimeError: x is on a CUDA device, but this
//         build or this machine has none
void run(const view& x, const axis_list& axes, const view& out, const execution& how);

// Effect  dst = src, for the copies of a framework. Requires equal shapes, at least 64 KiB, and different orders of the
//         axes in memory
// Returns false, without a copy, if these conditions do not hold or the library refuses the problem
[[nodiscard]] bool copy_permuted(const view& dst, const view& src, const execution& how);

// The arrays of arithmetic.
struct arithmetic_arrays {
  view x, out;
  std::optional<view> second{};
  std::optional<view> scale{};  // one float32
};

// Effect  executes x, second and out with arithmetic: see arithmetic.hpp. `math` has the types
// Shape   out has the permuted shape of x, and second the shape of out
// Errors  as run; ValueError: a stride is not a multiple of the element size; an array has elements of another size than its type
void run_arithmetic(const arithmetic_arrays& all, const axis_list& axes, const arithmetic& math, const execution& how);

// Errors  RuntimeError: this build or this machine has no CUDA device
void check_cuda();

// Returns whether the transpose of `at` in place has another shape
// Errors  ValueError: fewer than two axes; the last two extents differ and `at` is not packed
[[nodiscard]] bool changes_shape(const view& at);

// Effect  transposes the last two axes of `at` in place
// Errors  as run and changes_shape; ValueError: elements of x share memory
void run_in_place(const view& at, const execution& how);

// Returns the shape of x after the transpose
[[nodiscard]] nb::tuple transposed_shape(const view& x);

// Effect  converts a stream: None (the default stream), an int, or an object with __cuda_stream__, .cuda_stream
//         (PyTorch), .ptr (CuPy) or .handle (Numba)
[[nodiscard]] void* stream_of(nb::handle stream);

// Returns "(3, 4)"
[[nodiscard]] std::string shape_text(int rank, const std::int64_t* extents, const axis_list* axes = nullptr);
}  // namespace cornerturn::python
