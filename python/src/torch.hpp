// PyTorch tensors without autograd or transformations, through the function table of torch.Tensor (DLPack 1.3).
// The table is about a microsecond faster than Python attributes. cornerturn/torch.py handles other tensors, such as
// tensors that record a gradient.
#pragma once

#include <nanobind/nanobind.h>

#include "axes.hpp"
#include "move.hpp"
#include "terms.hpp"

namespace cornerturn::python::torch {

// Effect  copies x with permuted axes to out, or to a new tensor on x's device, on the current stream of that device.
// Returns a null object if x (or out) is not a tensor, or needs more than a copy of its bytes
// Errors  ValueError: out has a wrong shape, dtype or device
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held);

// Effect  as permute, with arithmetic or a conversion, on the CPU only
// Returns a null object if permute would return one, or if _arithmetic.py must look at the arguments
// Errors  ValueError: the library refuses the arithmetic
nb::object compute(nb::handle x, const request& asked, nb::handle out, const terms& wanted);

// Effect  transposes the last two axes of x in place, on the current stream of its device: see move.hpp
// Returns a null object if permute would return one
nb::object transpose_in_place(nb::handle x, int threads);

// Returns whether the function table describes x: a tensor, or an object of a derived class, in plain memory
// Errors  TypeError: elements that cannot be moved; `name` is x, out or second
[[nodiscard]] bool has_memory(nb::handle x, const char* name);

// Returns the memory and layout of x, as PyTorch's C++ object has them. x owns the extents and strides. Runs no Python code
// Errors  ValueError: x has lost its memory since has_memory(x)
[[nodiscard]] view look_at(nb::handle x);

// Returns a second tensor with the memory of x, or a null object if x is no tensor. It owns this memory also after x got
// another
[[nodiscard]] nb::object storage_of(nb::handle x);

// Returns whether each object is a tensor that needs no more than a copy of its bytes. Without `with_memory`, for tensors that
// were looked at before, only what may have changed: gradients, and modes of the thread
[[nodiscard]] bool are_plain(nb::handle tensors, bool with_memory);

// Returns whether x is a tensor for which at most its gradient needs more than a copy of its bytes
[[nodiscard]] bool records_only(nb::handle x);

// Effect  aten::copy_ on CPUs, or on CUDA devices, uses cornerturn for the copies that it knows; PyTorch's own kernel for all
//         others. The first call that switches a type of device on replaces the kernel for the rest of the process. The
//         kernel neither holds nor takes the interpreter's lock, so any thread may copy during the call, and at exit
// Errors  RuntimeError: PyTorch lacks a function that the kernel needs
void switch_copies(bool cpu, bool cuda);

// Returns the number of copies that cornerturn executed
[[nodiscard]] std::uint64_t copies();

}  // namespace cornerturn::python::torch
