// Plans a batch on a GPU.
//   1. moves of one problem and one alignment share a shape
//   2. each shape is cut into gather boxes. If a box holds several items, the items are one more axis. The stride of
//      this axis is so large that no axis continues it, and it is as aligned as the addresses of the items
//   3. large matrices get panels. Many matrices of one shape with whole chunks a side get the family small
//   4. each word size has one launch of boxes, with a table of shapes, items and blocks. Each team size of panels, and
//      each shape of the family small, has a launch, too
#include "plan/batch_gpu.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/checked.hpp"
#include "kernels/gpu/gather/cut.hpp"
#include "kernels/gpu/panel/cut.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/transpose_axes.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;

static_assert(offsetof(gpu::gather_shape, box) == 32);
constexpr int alignments = 5;  // 1, 2, 4, 8, 16

struct shape {
  std::uint32_t which = 0;
  int alignment = 16;
  std::vector<std::size_t> moves;
  std::int64_t word_bytes = 1;
  std::int64_t src_start = 0;  // bytes from the caller's pointer to index 0
  std::int64_t dst_start = 0;
  gpu::gather_shape made;
  std::int64_t blocks = 0;  // of all its moves; 0: each move gets its own launch
  int shared_bytes = 0;
  std::int64_t items_per_block = 1;  // more than 1: a box holds several items
  bool in_panels = false;
  bool in_small = false;
  gpu::panel_matrix matrix;
  map::byte_span src_span{};
};

// The row of a family that takes its addresses from a table.
const kernels::kernel* batch_row(std::string_view family, std::int64_t word_bytes) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (one.kind == kernels::row_kind::batch && one.element_bytes == word_bytes && one.family == family) return &one;
  }
  return nullptr;
}

