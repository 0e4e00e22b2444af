// Folds the shape of an array that has more axes than the library takes.
#pragma once

#include <cstdint>
#include <vector>

namespace cornerturn::cli {

struct array_axes {
  std::vector<std::int64_t> shape;  // of the source, row-major
  std::vector<int> axes;            // a permutation, as in numpy.transpose

  bool operator==(const array_axes&) const = default;
};

// Effect  returns an array with the same bytes on both sides and at most max_rank axes: axes of extent 1 are dropped, and axes
//         that stay neighbours are one axis. An array of max_rank axes or fewer is returned unchanged
// Errors  failure with exit_usage: more than max_rank axes are left, or the elements exceed 63 bits
[[nodiscard]] array_axes folded(const array_axes& given);

}  // namespace cornerturn::cli
