// Batches of any shapes: a table has shapes, items and blocks, and all shapes of one word size share a launch.
//   1. a shape is cut into boxes. If a box holds several items, the items are one more axis. The stride of this axis is so large that
//      no axis continues it, and it is as aligned as the addresses of the items
//   2. a block is a box of some items of a shape: batch.cuh
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/checked.hpp"
#include "kernels/batch.hpp"
#include "kernels/gpu/gather/cut.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

static_assert(offsetof(gather_shape, box) == 32);

// The time for each element, in times of a copy: 8 x 8 float32 reaches 0.76 of a copy, 31 x 33 float32 0.82 (H200, 2026-11-22).
constexpr double time_of_batch = 1.3;
// Boxes of one item each: a block that waits for its item costs as much as so many bytes.
constexpr double block_bytes = 1000;
// A box that the items of the batch do not fill is the last resort: it leaves all but one multiprocessor idle.
constexpr double time_of_unfilled = 1000;

// The arguments of an offer.
struct items_of_box {
  gather_shape shape;
  std::int64_t items_per_block = 1;  // more than 1: a box holds several items
};

// A stride beyond all elements of that side, so that no axis continues it. It is a multiple of `alignment`, and of no
// more.
std::int64_t stride_between_items(const map::canonical& form, std::int64_t axis::*stride, int alignment) noexcept {
  std::int64_t beyond = 1;
  for (int k = 0; k < form.rank; ++k) beyond += magnitude(form.axes[k].*stride) * form.axes[k].extent;
  const std::int64_t chunk = 16 / form.word_bytes;
  return (ceil_div(beyond, chunk) + 1) * chunk + (alignment < 16 ? alignment / form.word_bytes : 0);
}

// 1. Cuts boxes that hold several items. Returns an empty box if an item does not fit, or has no axis of runs or lines.
box cut_items(const kernels::facts& known, std::int64_t shared_bytes, const kernels::target& on,
              items_of_box& found) noexcept {
  const map::canonical& form = known.form;
  if (known.batch->items < 2 || form.rank + 1 >= map::max_axes) return {};
  map::canonical many = form;
  std::copy_backward(form.axes.begin(), form.axes.begin() + form.rank, many.axes.begin() + form.rank + 1);
  constexpr std::int64_t endless = 1 << 30;  // the axis of items is always cut, so it is the last one of every list
  const std::int64_t src_stride = stride_between_items(form, &axis::src_stride, known.alignment);
  const std::int64_t dst_stride = stride_between_items(form, &axis::dst_stride, known.alignment);
  many.axes[0] = {endless, src_stride, dst_stride};
  ++many.rank;
  box cut = cut_box(many, shared_bytes, known.alignment, on);
  gather_args& args = cut.args;
  if (cut.blocks == 0 || args.blocks.rank != 1) return {};  // an item is cut too
  if (args.src_rank <= args.run_axes || args.dst_rank <= args.line_axes) return {};
  gather_axis& in_src = args.src_axes[args.src_rank - 1];
  gather_axis& in_dst = args.dst_axes[args.dst_rank - 1];
  const std::uint32_t items = in_src.tile.divisor;
  const bool is_found = in_src.slot >= 0 && in_src.slot == in_dst.slot && items > 1 &&
                        in_src.src_stride_bytes == src_stride * form.word_bytes;
  if (!is_found) return {};
  in_src.src_stride_bytes = in_dst.dst_stride_bytes = 0;  // the table has the addresses
  args.blocks.rank = 0;
  found.shape.item_slot = in_src.slot;
  found.shape.item_runs = map::fast_divisor(static_cast<std::uint32_t>(args.runs) / items);
  found.shape.item_lines = map::fast_divisor(static_cast<std::uint32_t>(args.lines) / items);
  found.items_per_block = items;
  return cut;
}

std::int32_t bytes_of(const gather_shape& one) noexcept {
  const std::size_t before = offsetof(gather_shape, box) + offsetof(gather_args, blocks) + offsetof(grid, axes);
  const auto axes = static_cast<std::size_t>(one.box.blocks.rank);
  return static_cast<std::int32_t>((before + axes * sizeof(grid_axis) + 15) / 16 * 16);
}

