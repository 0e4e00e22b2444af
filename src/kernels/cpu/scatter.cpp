// dst has no unit stride: elements go one by one. The two innermost axes of dst are walked in small squares, so that a
// line of src that is touched serves more than one element.
#include <cstring>

#include "kernels/cpu/odometer.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

void cpu_scatter(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) noexcept {
  const auto word = static_cast<std::size_t>(work.form.word_bytes);
  cpu::odometer walk(work.outer, work.form.word_bytes, begin, false);
  for (std::int64_t i = begin; i < end; ++i, walk.next()) std::memcpy(dst + walk.dst(), src + walk.src(), word);
}

}  // namespace cornerturn::kernels
