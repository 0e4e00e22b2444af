// The command's door to the ladder. Without a GPU: what each rung is, what it asks of memory, where its elements lie.
// With one, through harness.hpp: checks and clocks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cpu.hpp"
#include "facts.hpp"
#include "harness.hpp"
#include "model/count.hpp"
#include "model/occupancy.hpp"

namespace cornerturn::ladder {

struct description : facts {
  int tile_rows;
  int tile_cols;
  int threads;
  int shared_bytes;
  int resident_blocks;  // that launch bounds make the compiler leave registers for
  int bytes_in_flight;  // of a block, asked for before the first is waited for
  bool tensor_load;     // by the tensor memory accelerator: no load or store instructions
  bool tensor_store;

  // The memory instructions of one block, for a matrix of this shape.
  model::program (*program)(const matrix_shape& shape);
  // Where the element of the tile lies in shared memory, in bytes; null without shared memory.
  int (*place)(int row, int col);
  // The same tile without padding and XOR.
  int (*plain_place)(int row, int col);
};

[[nodiscard]] std::span<const description> rungs();
// Rung 30 with other tiles and blocks.
[[nodiscard]] std::span<const description> tile_size_rungs();
// The same ideas in CuTe; none in a build that did not find CUTLASS.
[[nodiscard]] std::span<const description> cute_rungs();
// Null when there is no such rung. The name may go without its number: "padded" is "30_padded".
[[nodiscard]] const description* find_rung(std::string_view name, int word_bytes);

// Empty when the rung runs on this machine and takes this shape, else why not.
[[nodiscard]] std::string refusal(const description& rung, const model::architecture& machine,
                                  const matrix_shape& shape);

// The memory instructions of one block on this machine: without asynchronous copies, loads and stores take their place.
[[nodiscard]] model::program program_on(const description& rung, const model::architecture& machine,
                                        const matrix_shape& shape);

// The memory accesses of the rung for the whole shape, which it takes. The machine is sm_90 unless another one is given.
[[nodiscard]] model::traffic predict(const description& rung, const matrix_shape& shape);
[[nodiscard]] model::traffic predict(const description& rung, const model::architecture& machine,
                                     const matrix_shape& shape);

// Registers per thread: on AMD the number that clang uses, elsewhere the most that launch bounds leave.
[[nodiscard]] int registers_of(const description& rung, const model::architecture& machine);

[[nodiscard]] model::residency residency(const description& rung, const model::architecture& machine);

}  // namespace cornerturn::ladder
