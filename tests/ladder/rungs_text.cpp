#include "rungs_text.hpp"

#include RUNGS_WORDS  // kernels/cuda/lang.cuh or kernels/hip/lang.cuh
#include "ladder/emulated/text.hpp"
// The vendor's words and the tensor's must be included first.
#include "ladder/rungs.hpp"
#ifdef CORNERTURN_CUTE
#include "ladder/cute/rungs.cuh"
#endif

namespace cornerturn::ladder {
namespace {

template <class Rung>
void add(std::vector<text>& table, const char* name) {
  constexpr bool is_here = GPU_HAS_TENSOR_MEMORY || !Rung::tensor_load;
  if constexpr (is_here && Rung::word_bytes >= Rung::least_word_bytes) table.push_back(text_of<Rung>(name));
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
