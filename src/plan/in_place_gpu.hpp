// Which GPU kernel moves a problem whose src is its dst, but for rectangles: see in_place_gpu.cpp.
#pragma once

#include "map/in_place.hpp"
#include "plan/choose_gpu.hpp"

namespace cornerturn::planning {

// Requires  a form of words of at most wanted.alignment bytes, and its places
// Returns   no kernel where the places are a rectangle (those are rectangle_gpu.hpp's), the forced row cannot move
// them, or the grid is too small
[[nodiscard]] gpu_choice choose_in_place(const map::canonical& form, const map::in_place_form& places,
                                         const gpu_request& wanted) noexcept;

}  // namespace cornerturn::planning