std::uint64_t address(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

std::vector<shape> find_shapes(std::span<const problem> problems, std::span<const batch_move> moves) {
  std::vector<shape> found;
  std::vector<map::canonical> forms;
  forms.reserve(problems.size());
  for (const problem& what : problems) forms.push_back(map::canonicalize(what));
  std::vector<std::size_t> known(problems.size() * alignments, 0);  // index in `found`, plus 1; 0: none
  for (std::size_t k = 0; k < moves.size(); ++k) {
    const map::canonical& form = forms[moves[k].which];
    const auto word = static_cast<std::uint64_t>(form.word_bytes);
    const std::uint64_t both = (address(moves[k].src) + static_cast<std::uint64_t>(form.src_offset) * word) |
                               (address(moves[k].dst) + static_cast<std::uint64_t>(form.dst_offset) * word) | 16;
    const auto alignment = static_cast<int>(both & -both);
    std::size_t& index = known[moves[k].which * alignments + static_cast<std::size_t>(std::countr_zero(both))];
    if (index == 0) {
      shape made;
      made.which = moves[k].which;
      made.alignment = alignment;
      found.push_back(std::move(made));
      index = found.size();
    }
    found[index - 1].moves.push_back(k);
  }
  return found;
}

// A stride beyond all elements of that side, so that no axis continues it. It is a multiple of `alignment`, and of no
// more.
std::int64_t stride_between_items(const map::canonical& form, std::int64_t axis::*stride, int alignment) noexcept {
  std::int64_t beyond = 1;
  for (int k = 0; k < form.rank; ++k) beyond += magnitude(form.axes[k].*stride) * form.axes[k].extent;
  const std::int64_t chunk = 16 / form.word_bytes;
  return (ceil_div(beyond, chunk) + 1) * chunk + (alignment < 16 ? alignment / form.word_bytes : 0);
}

// Cuts boxes that hold several items. Returns an empty box if an item does not fit, or has no axis of runs or lines.
gpu::box cut_items(const map::canonical& form, shape& one, std::int64_t shared_bytes,
                   const kernels::target& on) noexcept {
  if (one.moves.size() < 2 || form.rank + 1 >= map::max_axes) return {};
  map::canonical many = form;
  std::copy_backward(form.axes.begin(), form.axes.begin() + form.rank, many.axes.begin() + form.rank + 1);
  constexpr std::int64_t endless = 1 << 30;  // the axis of items is always cut, so it is the last one of every list
  const std::int64_t src_stride = stride_between_items(form, &axis::src_stride, one.alignment);
  const std::int64_t dst_stride = stride_between_items(form, &axis::dst_stride, one.alignment);
  many.axes[0] = {endless, src_stride, dst_stride};
  ++many.rank;
  gpu::box cut = gpu::cut_box(many, shared_bytes, one.alignment, on);
  gpu::gather_args& args = cut.args;
  if (cut.blocks == 0 || args.blocks.rank != 1) return {};  // an item is cut too
  if (args.src_rank <= args.run_axes || args.dst_rank <= args.line_axes) return {};
  gpu::gather_axis& in_src = args.src_axes[args.src_rank - 1];
  gpu::gather_axis& in_dst = args.dst_axes[args.dst_rank - 1];
  const std::uint32_t items = in_src.tile.divisor;
  const bool found = in_src.slot >= 0 && in_src.slot == in_dst.slot && items > 1 &&
                     in_src.src_stride_bytes == src_stride * form.word_bytes;
  if (!found) return {};
  in_src.src_stride_bytes = in_dst.dst_stride_bytes = 0;  // the table has the addresses
  args.blocks.rank = 0;
  one.made.item_slot = in_src.slot;
  one.made.item_runs = map::fast_divisor(static_cast<std::uint32_t>(args.runs) / items);
  one.made.item_lines = map::fast_divisor(static_cast<std::uint32_t>(args.lines) / items);
  one.items_per_block = items;
  return cut;
}

// 3. True if the family small accepts the matrices, and they have enough bytes for a launch.
bool suits_small(const shape& one, std::int64_t bytes) noexcept {
  const gpu::panel_matrix& matrix = one.matrix;
  return one.alignment == 16 && (matrix.src_row_bytes | matrix.dst_col_bytes) % 16 == 0 &&
         gpu::whole_side_log2(matrix.rows, one.word_bytes) >= 0 &&
         gpu::whole_side_log2(matrix.cols, one.word_bytes) >= 0 &&
         bytes * static_cast<std::int64_t>(one.moves.size()) >= own_launch_bytes;
}

void cut_shape(shape& one, const problem& what, std::int64_t all_moves, const kernels::target& on) noexcept {
  const map::canonical form = map::canonicalize(what, one.alignment);
  one.word_bytes = form.word_bytes;
  one.src_start = form.src_offset * form.word_bytes;
  one.dst_start = form.dst_offset * form.word_bytes;
  if (map::words(form) * form.word_bytes >= alone_bytes) return;
  // Room for the shape beside the box.
  const std::int64_t shared_bytes = on.shared_bytes - static_cast<std::int64_t>(sizeof(gpu::gather_shape)) - 16;
  const auto count = static_cast<std::int64_t>(one.moves.size());
  const std::int64_t bytes = map::words(form) * form.word_bytes;
  const bool is_matrix =
      form.rank == 2 && on.shared_bytes >= gpu::most_panel_bytes && gpu::find_matrix(form, one.matrix);
  one.in_small = is_matrix && suits_small(one, bytes);
  if (one.in_small) return;
  gpu::box cut = is_matrix && bytes >= gpu::fewest_panel_bytes ? gpu::box{} : cut_items(form, one, shared_bytes, on);
  if (is_matrix && (one.made.item_slot < 0 || count < one.items_per_block)) {
    one.in_panels = true;
    one.src_span = map::src_span(form);
    return;
  }
  if (one.made.item_slot >= 0) {
    // Few enough items in a block that every multiprocessor has four blocks of the batch.
    one.items_per_block = std::clamp<std::int64_t>(all_moves / (4 * on.multiprocessors), 1, one.items_per_block);
    one.blocks = ceil_div(count, one.items_per_block);
  } else {
    cut = gpu::cut_box(form, shared_bytes, one.alignment, on);
    if (!base::checked_mul(cut.blocks, count, one.blocks)) one.blocks = gpu::most_blocks + 1;
  }
  one.shared_bytes = cut.shared_bytes;
  one.made.box = cut.args;
  const map::byte_span span = map::src_span(form);
  one.made.box.arrays.src_begin = static_cast<std::uint64_t>(span.lo - one.src_start);
  one.made.box.arrays.src_end = static_cast<std::uint64_t>(span.hi - one.src_start);
}

std::int32_t bytes_of(const gpu::gather_shape& one) noexcept {
  const std::size_t before =
      offsetof(gpu::gather_shape, box) + offsetof(gpu::gather_args, blocks) + offsetof(gpu::grid, axes);
  const auto axes = static_cast<std::size_t>(one.box.blocks.rank);
  return static_cast<std::int32_t>((before + axes * sizeof(gpu::grid_axis) + 15) / 16 * 16);
}

template <class T>
std::size_t append(std::vector<std::byte>& table, const std::vector<T>& all) {
  const std::size_t at = table.size();
  static_assert(sizeof(T) % 16 == 0);
  table.resize(at + all.size() * sizeof(T));
  if (!all.empty()) std::memcpy(table.data() + at, all.data(), all.size() * sizeof(T));
  return at;
}

std::vector<gpu::batch_item> items_of(const shape& kind, std::span<const batch_move> moves) {
  std::vector<gpu::batch_item> items;
  items.reserve(kind.moves.size());
  for (const std::size_t k : kind.moves) {
    items.push_back({address(moves[k].src) + static_cast<std::uint64_t>(kind.src_start),
                     address(moves[k].dst) + static_cast<std::uint64_t>(kind.dst_start)});
  }
  return items;
}

// 4. Adds the launch of the boxes of one word size; the grid has room for their blocks.
void add_boxes(gpu_batch& made, std::span<const shape* const> shapes, std::span<const batch_move> moves,
               const kernels::kernel* kernel) {
  if (shapes.empty()) return;
  gpu_batch::launch one;
  one.kernel = kernel;
  gpu::gather_batch_args args;
  std::vector<gpu::batch_item> items;
  std::vector<gpu::gather_block> blocks;
  for (const shape* kind : shapes) {
    args.shape_bytes = std::max(args.shape_bytes, bytes_of(kind->made));
    args.shape_at = std::max(args.shape_at, (kind->shared_bytes + 15) / 16 * 16);
    const auto number = static_cast<std::uint32_t>(one.shapes++);
    const auto first = static_cast<std::uint32_t>(items.size());
    const auto count = static_cast<std::uint32_t>(kind->moves.size());
    const std::vector<gpu::batch_item> added = items_of(*kind, moves);
    items.insert(items.end(), added.begin(), added.end());
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
  one.shared_bytes = args.shape_at + args.shape_bytes;
  one.shapes_at = made.table.size();
  made.table.resize(one.shapes_at + shapes.size() * static_cast<std::size_t>(args.shape_bytes));
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    std::memcpy(made.table.data() + one.shapes_at + k * static_cast<std::size_t>(args.shape_bytes), &shapes[k]->made,
                static_cast<std::size_t>(std::min<std::int64_t>(args.shape_bytes, sizeof(gpu::gather_shape))));
  }
  one.items_at = append(made.table, items);
  one.blocks_at = append(made.table, blocks);
  one.args = args;
  made.launches.push_back(one);
}

// 4. Adds the launch of a shape of the family small.
void add_small(gpu_batch& made, const shape& kind, std::span<const batch_move> moves) {
  gpu_batch::launch one;
  one.kernel = batch_row("small", kind.word_bytes);
  gpu::small_batch_args args;
  args.count = static_cast<std::uint32_t>(kind.moves.size());
  args.across_log2 = gpu::whole_side_log2(kind.matrix.cols, kind.word_bytes);
  args.down_log2 = gpu::whole_side_log2(kind.matrix.rows, kind.word_bytes);
  args.src_row_bytes = kind.matrix.src_row_bytes;
  args.dst_col_bytes = kind.matrix.dst_col_bytes;
  const std::int64_t at_a_time = gpu::units_of_tile(kind.word_bytes) >> (args.across_log2 + args.down_log2);
  one.blocks = static_cast<std::uint32_t>(ceil_div(args.count, at_a_time));
  one.shared_bytes = one.kernel->shared_bytes + static_cast<int>(at_a_time * std::int64_t{sizeof(gpu::batch_item)});
  one.items_at = append(made.table, items_of(kind, moves));
  one.items = args.count;
  one.shapes = 1;
  one.args = args;
  made.launches.push_back(one);
}

// The panels of one team size, and the number of their items and shapes.
struct panel_group {
  std::vector<gpu::panel_item> panels;
  std::int64_t items = 0;
  std::int64_t shapes = 0;
};
using panel_groups = std::array<panel_group, 4>;

std::size_t group_of(const gpu::panel_shape& shape) noexcept {
  return static_cast<std::size_t>(shape.team_log2 - gpu::smallest_team_log2);
}

// The smallest team of panels. A launch of few blocks costs more than the idle threads of a larger team: 10,000
// matrices of 8 to 300 float32 a side reach 0.838 of a copy in five launches, 0.875 in two (H200, 2026-11-22).
int least_team(std::span<const shape> shapes, std::int64_t word, std::int64_t multiprocessors) noexcept {
  std::array<std::int64_t, 4> panels{};
  for (const shape& one : shapes) {
    if (!one.in_panels || one.word_bytes != word) continue;
    const gpu::panel_cut cut = gpu::cut_panels(one.matrix);
    panels[group_of(gpu::shape_of_panels(one.matrix, cut.rows, cut.cols))] +=
        static_cast<std::int64_t>(one.moves.size()) * ceil_div(one.matrix.cols, cut.cols);
  }
  int least = gpu::smallest_team_log2;
  for (std::size_t k = 0; k + 1 < panels.size(); ++k, ++least) {
    if (panels[k] >= 4 * multiprocessors * (gpu::panel_threads >> least)) break;
    panels[k + 1] += panels[k];
  }
  return least;
}

// 3. Adds every panel of a shape's items to the group of its team size.
void add_panels(const shape& one, int least_team_log2, std::span<const batch_move> moves, panel_groups& groups) {
  const gpu::panel_matrix& matrix = one.matrix;
  const gpu::panel_cut cut = gpu::cut_panels(matrix);
  for (std::int64_t row = 0; row < matrix.rows; row += cut.rows) {
    gpu::panel_item part;
    part.shape = gpu::shape_of_panels(matrix, std::min(cut.rows, matrix.rows - row), cut.cols, least_team_log2);
    panel_group& group = groups[group_of(part.shape)];
    if (row == 0) group.items += static_cast<std::int64_t>(one.moves.size()), ++group.shapes;
    for (const std::size_t k : one.moves) {
      const std::uint64_t src = address(moves[k].src), dst = address(moves[k].dst);
      part.src_begin = src + static_cast<std::uint64_t>(one.src_span.lo);
      part.src_end = src + static_cast<std::uint64_t>(one.src_span.hi);
      for (std::int64_t col = 0; col < matrix.cols; col += cut.cols) {
        part.src = src + static_cast<std::uint64_t>(one.src_start + row * matrix.src_row_bytes + col * one.word_bytes);
        part.dst = dst + static_cast<std::uint64_t>(one.dst_start + row * one.word_bytes + col * matrix.dst_col_bytes);
        part.cols = std::min(cut.cols, matrix.cols - col);
        group.panels.push_back(part);
      }
    }
  }
}

// 4. Adds the launch of the panels of one team size.
void add_launch(gpu_batch& made, const panel_group& group, const kernels::kernel* kernel) {
  if (group.panels.empty()) return;
  gpu_batch::launch one;
  one.kernel = kernel;
  gpu::panel_batch_args args;
  args.team_log2 = group.panels[0].shape.team_log2;
  for (const gpu::panel_item& panel : group.panels) {
    args.shared_bytes = std::max(args.shared_bytes, panel.shape.shared_bytes);
  }
  args.shared_bytes += static_cast<std::int32_t>(sizeof(gpu::panel_item));
  args.count = static_cast<std::uint32_t>(group.panels.size());
  const int teams = gpu::panel_threads >> args.team_log2;
  one.blocks = static_cast<std::uint32_t>(ceil_div(args.count, teams));
  one.shared_bytes = teams * args.shared_bytes;
  one.items_at = append(made.table, group.panels);
  one.items = group.items;
  one.shapes = group.shapes;
  one.args = args;
  made.launches.push_back(one);
}

}  // namespace

