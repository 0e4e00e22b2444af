// The CuTe rungs for the model: evaluates their layouts on the host.
#include "../grid.hpp"
#include "cute.hpp"
#include "rungs.cuh"

namespace cornerturn::ladder {
namespace {

using model::operation;

template <class Lane>
void add(model::program& to, operation what, int lane_bytes, int threads, int steps, const Lane& lane) {
  for (int step = 0; step < steps; ++step) {
    model::instruction one{what, model::guard::inside, lane_bytes, 1, 0, {}};
    for (int thread = 0; thread < threads; ++thread) one.lanes.push_back(lane(thread, step));
    to.instructions.push_back(std::move(one));
  }
}

template <class Rung>
model::program program_for(const matrix_shape& shape) {
  constexpr int word = Rung::word_bytes, threads = Rung::threads;
  model::program made;
  made.word_bytes = word;
  made.tile_rows = Rung::tile_rows;
  made.tile_cols = Rung::tile_cols;
  const auto lane_at = [](at e) {
    if constexpr (Rung::shared_bytes > 0) return model::lane{e.row, e.col, Rung::place(e)};
    return model::lane{e.row, e.col, 0};
  };
  const auto in_piece = [&](int thread, int step) { return lane_at(Rung::read(thread, step)); };
  const auto in = [&](int thread, int step) { return lane_at(Rung::read_element(thread, step)); };
  const auto out = [&](int thread, int step) { return lane_at(Rung::write(thread, step)); };
  const bool in_pieces = shape.cols % Rung::width == 0;
  for (const operation what : {operation::global_load, operation::shared_store}) {
    if (what == operation::shared_store && Rung::shared_bytes == 0) continue;
    if (in_pieces) {
      add(made, what, Rung::width * word, threads, Rung::steps, in_piece);
    } else {
      add(made, what, word, threads, Rung::elements, in);
    }
  }
  if constexpr (Rung::shared_bytes > 0) add(made, operation::shared_load, word, threads, Rung::elements, out);
  add(made, operation::global_store, word, threads, Rung::elements, out);
  return made;
}

template <class Rung>
void describe(std::vector<description>& table, const char* name) {
  if constexpr (Rung::word_bytes >= Rung::least_word_bytes) {
    description made{facts_of<Rung>(name),
                     Rung::tile_rows,
                     Rung::tile_cols,
                     Rung::threads,
                     Rung::shared_bytes,
                     resident_blocks<Rung>,
                     Rung::threads * Rung::elements * Rung::word_bytes,
                     false,
                     false,
                     &program_for<Rung>,
                     nullptr,
                     nullptr};
    if constexpr (Rung::shared_bytes > 0) {
      made.place = [](int row, int col) { return Rung::place({row, col}); };
      made.plain_place = [](int row, int col) { return (row * Rung::tile_cols + col) * Rung::word_bytes; };
    }
    table.push_back(made);
  }
}

}  // namespace

std::vector<description> cute_descriptions() {
  std::vector<description> table;
#define RUNG(file, type)           \
  describe<type<4>>(table, #file); \
  describe<type<8>>(table, #file);
#include "cute.inc"
#undef RUNG
  return table;
}

}  // namespace cornerturn::ladder
