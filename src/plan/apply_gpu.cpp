// The decision list of problems with math on a GPU. The first line whose condition holds wins. Rows are the axis that
// is contiguous in dst, columns the one that is contiguous in src.
//   1  nothing to compute                                                          apply_any, no blocks
//   2  every address is a multiple of 16 bytes, rows and columns fill tiles, and   apply
//      those many blocks
//   3  the same, but for the many blocks, and there is a smaller tile              the small one of apply
//   4  every address is a multiple of its element, rows and columns fill tiles     apply_shift
//   5  everything else                                                             apply_any
#include "plan/apply_gpu.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"

namespace cornerturn::planning {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr const char* reasons[] = {
    "",
    "there is nothing to compute",
    "every address is a multiple of 16 bytes: register blocks turn on the way in, elements change on the way out",
    "every address is a multiple of 16 bytes, but large tiles would be too few: small ones",
    "addresses are multiples of one element: granules of 16 bytes are realigned in shared memory, elements change on "
    "the "
    "way out",
    "runs of src meet runs of dst in shared memory, element by element",
};

constexpr std::int64_t most_blocks = INT32_MAX;
constexpr double least_fill = 0.25;  // of a tile: below, elements by themselves are as fast

struct tile_row {
  std::int64_t src_bytes, dst_bytes;
  const char* name;
};
// Larger tiles of a pair first.
constexpr tile_row tile_rows[] = {
    {1, 1, "cuda_apply_b1_b1_128x128_r16_xor"}, {2, 1, "cuda_apply_b2_b1_128x128_r8_xor"},
    {2, 1, "cuda_apply_b2_b1_64x64_r8_xor"},    {2, 2, "cuda_apply_b2_b2_128x128_r8_xor"},
    {2, 4, "cuda_apply_b2_b4_128x128_r8_xor"},  {4, 1, "cuda_apply_b4_b1_128x128_r4_xor"},
    {4, 2, "cuda_apply_b4_b2_64x64_r4_xor"},    {4, 4, "cuda_apply_b4_b4_64x64_r4_xor"},
    {4, 8, "cuda_apply_b4_b8_64x64_r4_xor"},    {8, 4, "cuda_apply_b8_b4_64x64_r2_xor"},
    {8, 8, "cuda_apply_b8_b8_64x64_r2_xor"},    {16, 16, "cuda_apply_b16_b16_32x32_r1_xor"},
};

const kernels::kernel* tile_of(const map::canonical& form, int skip) noexcept {
  for (const tile_row& one : tile_rows) {
    if (one.src_bytes == form.word_bytes && one.dst_bytes == form.dst_word_bytes && skip-- == 0) {
      return kernels::find(one.name);
    }
  }
  return nullptr;
}

const kernels::kernel* shift_of(const map::canonical& form) noexcept {
  constexpr tile_row rows[] = {
      {2, 1, "cuda_apply_shift_b2_b1"}, {2, 2, "cuda_apply_shift_b2_b2"}, {2, 4, "cuda_apply_shift_b2_b4"},
      {4, 1, "cuda_apply_shift_b4_b1"}, {4, 2, "cuda_apply_shift_b4_b2"}, {4, 4, "cuda_apply_shift_b4_b4"},
      {4, 8, "cuda_apply_shift_b4_b8"}, {8, 4, "cuda_apply_shift_b8_b4"}, {8, 8, "cuda_apply_shift_b8_b8"},
  };
  for (const tile_row& one : rows) {
    if (one.src_bytes == form.word_bytes && one.dst_bytes == form.dst_word_bytes) return kernels::find(one.name);
  }
  return nullptr;
}

const kernels::kernel* any_of(const map::canonical& form) noexcept {
  for (const kernels::kernel& one : kernels::all()) {
    if (one.family == std::string_view("apply_any") && one.element_bytes == form.word_bytes) return &one;
  }
  return nullptr;
}

// Axes by what they are to a tile; -1: none.
struct roles {
  int slot[3] = {-1, -1, -1};  // columns, rows, and the one that fills up a tile
  bool second_by_cols = false;
};

roles unit_axes(const map::canonical& form, const kernels::op& math) noexcept {
  roles found;
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].src_stride == 1 && form.axes[k].dst_stride != 1) found.slot[0] = k;
    if (form.axes[k].dst_stride == 1 && form.axes[k].src_stride != 1) found.slot[1] = k;
  }
  if (found.slot[0] >= 0 && math.second == second_array::destination) {
    found.second_by_cols = form.axes[found.slot[0]].second_stride == 1;
  }
  return found;
}

