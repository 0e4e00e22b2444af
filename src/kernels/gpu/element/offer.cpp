// Elements one by one through L1: any strides on either side, 0 and negative ones too.
#include <algorithm>
#include <string>

#include "kernels/gpu/element/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::gpu {

bool offers::element(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const std::int64_t word = form.word_bytes;
  if (form.empty || form.rank == 0 || row.kind != kernels::row_kind::move || row.element_bytes != word) return false;
  const bool is_joined = !kernels::is_variant(row, "_single");
  const std::int64_t each = is_joined ? 8 / word : 1;
  auto& args = made.emplace<element_args>();
  if (!number_elements(form, each, known.alignment, args)) return false;
  made.blocks = static_cast<std::uint32_t>(base::ceil_div(args.all_words, element_threads));
  made.shared_bytes = 0;
  made.reason = is_joined ? "any strides of src, without shared memory: a thread stores 8 bytes of dst"
                          : "any strides, without shared memory: an element a thread";
  predict(known, on, row, element_counts(known, args, each, on.lanes), made);
  return true;
}

std::string descriptions::element(const kernels::offer& made) {
  const auto& args = made.as<element_args>();
  const std::uint32_t words = args.words.divisor;
  return "elements   " + std::to_string(args.all_words / words) + " rows of " + std::to_string(args.row_elements) +
         " in dst, " + std::to_string(words) + " words each\n";
}

}  // namespace cornerturn::gpu
