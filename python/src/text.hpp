// Text of Python objects, most of it for error sentences. Only utf8_of() raises.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace cornerturn::python {

namespace nb = nanobind;

// Returns the first 200 characters of the text, escaped as in the sentence of an error
[[nodiscard]] std::string escaped(std::string_view utf8);

// Returns escaped(str(object)), or the name of its class if str() raises
[[nodiscard]] std::string text_of(nb::handle object);

// Returns escaped(repr(object)), or the name of its class if repr() raises
[[nodiscard]] std::string shown(nb::handle object);

// Returns "torch.Tensor", for error sentences
[[nodiscard]] std::string kind_of(nb::handle object);

// Returns the text of a str, which owns it
// Errors  ValueError: lone surrogates, which UTF-8 has not; `name` is the argument
[[nodiscard]] std::string_view utf8_of(nb::handle text, const char* name);

}  // namespace cornerturn::python
