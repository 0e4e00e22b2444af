// A rung's own text, compiled for the emulator. Include the vendor's words first: kernels/cuda/lang.cuh or
// kernels/hip/lang.cuh, which the emulator's folders replace. The rungs come after this header.
#pragma once

#include "ladder/emulated/run.hpp"
#if GPU_HAS_TENSOR_MEMORY
#include "ladder/emulated/tensor.hpp"
#endif
#include "ladder/grid.hpp"
#include "ladder/job.hpp"

namespace cornerturn::ladder {

// Not a lambda, which would be constexpr: g++ 16 warns about a kernel that is not.
template <class Rung>
void run_kernel(const void* args) {
  Rung::kernel(*static_cast<const gpu::tile_args*>(args));
}

template <class Rung>
void run_text(const void* src, void* dst, const matrix_shape& shape, emulated::session& session) {
  const arguments a = arguments_for<Rung>(src, dst, shape);
  const auto blocks = static_cast<std::uint32_t>(Rung::blocks(a));
  if constexpr (Rung::is_production) {
    const auto args = args_for<Rung>(a);
    emulated::launch(&run_kernel<Rung>, &args, sizeof args, Rung::threads, blocks, Rung::shared_bytes, &session);
#if GPU_HAS_TENSOR_MEMORY
  } else if constexpr (Rung::tensor_load) {
    tensor_arguments all{a, {}, {}};
    all.src_tensor = {const_cast<unsigned char*>(a.src), a.rows, a.cols, Rung::word_bytes};
    all.dst_tensor = {a.dst, a.cols, a.rows, Rung::word_bytes};
    emulated::launch([](const void* of) { Rung::template move<Rung>(*static_cast<const tensor_arguments*>(of)); }, &all,
                     sizeof all, Rung::threads, blocks, Rung::shared_bytes, &session);
#endif
  } else {
    emulated::launch([](const void* of) { Rung::template move<Rung>(*static_cast<const arguments*>(of)); }, &a,
                     sizeof a, Rung::threads, blocks, Rung::shared_bytes, &session);
  }
}

// Returns the block that moves the element of src, or a negative number.
template <class Rung>
std::int64_t block_of(const matrix_shape& shape, std::int64_t matrix, std::int64_t row, std::int64_t col) {
  const arguments a = arguments_for<Rung>(nullptr, nullptr, shape);
  for (std::int64_t block = 0; block < Rung::blocks(a); ++block) {
    const tile which = Rung::tile_of(static_cast<std::uint32_t>(block), a);
    const auto is_in = [&](std::uint32_t down, std::uint32_t across) {
      return which.matrix == matrix && row / Rung::tile_rows == down && col / Rung::tile_cols == across;
    };
    if (is_in(which.down, which.across) || (Rung::is_in_place && is_in(which.across, which.down))) return block;
  }
  return -1;
}

template <class Rung>
constexpr text text_of(const char* name) {
  return {facts_of<Rung>(name), Rung::tile_rows, Rung::tile_cols, Rung::threads,
          Rung::shared_bytes,   &block_of<Rung>, &run_text<Rung>};
}

template <class Rung, const char* Name>
const text* entry_of() {
  if constexpr (Rung::word_bytes < Rung::least_word_bytes) {
    return nullptr;
  } else {
    static constexpr text made = text_of<Rung>(Name);
    return &made;
  }
}

}  // namespace cornerturn::ladder

// The entry of a file that the command compiles: the rung under this name. Null: it has no such elements.
#define EMULATED_RUNG(name, Rung)                                                                                \
  constexpr char emulated_name[] = name;                                                                         \
  extern "C" __attribute__((visibility("default"))) const cornerturn::ladder::text* cornerturn_emulated_rung() { \
    return cornerturn::ladder::entry_of<cornerturn::ladder::Rung, emulated_name>();                              \
  }