// Every chunk of 16 bytes of src, and every unit of the others, begins at a multiple of its size.
bool whole_units(const map::canonical& form, const kernels::op& math, const roles& found) noexcept {
  if (found.slot[0] < 0 || found.slot[1] < 0) return false;
  const std::int64_t unit = 16 / std::max(form.word_bytes, form.dst_word_bytes);
  const int second_run = found.slot[found.second_by_cols ? 0 : 1];
  const bool second = math.second != second_array::none;
  if (second && form.axes[second_run].second_stride != 1) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (k != found.slot[0] && one.src_stride * form.word_bytes % 16 != 0) return false;
    if (k != found.slot[1] && one.dst_stride % unit != 0) return false;
    if (second && k != second_run && one.second_stride % unit != 0) return false;
  }
  return true;
}

// Rows and columns are contiguous, and so is a second destination along one of them.
bool has_runs(const map::canonical& form, const kernels::op& math, const roles& found) noexcept {
  if (found.slot[0] < 0 || found.slot[1] < 0) return false;
  const int second_run = found.slot[found.second_by_cols ? 0 : 1];
  return math.second != second_array::destination || form.axes[second_run].second_stride == 1;
}

double fill(std::int64_t n, std::int64_t extent) noexcept {
  return static_cast<double>(n) / static_cast<double>(ceil_div(n, extent) * extent);
}

// Numbers the blocks: down a column of tiles first, so that consecutive blocks complete the same runs of dst. Returns
// false where a grid has too few blocks.
bool fill_grid(gpu_choice& made, gpu::apply_job& job, const map::canonical& form, const roles& found) noexcept {
  gpu::apply_grid& blocks = job.blocks;
  std::int64_t all = 1;
  const auto add = [&](std::int64_t count, int slot, const axis& one, std::int64_t step) {
    if (count == 1) return;
    gpu::apply_axis& into = blocks.axes[blocks.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(count, most_blocks)));
    if (slot >= 0) into.tiles[slot] = 1;
    into.src_step_bytes = one.src_stride * step * form.word_bytes;
    into.dst_step_bytes = one.dst_stride * step * form.dst_word_bytes;
    into.second_step_bytes = one.second_stride * step * form.dst_word_bytes;
    if (!base::checked_mul(all, count, all) || all > most_blocks) all = most_blocks + 1;
  };
  for (const int slot : {1, 0, 2}) {
    if (found.slot[slot] < 0) continue;
    const axis& one = form.axes[found.slot[slot]];
    job.slots[slot] = {one.src_stride * form.word_bytes, one.dst_stride * form.dst_word_bytes,
                       one.second_stride * form.dst_word_bytes};
    blocks.extent[slot] = one.extent;
    add(ceil_div(one.extent, blocks.tile[slot]), slot, one, blocks.tile[slot]);
  }
  for (int k = form.rank - 1; k >= 0; --k) {
    if (std::find(found.slot, found.slot + 3, k) == found.slot + 3) add(form.axes[k].extent, -1, form.axes[k], 1);
  }
  made.blocks = static_cast<std::uint32_t>(all);
  return all <= most_blocks;
}

int log2_above(std::int64_t n) noexcept {
  int log2 = 0;
  while (std::int64_t{1} << log2 < n) ++log2;
  return log2;
}

