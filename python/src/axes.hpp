// Which axis goes where: axes from a Python sequence, from a pattern, or the last two swapped.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace cornerturn::python {

namespace nb = nanobind;

inline constexpr int most_axes = 64;  // of a NumPy array; those longer than 1 are cornerturn::max_rank at most

struct axis_list {
  int count = 0;
  std::array<int, most_axes> at;  // axis k of the result is axis at[k] of x
};

// What the caller asked for, before the rank of x is known.
struct request {
  enum class kind { matrix, axes, pattern };
  kind how = kind::matrix;
  nb::handle axes{};           // kind::axes: a sequence of integers
  std::string_view pattern{};  // kind::pattern: "n c h w -> n h w c"
};

// Errors  ValueError: x has too few axes; the axes are no permutation; the pattern is none, or is for another rank.
//         TypeError: axes is no sequence of integers
[[nodiscard]] axis_list resolve(const request& asked, int rank);

// With extents: those of the axes, in their order.
[[nodiscard]] nb::tuple to_tuple(const axis_list& axes, const std::int64_t* extents = nullptr);

}  // namespace cornerturn::python
