// The family stream, compiled once for each SIMD target of this build. It has four ways to make lines of dst:
//   panels    pieces of a dst run are put together in L1                          policy/panels-inl.hpp
//   lines     blocks of whole lines, a few of each dst run staged in L2           staged_lines-inl.hpp
//   strips    blocks of two lines of 8 to 32 rows, stored from registers with AVX-512  strips-inl.hpp
//   elements  elements of 3 to 32 bytes, stored from registers with AVX-512       element_strips-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/stream/stream.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/stream/element_strips-inl.hpp"
#include "kernels/cpu/stream/staged_lines-inl.hpp"
#include "kernels/cpu/stream/strips-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Word>
void stream_panels(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const stream::panels_args*>(args);
  move_panels(work, all.src, all.dst, begin, end, block_fill<Word>(work, all.src));
}
template <std::size_t Word>
void stream_lines(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const stream::lines_args*>(args);
  move_staged_lines<Word>(work, all.src, all.dst, begin, end, block_fill<Word>(work, all.src).readable_end);
}
template <std::size_t Word>
void stream_strips(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const stream::strips_args*>(args);
  move_strips<Word>(work, all.src, all.dst, begin, end, block_fill<Word>(work, all.src));
}
void stream_elements(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_element_strips(*static_cast<const stream::elements_args*>(args), all.src, all.dst, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/stream/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
