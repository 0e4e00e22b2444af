// The oracle: walks the canonical axes one word at a time. One unit is the whole problem.
#include <cstring>

#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

void cpu_reference(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                   std::int64_t end) noexcept {
  const map::canonical& form = work.form;
  if (begin > 0 || end <= 0) return;
  const auto word = static_cast<std::size_t>(form.word_bytes);
  const std::int64_t total = map::words(form);
  for (std::int64_t i = 0; i < total; ++i) {
    const map::offsets here = map::at(form, i);
    std::memcpy(dst + here.dst * form.word_bytes, src + here.src * form.word_bytes, word);
  }
}

}  // namespace cornerturn::kernels
