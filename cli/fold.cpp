#include "fold.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cornerturn/problem.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

struct group {
  int first = 0;  // the first and the last source axis
  int last = 0;
  std::int64_t extent = 1;
};

}  // namespace

array_axes folded(const array_axes& given) {
  if (given.shape.size() <= static_cast<std::size_t>(max_rank)) return given;
  if (std::ranges::find(given.shape, 0) != given.shape.end()) return {{0}, {0}};
  const auto extent = [&](int axis) { return given.shape[static_cast<std::size_t>(axis)]; };
  std::vector<int> previous(given.shape.size());  // the axis before; axes of extent 1 do not count
  for (int axis = 0, before = -1; axis < static_cast<int>(given.shape.size()); ++axis) {
    previous[static_cast<std::size_t>(axis)] = before;
    if (extent(axis) != 1) before = axis;
  }
  std::vector<group> groups;  // in the order of the output
  for (const int axis : given.axes) {
    if (extent(axis) == 1) continue;
    if (groups.empty() || previous[static_cast<std::size_t>(axis)] != groups.back().last) {
      groups.push_back({axis, axis, extent(axis)});
      continue;
    }
    groups.back().last = axis;
    if (__builtin_mul_overflow(groups.back().extent, extent(axis), &groups.back().extent)) {
      throw failure(fmt::format("{}: the elements of the array exceed 63 bits", shape_text(given.shape)), exit_usage);
    }
  }
  if (groups.size() > static_cast<std::size_t>(max_rank)) {
    throw failure(fmt::format("{}, axes {}: the array has {} axes that cannot be folded, wanted at most {}",
                              shape_text(given.shape), axes_text(given.axes), groups.size(), max_rank),
                  exit_usage);
  }
  std::vector<group> sorted = groups;  // in the order of the source
  std::ranges::sort(sorted, {}, &group::first);
  array_axes made;
  for (const group& one : sorted) made.shape.push_back(one.extent);
  for (const group& one : groups) {
    made.axes.push_back(static_cast<int>(std::ranges::find(sorted, one.first, &group::first) - sorted.begin()));
  }
  return made.shape.empty() ? array_axes{{1}, {0}} : made;
}

}  // namespace cornerturn::cli
