// PyTorch tensors that are just memory, through the function table that torch.Tensor hands out (DLPack 1.3): about a
// microsecond less than its Python attributes. All other tensors, such as those that record a gradient, are not for
// here: cornerturn/torch.py takes them.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "axes.hpp"
#include "move.hpp"

namespace cornerturn::python::torch {

// Effect  x, really moved: to out, or to a new tensor of x's device; on the current stream of that device
// Returns a null object when x (or out) is no tensor, or one that needs more than a move of its bytes
// Errors  ValueError: out has another shape, dtype or device
nb::object permute(nb::handle x, const request& asked, nb::handle out, const planned* held);

// Effect  the last two axes of x trade places in its own memory, on the current stream of its device: see move.hpp
// Returns a null object where permute would
nb::object transpose_in_place(nb::handle x);

// Effect  what x is, for a plan; nothing where permute would return null. extents and strides live as long as x
[[nodiscard]] std::optional<view> look_at(nb::handle x);

// Effect  dst = src, for aten::copy_, when both are plain memory of one device, dtype and shape, of 64 KiB or more, and
//         their axes lie in memory in different orders
// Returns false when this is not so, or the library cannot; nothing has moved then
[[nodiscard]] bool copy_permuted(nb::handle dst, nb::handle src);

}  // namespace cornerturn::python::torch
