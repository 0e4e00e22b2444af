// The family stream, compiled once for each SIMD target of this build. It has three ways to stage lines of dst:
//   panels  pieces of a dst run are put together in L1                          policy/panels-inl.hpp
//   lines   blocks of whole lines, a few of each dst run staged in L2           staged_lines-inl.hpp
//   strips  blocks of two lines of 32 rows, stored from registers with AVX-512  strips-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/stream/stream.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/panels-inl.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/stream/staged_lines-inl.hpp"
#include "kernels/cpu/stream/strips-inl.hpp"

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

void stream_panels_b2(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_panels<2>(args, all, begin, end);
}
void stream_panels_b4(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_panels<4>(args, all, begin, end);
}
void stream_panels_b8(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_panels<8>(args, all, begin, end);
}
void stream_panels_b16(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_panels<16>(args, all, begin, end);
}
void stream_lines_b1(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_lines<1>(args, all, begin, end);
}
void stream_lines_b2(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_lines<2>(args, all, begin, end);
}
void stream_lines_b4(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_lines<4>(args, all, begin, end);
}
void stream_lines_b8(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_lines<8>(args, all, begin, end);
}
void stream_lines_b16(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_lines<16>(args, all, begin, end);
}
void stream_strips_b1(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_strips<1>(args, all, begin, end);
}
void stream_strips_b2(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_strips<2>(args, all, begin, end);
}
void stream_strips_b4(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_strips<4>(args, all, begin, end);
}
void stream_strips_b8(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_strips<8>(args, all, begin, end);
}
void stream_strips_b16(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  stream_strips<16>(args, all, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels {

CORNERTURN_CPU_KERNEL(cpu_stream_panels_b2, stream_panels_b2)
CORNERTURN_CPU_KERNEL(cpu_stream_panels_b4, stream_panels_b4)
CORNERTURN_CPU_KERNEL(cpu_stream_panels_b8, stream_panels_b8)
CORNERTURN_CPU_KERNEL(cpu_stream_panels_b16, stream_panels_b16)
CORNERTURN_CPU_KERNEL(cpu_stream_lines_b1, stream_lines_b1)
CORNERTURN_CPU_KERNEL(cpu_stream_lines_b2, stream_lines_b2)
CORNERTURN_CPU_KERNEL(cpu_stream_lines_b4, stream_lines_b4)
CORNERTURN_CPU_KERNEL(cpu_stream_lines_b8, stream_lines_b8)
CORNERTURN_CPU_KERNEL(cpu_stream_lines_b16, stream_lines_b16)
CORNERTURN_CPU_KERNEL(cpu_stream_strips_b1, stream_strips_b1)
CORNERTURN_CPU_KERNEL(cpu_stream_strips_b2, stream_strips_b2)
CORNERTURN_CPU_KERNEL(cpu_stream_strips_b4, stream_strips_b4)
CORNERTURN_CPU_KERNEL(cpu_stream_strips_b8, stream_strips_b8)
CORNERTURN_CPU_KERNEL(cpu_stream_strips_b16, stream_strips_b16)

}  // namespace cornerturn::kernels
#endif  // HWY_ONCE
