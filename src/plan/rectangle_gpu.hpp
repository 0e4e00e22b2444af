// Plans transposes of packed rectangles in place on a GPU, as programs of launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/fused_axes.hpp"
#include "map/in_place.hpp"
#include "plan/choose.hpp"
#include "plan/strip_program.hpp"

namespace cornerturn::planning {

// A kernel that one or more steps start, each with its own pointers.
struct gpu_move {
  map::canonical form;  // unused if it follows cycles
  kernels::offer chosen;
  // A step whose items follow cycles in the array. Some items are in the workspace: it reads them there, or writes them.
  bool follows_cycles = false;
  bool writes_workspace = false;
  std::int64_t workspace_bytes = 0;

  // Words in the workspace that must be 0 when it starts.
  [[nodiscard]] std::int64_t flags() const noexcept { return chosen.flag_bytes / 4; }
};

using gpu_step = in_place_step;

// Steps in order, once for each index of `repeat`, whose strides are bytes of the array.
struct gpu_program {
  kernels::fused_axes repeat;
  std::int64_t begin = 0;  // byte offset from index 0
  std::vector<gpu_step> steps;
};

enum class rectangle_way { buffered, cycles, row_strips, col_strips };

struct gpu_rectangle {
  rectangle_way way = rectangle_way::buffered;
  std::vector<gpu_move> moves;
  std::vector<gpu_program> programs;
  const kernels::kernel* kernel = nullptr;  // of the most time; null: no row accepts it, or the forced row does not
  const char* reason = "";
  int passes = 0;                    // over the array
  std::int64_t workspace_bytes = 0;  // for a workspace at any address
};

// Requires  `places` is of the kind rectangle; words have at most `alignment` bytes
// Returns   a null kernel if the forced row does not accept it, or a grid would be too large. The workspace depends on
//           the form only, not on the device or the alignment
[[nodiscard]] gpu_rectangle choose_rectangle(const map::canonical& form, const map::in_place_form& places,
                                             const kernels::target& on, int alignment, std::string_view kernel);

}  // namespace cornerturn::planning
