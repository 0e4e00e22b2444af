// Plans a batch on a GPU.
//   1. moves of one problem and one alignment share a shape
//   2. each batch row of its word size answers for a shape, and the cheapest offer wins
//   3. each row makes the launches of the shapes that it won. Moves without an offer get a launch of their own
#include "plan/batch_gpu.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace cornerturn::planning {
namespace {

constexpr int alignments = 5;  // 1, 2, 4, 8, 16

struct shape {
  gpu_batch_shape of;
  std::vector<std::size_t> moves;
  const kernels::kernel* row = nullptr;  // that won; null: each move gets its own launch
  kernels::batch_shape won;
};

std::uint64_t address(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }
std::uint64_t bytes_to_index_0(std::int64_t offset, const map::canonical& form) noexcept {
  return static_cast<std::uint64_t>(offset * form.word_bytes);
}

// 1.
std::vector<shape> find_shapes(std::span<const problem> problems, std::span<const batch_move> moves) {
  std::vector<shape> found;
  std::vector<map::canonical> forms;
  forms.reserve(problems.size());
  for (const problem& what : problems) forms.push_back(map::canonicalize(what, 16, map::gpu_line_bytes));
  std::vector<std::size_t> known(problems.size() * alignments, 0);  // index in `found`, plus 1; 0: none
  for (std::size_t k = 0; k < moves.size(); ++k) {
    const map::canonical& form = forms[moves[k].which];
    const std::uint64_t both = (address(moves[k].src) + bytes_to_index_0(form.src_offset, form)) |
                               (address(moves[k].dst) + bytes_to_index_0(form.dst_offset, form)) | 16;
    const auto alignment = static_cast<int>(both & -both);
    std::size_t& index = known[moves[k].which * alignments + static_cast<std::size_t>(std::countr_zero(both))];
    if (index == 0) {
      shape made;
      made.of = {.which = moves[k].which, .alignment = alignment};
      found.push_back(std::move(made));
      index = found.size();
    }
    found[index - 1].moves.push_back(k);
  }
  for (shape& one : found) one.of.items = static_cast<std::int64_t>(one.moves.size());
  return found;
}

// Calls take(offer) for the offers of all batch rows. With `beat`, rows may leave out offers that are not the cheapest.
template <class Take>
void ask(const map::canonical& form, const gpu_batch_shape& one, std::int64_t all_items, const kernels::target& on,
         bool beat, const Take& take) {
  kernels::batch_facts batch{.items = one.items, .all_items = all_items};
  kernels::facts known = kernels::facts_of(form);
  known.alignment = one.alignment;
  known.batch = &batch;
  kernels::offer made;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.kind != kernels::row_kind::batch || row.element_bytes != form.word_bytes) continue;
    if (!offer_of(row, known, on, {.kind = kernels::row_kind::batch}, made)) continue;
    if (beat) batch.beaten = std::min(batch.beaten, made.time);
    take(static_cast<const kernels::offer&>(made));
  }
}

// 2.
void choose(shape& one, const problem& what, std::span<const batch_move> moves, const kernels::target& on) {
  const map::canonical form = map::canonicalize(what, one.of.alignment, map::gpu_line_bytes);
  double best = 0;
  ask(form, one.of, static_cast<std::int64_t>(moves.size()), on, true, [&](const kernels::offer& made) {
    if (one.row != nullptr && made.time >= best) return;
    one.row = made.row;
    best = made.time;
    one.won.blocks = made.blocks;
    one.won.shared_bytes = made.shared_bytes;
    one.won.args.assign(made.args, made.args + made.args_bytes);
  });
  if (one.row == nullptr) return;
  const std::uint64_t src = bytes_to_index_0(form.src_offset, form), dst = bytes_to_index_0(form.dst_offset, form);
  one.won.items.reserve(one.moves.size());
  for (const std::size_t k : one.moves)
    one.won.items.push_back({address(moves[k].src) + src, address(moves[k].dst) + dst});
  const map::byte_span span = map::src_span(form);
  one.won.src_span = {span.lo - static_cast<std::int64_t>(src), span.hi - static_cast<std::int64_t>(src)};
}

}  // namespace

gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves, const kernels::target& on) {
  gpu_batch made;
  std::vector<shape> shapes = find_shapes(problems, moves);
  for (shape& one : shapes) {
    choose(one, problems[one.of.which], moves, on);
    made.shapes.push_back(one.of);
    if (one.row == nullptr) made.alone.insert(made.alone.end(), one.moves.begin(), one.moves.end());
  }
  for (const kernels::kernel& row : kernels::all()) {  // 3.
    if (row.kind != kernels::row_kind::batch) continue;
    std::vector<const kernels::batch_shape*> won;
    for (const shape& one : shapes) {
      if (one.row == &row) won.push_back(&one.won);
    }
    if (!won.empty()) row.lay_out(won, on, row, made);
  }
  return made;
}

std::vector<kernels::offer> offers(const problem& what, const gpu_batch_shape& shape, std::int64_t all_items,
                                   const kernels::target& on) {
  std::vector<kernels::offer> all;
  ask(map::canonicalize(what, shape.alignment, map::gpu_line_bytes), shape, all_items, on, false,
      [&](const kernels::offer& made) { all.push_back(made); });
  std::stable_sort(all.begin(), all.end(),
                   [](const kernels::offer& a, const kernels::offer& b) { return a.time < b.time; });
  return all;
}

}  // namespace cornerturn::planning
