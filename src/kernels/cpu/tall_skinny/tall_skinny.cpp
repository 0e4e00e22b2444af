// The family tall_skinny: arrays of structures to structures of arrays.
//   any number of columns  pieces of 16 bytes are shuffled               tall_skinny-inl.hpp
//   split                  2, 3, 4, 8 or 16 columns, in whole vectors   split-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tall_skinny/tall_skinny.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/tall_skinny/args.hpp"
#include "kernels/cpu/tall_skinny/split-inl.hpp"
#include "kernels/cpu/tall_skinny/tall_skinny-inl.hpp"

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

void tall_skinny_b1(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_any<1>(args, all, begin, end);
}
void tall_skinny_b2(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_any<2>(args, all, begin, end);
}
void tall_skinny_b4(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_any<4>(args, all, begin, end);
}
void tall_skinny_b8(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_any<8>(args, all, begin, end);
}
void tall_skinny_split_b1(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_split<1>(args, all, begin, end);
}
void tall_skinny_split_b2(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_split<2>(args, all, begin, end);
}
void tall_skinny_split_b4(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_split<4>(args, all, begin, end);
}
void tall_skinny_split_b8(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  tall_skinny_split<8>(args, all, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels {

CORNERTURN_CPU_KERNEL(cpu_tall_skinny_b1, tall_skinny_b1)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_b2, tall_skinny_b2)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_b4, tall_skinny_b4)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_b8, tall_skinny_b8)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_split_b1, tall_skinny_split_b1)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_split_b2, tall_skinny_split_b2)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_split_b4, tall_skinny_split_b4)
CORNERTURN_CPU_KERNEL(cpu_tall_skinny_split_b8, tall_skinny_split_b8)

}  // namespace cornerturn::kernels
#endif  // HWY_ONCE
