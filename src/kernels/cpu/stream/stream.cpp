// The family stream, compiled once for each SIMD target of this build. The head of offer.cpp names the file of each walk.
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
