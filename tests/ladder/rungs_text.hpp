// The rungs' own text, compiled for the emulator: a table of functions, each of which runs one rung on a matrix.
#pragma once

#include <vector>

#include "emulate/emulator.hpp"
#include "ladder/facts.hpp"

namespace cornerturn::ladder {

struct text : facts {
  // The first fault is in session.fault.
  void (*run)(const void* src, void* dst, const matrix_shape& shape, emulated::session& session);
};

[[nodiscard]] std::vector<text> texts();

}  // namespace cornerturn::ladder
