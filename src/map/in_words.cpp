#include "map/in_words.hpp"

namespace cornerturn::map {

canonical in_words(const canonical& form, std::int64_t max_word_bytes) noexcept {
  canonical made = form;
  if (form.word_bytes <= max_word_bytes) return made;
  const std::int64_t parts = form.word_bytes / max_word_bytes;
  made.word_bytes = made.dst_word_bytes = max_word_bytes;
  if (form.empty) return made;
  made.src_offset *= parts;
  made.dst_offset *= parts;
  for (int k = 0; k < made.rank; ++k) {
    made.axes[k].src_stride *= parts;
    made.axes[k].dst_stride *= parts;
  }
  // The parts of a word are one more axis. It continues an innermost axis that is contiguous on both sides.
  const bool continues =
      form.rank > 0 && form.axes[form.rank - 1].src_stride == 1 && form.axes[form.rank - 1].dst_stride == 1;
  if (continues) --made.rank;
  made.axes[made.rank++] = {continues ? form.axes[form.rank - 1].extent * parts : parts, 1, 1};
  return made;
}

}  // namespace cornerturn::map
