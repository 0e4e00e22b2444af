// The family short_wide: structures of arrays to arrays of structures.
//   any number of rows  pieces of 16 bytes are shuffled           short_wide-inl.hpp
//   join                2, 3, 4 or 8 rows, in whole vectors
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/short_wide/short_wide.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/interleave-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"
#include "kernels/cpu/short_wide/args.hpp"
#include "kernels/cpu/short_wide/short_wide-inl.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

template <std::size_t Word>
struct join_fill : block_fill<Word> {
  using block_fill<Word>::block_fill;

  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    this->fetch_short_rows(rows, cols, pitch);
    const std::int64_t done = join(rows, cols, to);
    if (done < cols) this->packed_from(rows, done, cols, to, pitch);
  }

 private:
  HWY_NOINLINE static std::int64_t join(const strip& rows, std::int64_t cols, std::byte* to) {
    if (rows.count == 2) return join_rows<Word, 2>(rows.row, cols, to);
    if (rows.count == 3) return join_rows<Word, 3>(rows.row, cols, to);
    if (rows.count == 4) return join_rows<Word, 4>(rows.row, cols, to);
    if (rows.count == 8) return join_rows<Word, 8>(rows.row, cols, to);
    return 0;
  }
};

template <std::size_t Word>
void short_wide_any(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  move_short_wide<Word>(*static_cast<const short_wide::any_args*>(args), all.src, all.dst, begin, end);
}
template <std::size_t Word>
void short_wide_join(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const short_wide::join_args*>(args);
  move_packed(work, all.src, all.dst, begin, end, join_fill<Word>(work, all.src));
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/short_wide/rows.inc"
#include "kernels/cpu/rows-inl.hpp"
