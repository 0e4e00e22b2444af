// The family end_to_end: short dst runs that are contiguous with their neighbours are put together and written as one.
//   lines   the runs fill whole lines: loads and stores alternate line by line   whole_lines-inl.hpp
//   packed  runs of any length, a panel at a time                                policy/packed-inl.hpp
//   small   a batch of small matrices whose sides are powers of two              small-inl.hpp
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/end_to_end/end_to_end.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/end_to_end/args.hpp"
#include "kernels/cpu/end_to_end/small-inl.hpp"
#include "kernels/cpu/end_to_end/whole_lines-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Word>
void end_to_end_lines(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const end_to_end::lines_args*>(args);
  move_whole_lines<Word>(work, all.src, all.dst, begin, end, block_fill<Word>(work, all.src).readable_end);
}
template <std::size_t Word>
void end_to_end_packed(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const end_to_end::packed_args*>(args);
  move_packed(work, all.src, all.dst, begin, end, block_fill<Word>(work, all.src));
}
template <std::size_t Word>
void end_to_end_small(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_small_matrices<Word>(*static_cast<const end_to_end::small_args*>(args), all.src, all.dst, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/end_to_end/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