// Columns and rows by the smallest strides there are, and a third axis where those two leave room.
void fill_any(gpu::apply_job& job, roles& found, const map::canonical& form) noexcept {
  const auto nearest = [&](std::int64_t axis::*stride) {
    int best = -1;
    for (int k = 0; k < form.rank; ++k) {
      if (std::find(found.slot, found.slot + 3, k) != found.slot + 3) continue;
      if (best < 0 || magnitude(form.axes[k].*stride) < magnitude(form.axes[best].*stride)) best = k;
    }
    return best;
  };
  found = {};
  found.slot[0] = nearest(&axis::src_stride);
  // A column that is contiguous in dst too leaves the rows to whatever is next.
  found.slot[1] = nearest(&axis::dst_stride);
  const auto extent = [&](int slot) { return found.slot[slot] < 0 ? 1 : form.axes[found.slot[slot]].extent; };
  const int all = log2_above(gpu::apply_any_elements(static_cast<int>(form.word_bytes)));
  const int cols = log2_above(extent(0)), rows = log2_above(extent(1));
  const int half = (all + 1) / 2;
  job.cut_log2[0] = std::min(cols, std::max(half, all - rows));
  job.cut_log2[1] = std::min(rows, all - job.cut_log2[0]);
  if (job.cut_log2[0] + job.cut_log2[1] < all) found.slot[2] = nearest(&axis::dst_stride);
  job.cut_log2[2] = std::min(log2_above(extent(2)), all - job.cut_log2[0] - job.cut_log2[1]);
  const auto src_bytes = static_cast<std::int32_t>(form.word_bytes);
  job.pitch = (src_bytes << job.cut_log2[0]) + (job.cut_log2[0] > 0 ? std::max(src_bytes, 4) : 0);
  for (int slot = 0; slot < 3; ++slot) job.blocks.tile[slot] = 1 << job.cut_log2[slot];
  const auto by_cols = [&](std::int64_t axis::*stride) {
    if (found.slot[0] < 0 || found.slot[1] < 0) return 1;
    const std::int64_t along = magnitude(form.axes[found.slot[0]].*stride);
    return along < magnitude(form.axes[found.slot[1]].*stride) ? 1 : 0;
  };
  job.dst_by_cols = by_cols(&axis::dst_stride);
  job.second_by_cols = by_cols(&axis::second_stride);
}

double tiles_of(const map::canonical& form, const roles& found, const kernels::kernel& row) noexcept {
  const std::int64_t cols = form.axes[found.slot[0]].extent, rows = form.axes[found.slot[1]].extent;
  return static_cast<double>(map::words(form)) / static_cast<double>(cols) / static_cast<double>(rows) *
         static_cast<double>(ceil_div(cols, row.tile_cols)) * static_cast<double>(ceil_div(rows, row.tile_rows));
}

constexpr int any_line = 5;

// The row of a line, or null where that line cannot take the problem, however few elements a tile would hold.
const kernels::kernel* row_of(int line, const map::canonical& form, const kernels::op& math, const roles& found,
                              const gpu_request& wanted) noexcept {
  if (line == any_line) return any_of(form);
  const bool runs =
      line == 4 ? wanted.alignment >= std::max(form.word_bytes, form.dst_word_bytes) && has_runs(form, math, found)
                : wanted.alignment >= 16 && whole_units(form, math, found);
  const kernels::kernel* const row = !runs ? nullptr : line == 4 ? shift_of(form) : tile_of(form, line - 2);
  return row != nullptr && row->shared_bytes <= wanted.shared_bytes ? row : nullptr;
}

int decide(const map::canonical& form, const kernels::op& math, const roles& found,
           const gpu_request& wanted) noexcept {
  if (form.empty) return 1;
  const auto filled = [&](int line) {
    const kernels::kernel* const row = row_of(line, form, math, found, wanted);
    const bool fills = row != nullptr && fill(form.axes[found.slot[0]].extent, row->tile_cols) *
                                                 fill(form.axes[found.slot[1]].extent, row->tile_rows) >=
                                             least_fill;
    return fills ? row : nullptr;
  };
  const kernels::kernel* const large = filled(2);
  const bool takes_small = filled(3) != nullptr;
  if (large != nullptr && (!takes_small || tiles_of(form, found, *large) >= 2.0 * wanted.multiprocessors)) return 2;
  if (takes_small) return 3;
  return filled(4) != nullptr ? 4 : any_line;
}

