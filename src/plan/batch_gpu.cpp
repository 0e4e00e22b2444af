//   1. a shape for each problem and alignment that there is, and the moves of each
//   2. how each shape is cut: where many moves have it and a box holds several of them, they are one more axis, of a
//      stride that nothing continues and that is as aligned as their addresses are; else it is an ordinary box
//   3. for each word size one launch: its shapes, the addresses of its items, its blocks
#include "plan/batch_gpu.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/checked.hpp"
#include "plan/box.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr std::int64_t most_blocks = INT32_MAX;
static_assert(offsetof(gpu::box_shape, box) == 32);
constexpr int alignments = 5;  // 1, 2, 4, 8, 16

struct shape {
  std::uint32_t which = 0;
  int alignment = 16;
  std::vector<std::size_t> moves;
  std::int64_t word_bytes = 1;
  std::int64_t src_start = 0;  // bytes from the caller's pointer to index 0
  std::int64_t dst_start = 0;
  gpu::box_shape made;
  std::int64_t blocks = 0;  // of all its moves; 0: they go alone
  int shared_bytes = 0;
  std::int64_t items_per_block = 1;  // where boxes hold several
};

std::uint64_t address(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

std::vector<shape> find_shapes(std::span<const problem> problems, std::span<const batch_move> moves) {
  std::vector<shape> found;
  std::vector<map::canonical> forms;
  forms.reserve(problems.size());
  for (const problem& what : problems) forms.push_back(map::canonicalize(what));
  std::vector<std::size_t> known(problems.size() * alignments, 0);  // 1 more than its place in `found`
  for (std::size_t k = 0; k < moves.size(); ++k) {
    const map::canonical& form = forms[moves[k].which];
    const auto word = static_cast<std::uint64_t>(form.word_bytes);
    const std::uint64_t both = (address(moves[k].src) + static_cast<std::uint64_t>(form.src_offset) * word) |
                               (address(moves[k].dst) + static_cast<std::uint64_t>(form.dst_offset) * word) | 16;
    const auto alignment = static_cast<int>(both & -both);
    std::size_t& place = known[moves[k].which * alignments + static_cast<std::size_t>(std::countr_zero(both))];
    if (place == 0) {
      shape made;
      made.which = moves[k].which;
      made.alignment = alignment;
      found.push_back(std::move(made));
      place = found.size();
    }
    found[place - 1].moves.push_back(k);
  }
  return found;
}

// A stride beyond everything on that side, so that no axis continues it, and aligned as two addresses are that have no
// more in common than `alignment`.
std::int64_t stride_between_items(const map::canonical& form, std::int64_t axis::*stride, int alignment) noexcept {
  std::int64_t beyond = 1;
  for (int k = 0; k < form.rank; ++k) beyond += magnitude(form.axes[k].*stride) * form.axes[k].extent;
  const std::int64_t chunk = 16 / form.word_bytes;
  return (ceil_div(beyond, chunk) + 1) * chunk + (alignment < 16 ? alignment / form.word_bytes : 0);
}

// The cut of boxes that hold several items, or none: an item does not fit, or its words lie on no axis.
box cut_items(const map::canonical& form, shape& one, std::int64_t shared_bytes, const gpu_tuning& tuned) noexcept {
  if (one.moves.size() < 2 || form.rank + 1 >= map::max_axes) return {};
  map::canonical many = form;
  std::copy_backward(form.axes.begin(), form.axes.begin() + form.rank, many.axes.begin() + form.rank + 1);
  constexpr std::int64_t endless = 1 << 30;  // so that the axis is always cut, which makes it the last one
  const std::int64_t src_stride = stride_between_items(form, &axis::src_stride, one.alignment);
  const std::int64_t dst_stride = stride_between_items(form, &axis::dst_stride, one.alignment);
  many.axes[0] = {endless, src_stride, dst_stride};
  ++many.rank;
  box cut = cut_box(many, shared_bytes, one.alignment, tuned);
  gpu::box_job& job = cut.job;
  if (cut.blocks == 0 || job.blocks.rank != 1) return {};  // an item is cut too
  if (job.src_rank <= job.run_axes || job.dst_rank <= job.line_axes) return {};
  gpu::box_axis& in_src = job.src_axes[job.src_rank - 1];
  gpu::box_axis& in_dst = job.dst_axes[job.dst_rank - 1];
  const std::uint32_t items = in_src.tile.divisor;
  const bool found = in_src.slot >= 0 && in_src.slot == in_dst.slot && items > 1 &&
                     in_src.src_stride_bytes == src_stride * form.word_bytes;
  if (!found) return {};
  in_src.src_stride_bytes = in_dst.dst_stride_bytes = 0;  // the addresses say it
  job.blocks.rank = 0;
  one.made.item_slot = in_src.slot;
  one.made.item_runs = map::fast_divisor(static_cast<std::uint32_t>(job.runs) / items);
  one.made.item_lines = map::fast_divisor(static_cast<std::uint32_t>(job.lines) / items);
  one.items_per_block = items;
  return cut;
}

void cut_shape(shape& one, const problem& what, const gpu_request& wanted, const gpu_tuning& tuned) noexcept {
  const map::canonical form = map::canonicalize(what, one.alignment);
  one.word_bytes = form.word_bytes;
  one.src_start = form.src_offset * form.word_bytes;
  one.dst_start = form.dst_offset * form.word_bytes;
  if (map::words(form) * form.word_bytes >= alone_bytes) return;
  // Room for the shape beside the box.
  const std::int64_t shared_bytes = wanted.shared_bytes - static_cast<std::int64_t>(sizeof(gpu::box_shape)) - 16;
  const auto count = static_cast<std::int64_t>(one.moves.size());
  box cut = cut_items(form, one, shared_bytes, tuned);
  if (one.made.item_slot >= 0) {
    // No more in one block than gives every multiprocessor some.
    one.items_per_block = std::clamp<std::int64_t>(count / (4 * wanted.multiprocessors), 1, one.items_per_block);
    one.blocks = ceil_div(count, one.items_per_block);
  } else {
    cut = cut_box(form, shared_bytes, one.alignment, tuned);
    if (!base::checked_mul(cut.blocks, count, one.blocks)) one.blocks = most_blocks + 1;
  }
  one.shared_bytes = cut.shared_bytes;
  one.made.box = cut.job;
  const map::byte_span span = map::src_span(form);
  one.made.box.src_begin = static_cast<std::uint64_t>(span.lo - one.src_start);
  one.made.box.src_end = static_cast<std::uint64_t>(span.hi - one.src_start);
}

std::int32_t bytes_of(const gpu::box_shape& one) noexcept {
  const std::size_t before = offsetof(gpu::box_shape, box) + offsetof(gpu::box_job, blocks) + offsetof(gpu::grid, axes);
  const auto axes = static_cast<std::size_t>(one.box.blocks.rank);
  return static_cast<std::int32_t>((before + axes * sizeof(gpu::grid_axis) + 15) / 16 * 16);
}

const kernels::kernel* row_of(std::int64_t word_bytes) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (kernels::moves_batches(one) && one.element_bytes == word_bytes) return &one;
  }
  return nullptr;
}

