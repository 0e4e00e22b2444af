// One contiguous run, or many: the innermost axis is contiguous on both sides, and whole runs are permuted.
#include <algorithm>
#include <string>

#include "kernels/gpu/copy/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

}  // namespace

bool offers::copy(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                  kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const bool takes_one_run = !kernels::is_variant(row, "_runs");
  const bool one_run = form.empty || form.rank == 0 ||
                       (form.rank == 1 && known.dst_unit() != nullptr && known.dst_unit() == known.src_unit());
  if (one_run != takes_one_run) return false;
  if (!one_run && (known.dst_unit() == nullptr || known.dst_unit()->src_stride != 1)) return false;
  // Elements of 1 and 2 bytes are realigned byte by byte.
  const bool bytewise = row.element_bytes == 1;
  if (bytewise ? form.word_bytes > 2 : row.element_bytes != form.word_bytes) return false;

  copy_args& args = made.emplace<copy_args>();
  made.blocks = 0;
  made.shared_bytes = 0;
  made.reason = "src and dst are one contiguous run";
  if (form.empty) {
    made.reason = "the problem has no elements";
    made.time = 1;
    made.binds = kernels::bound::nothing;
    return true;
  }
  const axis* const inner = form.rank == 0 ? nullptr : known.dst_unit();
  const std::int64_t run = inner == nullptr ? 1 : inner->extent;
  if (map::words(form) / run >= most_blocks) return false;
  args.run_bytes = run * form.word_bytes;
  args.runs = static_cast<std::uint32_t>(map::words(form) / run);
  const std::int64_t word = row.element_bytes;
  const std::int64_t words =
      ceil_div(args.run_bytes, std::max<std::int64_t>(word, bytewise ? 4 : 1)) + (bytewise ? 1 : 0);
  const std::int64_t block_words = one_run ? one_run_block_words : many_runs_block_words;
  const std::int64_t most = one_run ? one_run_block_words : on.gpu->piece_words;
  while ((std::int64_t{1} << args.piece_log2) < std::min(words, most)) ++args.piece_log2;
  const std::int64_t pieces = ceil_div(words, std::int64_t{1} << args.piece_log2);
  args.pieces = map::fast_divisor(static_cast<std::uint32_t>(pieces));
  for (int k = form.rank - 1; k >= 0; --k) {  // fastest in dst first
    const axis& one = form.axes[k];
    if (&one == inner) continue;
    auto& outer = args.axes[args.rank++];
    outer.count = map::fast_divisor(static_cast<std::uint32_t>(one.extent));
    outer.src_stride_bytes = one.src_stride * form.word_bytes;
    outer.dst_stride_bytes = one.dst_stride * form.word_bytes;
  }
  const std::int64_t blocks = ceil_div(args.runs, block_words >> args.piece_log2) * pieces;
  if (blocks > most_blocks) return false;
  made.blocks = static_cast<std::uint32_t>(blocks);
  if (!one_run) {
    made.reason = "the innermost axis is contiguous on both sides: whole runs are copied, without shared memory";
  }
  // The words of all threads, for each word of the problem.
  const double room = static_cast<double>(blocks) * static_cast<double>(block_words * (bytewise ? 4 : word)) /
                      static_cast<double>(known.bytes);
  std::int64_t bits = known.alignment;
  for (int k = 0; k < form.rank; ++k) {
    if (&form.axes[k] != inner) bits |= (form.axes[k].src_stride | form.axes[k].dst_stride) * form.word_bytes;
  }
  // DRAM: sectors at the ends of runs. Shared: divisions of runs.
  predict(known, on, row,
          {.again = one_run ? refetched{} : fetched_again_by_elements(form, 1024, on.l2_bytes),
           .dram = one_run ? 0 : waste_beyond_view(form, sector_waste(args.run_bytes, bits & -bits)),
           .shared = one_run ? 0 : 128.0 / static_cast<double>(args.run_bytes),
           .issue = room},
          made);
  return true;
}

std::string descriptions::copy(const kernels::offer& made) {
  const auto& args = made.as<copy_args>();
  return "runs       " + std::to_string(args.runs) + " of " + std::to_string(args.run_bytes) + " bytes, in " +
         std::to_string(args.pieces.divisor) + (args.pieces.divisor == 1 ? " piece\n" : " pieces each\n");
}

}  // namespace cornerturn::gpu
