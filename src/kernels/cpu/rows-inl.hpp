// Defines the rows of a family. The family's file defines CPU_ROWS, the path of its rows.inc, and includes this at its end.
//   1. once for each SIMD target: a function of the row's name that calls the row's walk
//   2. once: the row's function in namespace kernels. Its first call finds the best target of this machine
#include "kernels/cpu/dispatch.hpp"

#define CPU_ARITHMETIC_ROW CPU_ROW
#define CPU_IN_PLACE_ROW CPU_ROW
#define CPU_ANY_STRIDE_ROW CPU_ROW
#define CPU_ANY_STRIDE_ARITHMETIC_ROW CPU_ROW

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
#define CPU_ROW(name, family, answer, element_bytes, note, ...)                          \
  void name(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) { \
    __VA_ARGS__(args, all, begin, end);                                                  \
  }
#include CPU_ROWS
#undef CPU_ROW
}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::kernels {
#define CPU_ROW(name, ...)                                                                                    \
  namespace cpu {                                                                                             \
  HWY_EXPORT(name);                                                                                           \
  }                                                                                                           \
  void name(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) noexcept {             \
    using namespace cpu;                                                                                      \
    static constinit dispatched code([](const void* a, const arrays& those, std::int64_t b, std::int64_t e) { \
      hwy::GetChosenTarget().Update(simd_target_bits());                                                      \
      const dispatched::function best = HWY_DYNAMIC_DISPATCH(name);                                           \
      code.remember(best);                                                                                    \
      best(a, those, b, e);                                                                                   \
    });                                                                                                       \
    code(args, all, begin, end);                                                                              \
  }
#include CPU_ROWS
#undef CPU_ROW
}  // namespace cornerturn::kernels
#endif  // HWY_ONCE

#undef CPU_ARITHMETIC_ROW
#undef CPU_IN_PLACE_ROW
#undef CPU_ANY_STRIDE_ROW
#undef CPU_ANY_STRIDE_ARITHMETIC_ROW
#undef CPU_ROWS