// The clamp of a conversion of integers, and how they count on the way.
void fill_integers(gpu::math_job& made, const kernels::op& math) noexcept {
  const auto bits_of = [](element_type type) { return static_cast<int>(8 * bytes_of(type)); };
  const auto is_signed = [](element_type type) { return type < element_type::uint8; };
  const auto largest = [&](element_type type) { return ~std::uint64_t{0} >> (64 - bits_of(type) + is_signed(type)); };
  made.kind = gpu::math_kind::integer;
  made.is_signed = is_signed(math.src) ? 1 : 0;
  const int wide = std::max(bits_of(math.src), 32);
  const std::int64_t lowest = wide == 64 ? INT64_MIN : INT32_MIN;
  const bool biased = made.is_signed == 0 && bits_of(math.src) == wide;
  made.lowest = lowest;
  made.highest = wide == 64 ? INT64_MAX : INT32_MAX;
  if (!math.saturate) return;
  const auto highest = static_cast<std::int64_t>(std::min(largest(math.src), largest(math.dst)));
  std::int64_t least = 0;
  if (is_signed(math.src) && is_signed(math.dst)) {
    least = std::max(-static_cast<std::int64_t>(largest(math.src)), -static_cast<std::int64_t>(largest(math.dst))) - 1;
  }
  made.bias = biased ? lowest : 0;
  made.lowest = least ^ made.bias;
  made.highest = highest ^ made.bias;
}

}  // namespace

gpu::math_job math_of(const kernels::op& math) noexcept {
  using enum element_type;
  gpu::math_job made;
  made.src = math.src;
  made.dst = math.dst;
  made.saturate = math.saturate ? 1 : 0;
  made.reads_src = math.reads_src() ? 1 : 0;
  made.reads_second = math.reads_second() ? 1 : 0;
  made.flip = math.conj && math.reads_src() ? 0x80000000u : 0;
  made.alpha_re = math.terms == kernels::terms::zero ? 0.0 : math.reads_src() ? math.alpha_re : -0.0;
  made.alpha_im = math.reads_src() ? math.alpha_im : 0.0;
  made.beta_re = math.reads_second() ? math.beta_re : -0.0;
  made.beta_im = math.reads_second() ? math.beta_im : 0.0;
  const bool is_complex = math.src == complex64 || math.src == complex128;
  if (math.src == math.dst && (math.terms == kernels::terms::value || math.src == bits || math.src >= float8_e4m3)) {
    made.kind = gpu::math_kind::move;
  } else if (math.src >= int8) {
    fill_integers(made, math);
  } else if (is_complex) {
    made.kind =
        math.complex_scalars && math.terms != kernels::terms::zero ? gpu::math_kind::complex : gpu::math_kind::parts;
  } else {
    made.kind = gpu::math_kind::real;
  }
  return made;
}

gpu_choice choose_apply(const map::canonical& form, const kernels::op& math, const gpu_request& wanted) noexcept {
  gpu_choice made;
  roles found = unit_axes(form, math);
  made.line = decide(form, math, found, wanted);
  made.kernel = made.line == 1 ? any_of(form) : row_of(made.line, form, math, found, wanted);
  if (!wanted.kernel.empty()) {
    for (int line = 2; line <= any_line; ++line) {
      const kernels::kernel* const one = row_of(line, form, math, found, wanted);
      if (one == nullptr || wanted.kernel != one->name) continue;
      if (made.line != 1) made.line = line;
      made.kernel = one;
    }
    if (made.kernel != nullptr && wanted.kernel != made.kernel->name) made.kernel = nullptr;
  }
  if (made.kernel == nullptr) return made;
  made.reason = reasons[made.line];
  if (made.line == 1) return made;

  gpu::apply_job job;
  job.math = math_of(math);
  job.dst_bytes = static_cast<std::int32_t>(form.dst_word_bytes);
  job.second_written = math.second == second_array::destination ? 1 : 0;
  const map::byte_span src = map::src_span(form);
  job.src_low = src.lo - form.src_offset * form.word_bytes;
  job.src_high = src.hi - form.src_offset * form.word_bytes;
  if (made.line == any_line) {
    fill_any(job, found, form);
    made.shared_bytes = job.pitch << (job.cut_log2[1] + job.cut_log2[2]);
  } else {
    job.second_by_cols = found.second_by_cols ? 1 : 0;
    job.blocks.tile[0] = made.kernel->tile_cols;
    job.blocks.tile[1] = made.kernel->tile_rows;
    made.shared_bytes = made.kernel->shared_bytes;
  }
  if (!fill_grid(made, job, form, found)) made.kernel = nullptr;
  made.job = job;
  return made;
}

}  // namespace cornerturn::planning
