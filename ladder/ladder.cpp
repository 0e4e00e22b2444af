#include "ladder.hpp"

#include <algorithm>
#include <vector>

#include "amd_registers.hpp"
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
    made.resident_blocks = Rung::resident;
  } else {
    made.resident_blocks = resident_blocks<Rung>;
  }
  made.bytes_in_flight =
      Rung::tensor_load ? Rung::tile_rows * Rung::tile_cols * Rung::word_bytes
                        : Rung::threads * (Rung::held > 0 ? Rung::held : Rung::steps) * Rung::width * Rung::word_bytes;
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

#define RUNG(file, type)      \
  add<type<1>>(table, #file); \
  add<type<2>>(table, #file); \
  add<type<4>>(table, #file); \
  add<type<8>>(table, #file);
std::vector<description> all() {
  std::vector<description> table;
#include "ladder.inc"
  return table;
}
std::vector<description> all_tile_sizes() {
  std::vector<description> table;
#include "tile_sizes.inc"
  return table;
}
#undef RUNG

const model::architecture& h200() {
  static const model::architecture& found = *model::find_architecture("sm_90");
  return found;
}

}  // namespace

std::span<const description> rungs() {
  static const std::vector<description> table = all();
  return table;
}

std::span<const description> tile_size_rungs() {
  static const std::vector<description> table = all_tile_sizes();
  return table;
}

std::span<const description> cute_rungs() {
  static const std::vector<description> table = cute_descriptions();
  return table;
}

const description* find_rung(std::string_view name, int word_bytes) {
  const auto named = [&](const description& one) { return one.word_bytes == word_bytes && is_named(one.rung, name); };
  for (const auto table : {rungs(), tile_size_rungs(), cute_rungs()}) {
    const auto found = std::ranges::find_if(table, named);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::string refusal(const description& rung, const model::architecture& machine, const matrix_shape& shape) {
  if (rung.tensor_load && !machine.has_tensor_memory) {
    return std::string("needs the tensor memory accelerator, which ") + machine.name + " does not have";
  }
  return rung.refusal(shape);
}

model::program program_on(const description& rung, const model::architecture& machine, const matrix_shape& shape) {
  model::program made = rung.program(shape);
  if (machine.has_async_copy) return made;
  for (model::instruction& one : made.instructions) {
    if (one.what == model::operation::async_load) one.what = model::operation::global_load;
    if (one.what == model::operation::async_store) one.what = model::operation::shared_store;
  }
  return made;
}

model::traffic predict(const description& rung, const matrix_shape& shape) { return predict(rung, h200(), shape); }

model::traffic predict(const description& rung, const model::architecture& machine, const matrix_shape& shape) {
  const matrix_shape packed = rung.is_copy ? matrix_shape{1, shape.rows * shape.cols * shape.batch, 1} : shape;
  return model::count(program_on(rung, machine, shape), {packed.rows, packed.cols, packed.batch}, machine.rules);
}

int registers_of(const description& rung, const model::architecture& machine) {
  if (const int counted = amd_registers(rung.rung, rung.word_bytes, machine.name)) return counted;
  return model::registers_for(machine, rung.threads, rung.resident_blocks);
}

model::residency residency(const description& rung, const model::architecture& machine) {
  return model::residency_of(machine, {rung.threads, registers_of(rung, machine), rung.shared_bytes});
}

std::string text_of(const matrix_shape& shape) {
  const std::string matrix = std::to_string(shape.rows) + "x" + std::to_string(shape.cols);
  return shape.batch == 1 ? matrix : std::to_string(shape.batch) + "x" + matrix;
}

}  // namespace cornerturn::ladder
