#include "kernels/family.hpp"

namespace cornerturn::kernels {

facts facts_of(const map::canonical& form, const op& math) noexcept {
  facts known;
  known.form = form;
  known.form.src_offset = known.form.dst_offset = known.form.second_offset = 0;
  known.math = math;
  const std::int64_t words = map::words(form);
  // Of one side: the mean of both where elements are converted.
  known.bytes = words * form.word_bytes;
  if (form.dst_word_bytes != form.word_bytes) {
    known.bytes = words / 2 * (form.word_bytes + form.dst_word_bytes) + words % 2 * form.word_bytes;
  }
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = known.form.axes[k];
    if (one.src_stride == 1 && known.src_unit_axis < 0) known.src_unit_axis = k;
    if (one.dst_stride == 1 && known.dst_unit_axis < 0) known.dst_unit_axis = k;
  }
  known.transposes = !form.empty && gpu::find_transpose_axes(known.form, known.transposed);
  return known;
}

}  // namespace cornerturn::kernels