gpu_batch lay_out(std::span<const problem> problems, std::span<const batch_move> moves, const kernels::target& on) {
  gpu_batch made;
  std::vector<shape> shapes = find_shapes(problems, moves);  // 1.
  const auto all = static_cast<std::int64_t>(moves.size());
  for (shape& one : shapes) cut_shape(one, problems[one.which], all, on);  // 2.
  for (std::int64_t word = 1; word <= 16; word *= 2) {
    const kernels::kernel* const kernel = batch_row("gather", word);
    std::vector<const shape*> together;
    std::int64_t blocks = 0;
    for (const shape& one : shapes) {
      if (one.word_bytes != word || one.in_panels) continue;
      if (one.in_small) {
        add_small(made, one, moves);
        continue;
      }
      if (kernel == nullptr || one.blocks == 0 || one.blocks > gpu::most_blocks) {
        made.alone.insert(made.alone.end(), one.moves.begin(), one.moves.end());
        continue;
      }
      if (blocks + one.blocks > gpu::most_blocks) {
        add_boxes(made, together, moves, kernel);
        together.clear();
        blocks = 0;
      }
      blocks += one.blocks;
      together.push_back(&one);
    }
    add_boxes(made, together, moves, kernel);
    panel_groups teams;
    const int least = least_team(shapes, word, on.multiprocessors);
    for (const shape& one : shapes) {
      if (one.in_panels && one.word_bytes == word) add_panels(one, least, moves, teams);
    }
    for (const panel_group& group : teams) add_launch(made, group, batch_row("panel", word));
  }
  return made;
}

}  // namespace cornerturn::planning
