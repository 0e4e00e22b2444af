// How packed rectangles move where they lie in a GPU's memory: programs of launches. See rectangle_gpu.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/cpu/odometer.hpp"
#include "map/in_place.hpp"
#include "plan/choose.hpp"
#include "plan/strips.hpp"

namespace cornerturn::planning {

// A kernel that one or more steps start, with pointers of their own.
struct gpu_move {
  map::canonical form;  // of cycles: none
  kernels::offer chosen;
  std::int64_t flags = 0;  // in the workspace, that must be 0 when it starts
};

using gpu_step = in_place_step;

// Steps in order, once for each index of `repeat`, whose strides are bytes of the array.
struct gpu_program {
  kernels::fused_axes repeat;
  std::int64_t begin = 0;  // bytes from the word of index 0
  std::vector<gpu_step> steps;
};

enum class rectangle_way { there_and_back, long_items, strips_of_rows, strips_of_columns };

struct gpu_rectangle {
  rectangle_way way = rectangle_way::there_and_back;
  std::vector<gpu_move> moves;
  std::vector<gpu_program> programs;
  const kernels::kernel* kernel = nullptr;  // that does most of it; null: no line moves it, or not with the forced row
  const char* reason = "";
  int passes = 0;                    // over all of the array
  std::int64_t workspace_bytes = 0;  // wherever the caller's begins
};

// Requires  places of the kind rectangle; a form of words of at most `alignment` bytes
// Returns   no kernel where the forced row cannot move them, or a grid is too small. The workspace depends on the form
//           alone, not on the device or the alignment
[[nodiscard]] gpu_rectangle choose_rectangle(const map::canonical& form, const map::in_place_form& places,
                                             const kernels::target& on, int alignment, std::string_view kernel);

// Effect  launch(move, from, to, flags) for each step in order; clear(flags, bytes) before one that has flags
// Returns null, or what the first of them said that failed; nothing is started after it
template <class Launch, class Clear>
const char* run(const gpu_rectangle& all, std::byte* data, std::byte* workspace, const Launch& launch,
                const Clear& clear) {
  const auto above = reinterpret_cast<std::uintptr_t>(workspace) % workspace_alignment;
  if (above != 0) workspace += workspace_alignment - above;
  for (const gpu_program& program : all.programs) {
    kernels::cpu::odometer at(program.repeat, 1, 0, false);
    for (std::int64_t repeat = 0; repeat < program.repeat.total; ++repeat, at.next()) {
      std::byte* const array = data + program.begin + at.src();
      for (const gpu_step& step : program.steps) {
        const gpu_move& move = all.moves[static_cast<std::size_t>(step.move)];
        auto* const flags = reinterpret_cast<std::uint32_t*>(workspace + step.flags_at);
        const char* said = move.flags == 0 ? nullptr : clear(flags, 4 * move.flags);
        if (said != nullptr) return said;
        said = launch(move, (step.from_workspace ? workspace : array) + step.from,
                      (step.to_workspace ? workspace : array) + step.to, flags);
        if (said != nullptr) return said;
      }
    }
  }
  return nullptr;
}

}  // namespace cornerturn::planning
