// Permutations of axes: from a Python sequence, from a pattern, or the last two axes swapped.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornerturn::python {

namespace nb = nanobind;

inline constexpr int most_axes = 64;  // limit of NumPy; at most cornerturn::max_rank of them may be longer than 1

// Not zeroed: that would take longer than the checks of a small copy.
struct axis_numbers : std::array<int, most_axes> {
  axis_numbers() {}  // NOLINT(modernize-use-equals-default): a defaulted one would zero
};

struct axis_list {
  int count = 0;
  axis_numbers at{};  // axis k of the result is axis at[k] of x
};

// The caller's permutation, before the rank of x is known. It has numbers and text, and no Python object to ask: the code
// of an iterator or of an __index__ runs before the memory of an array is looked at.
struct request {
  enum class kind { matrix, axes, pattern };
  kind how = kind::matrix;
  axis_list axes{};            // kind::axes: as the caller wrote them, in the range of int
  std::string beyond{};        // the first of these numbers that int has not
  std::string_view pattern{};  // kind::pattern: "n c h w -> n h w c"
  int threads = 0;             // most CPU threads of the copy; 0: all threads of the process
};

// Returns the request of None (the last two axes are swapped), a pattern, or a sequence of integers. Only a pattern is
// pointed into
// Errors  TypeError: no sequence of integers.  ValueError: more than 64 numbers
[[nodiscard]] request request_of(nb::handle axes);

// Returns the request of a sequence of integers
[[nodiscard]] request request_of_sequence(nb::handle axes);

// Returns the request of a pattern, into which it points
// Errors  TypeError: pattern is no str.  ValueError: it has characters that UTF-8 has not
[[nodiscard]] request pattern_of(nb::handle pattern);

// Errors  ValueError: x has too few axes; the axes are not a permutation; the pattern is invalid or has another rank
[[nodiscard]] axis_list resolve(const request& asked, int rank);

// Returns "1 axis" or "3 axes"
[[nodiscard]] std::string number_of_axes(int count);

// Returns the axes, or with extents the extents of these axes.
[[nodiscard]] nb::tuple to_tuple(const axis_list& axes, const std::int64_t* extents = nullptr);

}  // namespace cornerturn::python
