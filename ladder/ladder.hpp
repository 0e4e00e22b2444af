// The ladder's interface for the command. Without a GPU: the description of each rung, its memory requests and its
// shared memory layout. With a GPU, through harness.hpp: checks and timings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cpu.hpp"
#include "emulated/emulated.hpp"
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
  int resident_blocks;  // minimum blocks of the launch bounds, which limit registers
  int bytes_in_flight;  // per block: requested before the first use
  bool tensor_load;     // by the tensor memory accelerator: no load or store instructions
  bool tensor_store;

  // The memory instructions of one block, for a matrix of this shape.
  model::program (*program)(const matrix_shape& shape);
  // The byte offset of an element of the tile in shared memory; null without shared memory.
  int (*place)(int row, int col);
  // The byte offset without padding and XOR.
  int (*plain_place)(int row, int col);
};

[[nodiscard]] std::span<const description> rungs();
// Rungs 15 and 30 with other tiles and blocks.
[[nodiscard]] std::span<const description> tile_size_rungs();
// The CuTe rungs; none in a build without CUTLASS.
[[nodiscard]] std::span<const description> cute_rungs();
// Returns null if there is no such rung. The number may be omitted: "padded" means "30_padded".
[[nodiscard]] const description* find_rung(std::string_view name, int word_bytes);

// Returns a reason if the rung does not run on this machine or does not accept this shape, else an empty string.
[[nodiscard]] std::string refusal(const description& rung, const model::architecture& machine,
                                  const matrix_shape& shape);

// The memory instructions of one block. On a machine without asynchronous copies, loads and stores replace them.
[[nodiscard]] model::program program_on(const description& rung, const model::architecture& machine,
                                        const matrix_shape& shape);

// Returns the memory accesses of the rung for a shape that it accepts. The default machine is sm_90.
[[nodiscard]] model::traffic predict(const description& rung, const matrix_shape& shape);
[[nodiscard]] model::traffic predict(const description& rung, const model::architecture& machine,
                                     const matrix_shape& shape);

// Returns the registers per thread: on AMD clang's number, on NVIDIA the maximum under the launch bounds.
[[nodiscard]] int registers_of(const description& rung, const model::architecture& machine);

[[nodiscard]] model::residency residency(const description& rung, const model::architecture& machine);

}  // namespace cornerturn::ladder
