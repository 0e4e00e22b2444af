// The family tall_skinny: arrays of structures to structures of arrays.
//   any number of columns  pieces of 16 bytes are shuffled               tall_skinny-inl.hpp
//   split                  2, 3, 4, 8 or 16 columns, in whole vectors   split-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tall_skinny/tall_skinny.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/tall_skinny/args.hpp"
#include "kernels/cpu/tall_skinny/split-inl.hpp"
#include "kernels/cpu/tall_skinny/tall_skinny-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Word>
void tall_skinny_any(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_tall_skinny<Word>(*static_cast<const tall_skinny::args*>(args), all.src, all.dst, begin, end);
}
template <std::size_t Word>
void tall_skinny_split(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_split<Word>(*static_cast<const tall_skinny::args*>(args), all.src, all.dst, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/tall_skinny/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