template <class T>
std::size_t append(std::vector<std::byte>& table, const std::vector<T>& all) {
  const std::size_t at = table.size();
  static_assert(sizeof(T) % 16 == 0);
  table.resize(at + all.size() * sizeof(T));
  if (!all.empty()) std::memcpy(table.data() + at, all.data(), all.size() * sizeof(T));
  return at;
}

// 3. Of shapes of one word size, whose blocks a grid can number.
void add_launch(gpu_batch& made, std::span<const shape* const> shapes, std::span<const batch_move> moves,
                const kernels::kernel* kernel) {
  if (shapes.empty()) return;
  gpu_batch::launch one;
  one.kernel = kernel;
  std::vector<gpu::box_item> items;
  std::vector<gpu::box_block> blocks;
  for (const shape* kind : shapes) {
    one.shape_bytes = std::max(one.shape_bytes, bytes_of(kind->made));
    one.shape_at = std::max(one.shape_at, (kind->shared_bytes + 15) / 16 * 16);
    const auto number = static_cast<std::uint32_t>(one.shapes++);
    const auto first = static_cast<std::uint32_t>(items.size());
    const auto count = static_cast<std::uint32_t>(kind->moves.size());
    for (const std::size_t k : kind->moves) {
      items.push_back({address(moves[k].src) + static_cast<std::uint64_t>(kind->src_start),
                       address(moves[k].dst) + static_cast<std::uint64_t>(kind->dst_start)});
    }
    const auto each = static_cast<std::uint32_t>(kind->items_per_block);
    const bool several = kind->made.item_slot >= 0;
    const auto parts = several ? 1 : static_cast<std::uint32_t>(kind->blocks / count);
    for (std::uint32_t k = 0; k < count; k += each) {
      for (std::uint32_t part = 0; part < parts; ++part) {
        blocks.push_back({number, first + k, std::min(each, count - k), part});
      }
    }
  }
  one.items = static_cast<std::int64_t>(items.size());
  one.blocks = static_cast<std::uint32_t>(blocks.size());
  one.shared_bytes = one.shape_at + one.shape_bytes;
  one.shapes_at = made.table.size();
  made.table.resize(one.shapes_at + shapes.size() * static_cast<std::size_t>(one.shape_bytes));
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    std::memcpy(made.table.data() + one.shapes_at + k * static_cast<std::size_t>(one.shape_bytes), &shapes[k]->made,
                static_cast<std::size_t>(std::min<std::int64_t>(one.shape_bytes, sizeof(gpu::box_shape))));
  }
  one.items_at = append(made.table, items);
  one.blocks_at = append(made.table, blocks);
  made.launches.push_back(one);
}

}  // namespace

gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves, const gpu_request& wanted,
                  const gpu_tuning& tuned) {
  gpu_batch made;
  std::vector<shape> shapes = find_shapes(problems, moves);                      // 1.
  for (shape& one : shapes) cut_shape(one, problems[one.which], wanted, tuned);  // 2.
  for (std::int64_t word = 1; word <= 16; word *= 2) {                           // 3.
    const kernels::kernel* const kernel = row_of(word);
    std::vector<const shape*> together;
    std::int64_t blocks = 0;
    for (const shape& one : shapes) {
      if (one.word_bytes != word) continue;
      if (kernel == nullptr || one.blocks == 0 || one.blocks > most_blocks) {
        made.alone.insert(made.alone.end(), one.moves.begin(), one.moves.end());
        continue;
      }
      if (blocks + one.blocks > most_blocks) {
        add_launch(made, together, moves, kernel);
        together.clear();
        blocks = 0;
      }
      blocks += one.blocks;
      together.push_back(&one);
    }
    add_launch(made, together, moves, kernel);
  }
  return made;
}

gpu::box_batch_job job_of(const gpu_batch::launch& one, const void* table) noexcept {
  const auto* const at = static_cast<const unsigned char*>(table);
  return {.shapes = at + one.shapes_at,
          .items = reinterpret_cast<const gpu::box_item*>(at + one.items_at),
          .blocks = reinterpret_cast<const gpu::box_block*>(at + one.blocks_at),
          .shape_bytes = one.shape_bytes,
          .shape_at = one.shape_at};
}

}  // namespace cornerturn::planning