// 2. Adds the launch of some shapes; the grid has room for their blocks.
void add_boxes(kernels::batch_tables& made, std::span<const kernels::batch_shape* const> shapes,
               const kernels::kernel& row) {
  if (shapes.empty()) return;
  kernels::batch_launch one;
  one.row = &row;
  auto& args = one.emplace<gather_batch_args>(3);
  std::vector<item_addresses> items;
  std::vector<gather_block> blocks;
  for (const kernels::batch_shape* const kind : shapes) {
    const auto& made_of = kind->as<items_of_box>();
    args.shape_bytes = std::max(args.shape_bytes, bytes_of(made_of.shape));
    args.shape_at = std::max(args.shape_at, (kind->shared_bytes + 15) / 16 * 16);
    const auto number = static_cast<std::uint32_t>(one.shapes++);
    const auto first = static_cast<std::uint32_t>(items.size());
    const auto count = static_cast<std::uint32_t>(kind->items.size());
    items.insert(items.end(), kind->items.begin(), kind->items.end());
    const auto each = static_cast<std::uint32_t>(made_of.items_per_block);
    const std::uint32_t parts = made_of.shape.item_slot >= 0 ? 1 : kind->blocks / count;
    for (std::uint32_t k = 0; k < count; k += each) {
      for (std::uint32_t part = 0; part < parts; ++part) {
        blocks.push_back({number, first + k, std::min(each, count - k), part});
      }
    }
  }
  one.items = static_cast<std::int64_t>(items.size());
  one.blocks = static_cast<std::uint32_t>(blocks.size());
  one.shared_bytes = args.shape_at + args.shape_bytes;
  const auto each = static_cast<std::size_t>(args.shape_bytes);
  const std::size_t shapes_at = made.bytes.size();
  made.bytes.resize(shapes_at + shapes.size() * each);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    std::memcpy(made.bytes.data() + shapes_at + k * each, &shapes[k]->as<items_of_box>().shape,
                std::min(each, sizeof(gather_shape)));
  }
  args.shapes = reinterpret_cast<const unsigned char*>(shapes_at);
  args.items = made.append(items);
  args.blocks = made.append(blocks);
  made.launches.push_back(one);
}

}  // namespace

bool batch_offers::gather(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                          kernels::offer& made) noexcept {
  if (row.element_bytes != known.form.word_bytes || known.bytes >= kernels::most_item_bytes) return false;
  const kernels::batch_facts& batch = *known.batch;
  if (!on.words.async_copies || batch.beaten <= time_of_batch) return false;
  // Room for the shape beside the box.
  const std::int64_t shared_bytes = on.shared_bytes - static_cast<std::int64_t>(sizeof(gather_shape)) - 16;
  auto& work = made.emplace<items_of_box>();
  box cut = cut_items(known, shared_bytes, on, work);
  std::int64_t blocks = 0;
  if (work.shape.item_slot >= 0) {
    made.time = batch.items < work.items_per_block ? time_of_unfilled : time_of_batch;
    // Few enough items in a block that every multiprocessor has four blocks of the batch.
    work.items_per_block =
        std::clamp<std::int64_t>(batch.all_items / (4 * on.multiprocessors), 1, work.items_per_block);
    blocks = ceil_div(batch.items, work.items_per_block);
    made.reason = "boxes of several items, whose runs of src are gathered into lines of dst in shared memory";
  } else {
    made.time = time_of_batch + block_bytes / static_cast<double>(known.bytes);
    if (batch.beaten <= made.time) return false;
    cut = cut_box(known.form, shared_bytes, known.alignment, on);
    if (cut.blocks == 0 || !base::checked_mul(cut.blocks, batch.items, blocks)) return false;
    made.reason = "boxes of an item, whose runs of src are gathered into lines of dst in shared memory";
  }
  if (blocks > most_blocks) return false;
  made.blocks = static_cast<std::uint32_t>(blocks);
  made.shared_bytes = cut.shared_bytes;
  made.binds = kernels::bound::requests;
  work.shape.box = cut.args;
  const map::byte_span span = map::src_span(known.form);
  work.shape.box.arrays.src_begin = static_cast<std::uint64_t>(span.lo);
  work.shape.box.arrays.src_end = static_cast<std::uint64_t>(span.hi);
  return true;
}

void lay_outs::gather(std::span<const kernels::batch_shape* const> shapes, const kernels::target& /*on*/,
                      const kernels::kernel& row, kernels::batch_tables& made) {
  std::size_t first = 0;
  std::int64_t blocks = 0;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (blocks + shapes[k]->blocks > most_blocks) {
      add_boxes(made, shapes.subspan(first, k - first), row);
      first = k;
      blocks = 0;
    }
    blocks += shapes[k]->blocks;
  }
  add_boxes(made, shapes.subspan(first), row);
}

}  // namespace cornerturn::gpu
