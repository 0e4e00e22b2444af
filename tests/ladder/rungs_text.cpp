#include "rungs_text.hpp"

#include RUNGS_WORDS  // kernels/cuda/lang.cuh or kernels/hip/lang.cuh
#if GPU_HAS_TENSOR_MEMORY
#include "tensor.hpp"
#endif
// The vendor words must be included first.
#include "ladder/grid.hpp"
#include "ladder/job.hpp"
#include "ladder/rungs.hpp"
#ifdef CORNERTURN_CUTE
#include "ladder/cute/rungs.cuh"
#endif

namespace cornerturn::ladder {
namespace {

template <class Rung>
void run_text(const void* src, void* dst, const matrix_shape& shape, emulated::session& session) {
  const arguments a = arguments_for<Rung>(src, dst, shape);
  const auto blocks = static_cast<std::uint32_t>(Rung::blocks(a));
  if constexpr (Rung::is_production) {
    const auto args = args_for<Rung>(a);
    emulated::launch([](const void* of) { Rung::kernel(*static_cast<const gpu::tile_args*>(of)); }, &args, sizeof args,
                     Rung::threads, blocks, Rung::shared_bytes, &session);
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

template <class Rung>
void add(std::vector<text>& table, const char* name) {
  constexpr bool is_here = GPU_HAS_TENSOR_MEMORY || !Rung::tensor_load;
  if constexpr (is_here && Rung::word_bytes >= Rung::least_word_bytes)
    table.push_back({facts_of<Rung>(name), &run_text<Rung>});
}

}  // namespace

std::vector<text> texts() {
  std::vector<text> table;
#define RUNG(file, type)      \
  add<type<1>>(table, #file); \
  add<type<2>>(table, #file); \
  add<type<4>>(table, #file); \
  add<type<8>>(table, #file);
#include "ladder/ladder.inc"
#include "ladder/tile_sizes.inc"
#ifdef CORNERTURN_CUTE
#include "ladder/cute/cute.inc"
#endif
#undef RUNG
  return table;
}

}  // namespace cornerturn::ladder
