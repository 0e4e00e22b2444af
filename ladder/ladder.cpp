#include "ladder.hpp"

#include <algorithm>
#include <vector>

#include "cute/cute.hpp"
#include "grid.hpp"
#include "program.hpp"
#include "rungs.hpp"

namespace cornerturn::ladder {
namespace {

template <class Rung>
model::program program_for(const matrix_shape& shape) {
  const arguments a = arguments_for<Rung>(nullptr, nullptr, shape);
  return program_writer<Rung>(a.rows, a.cols).write();
}

template <class Rung>
description describe(const char* name) {
  description made{facts_of<Rung>(name),
                   Rung::tile_rows,
                   Rung::tile_cols,
                   Rung::threads,
                   Rung::shared_bytes,
                   0,
                   0,
                   Rung::tensor_load,
                   Rung::tensor_store,
                   &program_for<Rung>,
                   nullptr,
                   nullptr};
  if constexpr (Rung::is_production) {
    made.registers = model::registers_for(Rung::threads, Rung::resident);
  } else {
    made.registers = model::registers_for(Rung::threads, resident_blocks<Rung>);
  }
  made.bytes_in_flight = Rung::tensor_load ? Rung::tile_rows * Rung::tile_cols * Rung::word_bytes
                                           : Rung::threads * Rung::steps * Rung::width * Rung::word_bytes;
  if constexpr (Rung::is_in_place) made.bytes_in_flight *= 2;
  if constexpr (Rung::shared_bytes > 0) {
    made.place = [](int row, int col) { return Rung::place({row, col}); };
    made.plain_place = [](int row, int col) {
      if constexpr (Rung::is_production) {
        return Rung::plain_place({row, col});
      } else {
        return (row * Rung::tile_cols + col) * Rung::word_bytes;
      }
    };
  }
  return made;
}

template <class Rung>
void add(std::vector<description>& table, const char* name) {
  if constexpr (Rung::word_bytes >= Rung::least_word_bytes) table.push_back(describe<Rung>(name));
}

std::vector<description> all() {
  std::vector<description> table;
#define RUNG(file, type)      \
  add<type<1>>(table, #file); \
  add<type<2>>(table, #file); \
  add<type<4>>(table, #file); \
  add<type<8>>(table, #file);
#include "ladder.inc"
#undef RUNG
  return table;
}

}  // namespace

std::span<const description> rungs() {
  static const std::vector<description> table = all();
  return table;
}

std::span<const description> cute_rungs() {
#ifdef CORNERTURN_CUTE
  static const std::vector<description> table = cute_descriptions();
  return table;
#else
  return {};
#endif
}

const description* find_rung(std::string_view name, int word_bytes) {
  const auto named = [&](const description& one) {
    const std::string_view full = one.rung;
    return one.word_bytes == word_bytes && (full == name || full.substr(full.find('_') + 1) == name);
  };
  for (const auto table : {rungs(), cute_rungs()}) {
    const auto found = std::ranges::find_if(table, named);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

model::traffic predict(const description& rung, const matrix_shape& shape) {
  const matrix_shape packed = rung.is_copy ? matrix_shape{1, shape.rows * shape.cols * shape.batch, 1} : shape;
  return model::count(rung.program(shape), {packed.rows, packed.cols, packed.batch});
}

model::residency residency(const description& rung, const model::architecture& machine) {
  return model::residency_of(machine, {rung.threads, rung.registers, rung.shared_bytes});
}

std::string text_of(const matrix_shape& shape) {
  const std::string matrix = std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
  return shape.batch == 1 ? matrix : std::to_string(shape.batch) + "x" + matrix;
}

}  // namespace cornerturn::ladder
