// What the GPU kernels are handed, by value, as one kernel parameter: pointers, strides, and how the grid is numbered.
// Filled by plan/, read by the texts beside this file.
#pragma once

#include <cmath>
#include <cstdint>

#include "cornerturn/arithmetic.hpp"
#include "map/canonical.hpp"
#include "map/fast_divisor.hpp"

namespace cornerturn::gpu {

// Blocks are numbered in one dimension. Each grid axis takes its index off the block number, fastest first.
//
// At most two axes are cut into tiles, one that is contiguous in src and one that is contiguous in dst: slots 0 and 1.
// Either may be split into several grid axes, such as tiles within a band, and bands.
struct grid_axis {
  map::fast_divisor count;
  std::uint32_t tiles[2] = {0, 0};  // of each slot that one step advances
  std::int64_t src_step_bytes = 0;
  std::int64_t dst_step_bytes = 0;
};

struct grid {
  std::int64_t extent[2] = {1, 1};
  std::int32_t tile[2] = {1, 1};  // indices of a whole tile
  std::int32_t rank = 0;
  grid_axis axes[map::max_axes + 1];
};

// Axes that one side walks as one, fastest first: a linear index is split over them to find the other side's address.
struct chain {
  std::int32_t rank = 0;
  struct chain_axis {
    map::fast_divisor count;
    std::int64_t stride_bytes = 0;
  } axes[map::max_axes];
};

// gpu/tile.cuh and gpu/shift.cuh. Slot 0: columns, contiguous in src. Slot 1: rows, contiguous in dst.
struct tile_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint64_t src_begin = 0;  // addresses: nothing outside [begin, end) is read
  std::uint64_t src_end = 0;
  std::int64_t src_row_bytes = 0;  // from one row to the next in src, where rows are one axis
  std::int64_t dst_col_bytes = 0;  // from one column to the next in dst, where columns are one axis
  grid blocks;
};

// The same where rows or columns are several axes, gpu/narrow.cuh and gpu/interleave.cuh: the chains tell the address
// on the side where they are not contiguous. A job of its own, because each of its bytes travels with every launch.
struct chain_job : tile_job {
  std::int32_t chained = 0;
  chain rows;      // src strides
  chain cols;      // dst strides
  chain rows_dst;  // gpu/narrow.cuh: dst strides of rows that are not contiguous in dst; rank 0: they are
  chain cols_src;  // the same for columns and src
  // gpu/interleave.cuh: `rows` tells where V structures' elements lie on the side of the arrays, `cols` where a run of
  // structures lies on the other, and a run has so many chunks of 16 bytes. Rank 0: all are one run.
  map::fast_divisor run_chunks;
  // gpu/narrow_shift.cuh: the short side has 2^narrow_log2 chunks of 16 bytes, and where rows are few each of them has
  // run_chunks in a tile.
  std::int32_t narrow_log2 = 0;
};

// Register blocks of a tile of gpu/narrow_shift.cuh and of gpu/blocks.cuh: 64 bytes a thread at least.
constexpr int units_of_tile(std::int64_t word_bytes) { return word_bytes == 1 ? 128 : word_bytes == 8 ? 512 : 256; }

// gpu/blocks.cuh. Slot 1 counts matrices.
struct blocks_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  std::int64_t src_matrix_bytes = 0;  // from one matrix to the next
  std::int64_t dst_matrix_bytes = 0;
  std::int32_t across_log2 = 0;  // register blocks along a row
  std::int32_t down_log2 = 0;    // and down a column
  grid blocks;
};

// gpu/small.cuh. Less than any other: what it holds is read at once, from two lines of constant memory.
struct small_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  map::fast_divisor down;  // tiles down a column of them
};

// gpu/shift.cuh: a tile's sectors of dst begin so many bytes before its own rows at most.
inline constexpr int shift_halo_bytes = 32;

// gpu/strips.cuh: strips that are turned one after another, the slowest axis of the grid. A strip is written to where
// others lay whose blocks come before its own. Bands of its rows of tiles have a flag each, which says how many of their
// blocks have read. Strips, bands and flags are numbered as they lie in src.
struct strips_job : chain_job {
  std::uint32_t* flags = nullptr;  // all 0
  map::fast_divisor band_blocks;
  map::fast_divisor bands;     // of a strip
  double band_rows = 1;        // of src
  std::uint32_t last = 0;      // blocks - 1
  std::int32_t backwards = 0;  // block 0 is the last one of the grid
  // Column c of strip s is written at room + s * room_strip + c * room_column, in strips of src, give or take
  // room_margin.
  double room = 0;
  double room_strip = 0;
  double room_column = 0;
  double room_margin = 0;
  double halo = 0;  // rows that the tiles below them read too, in strips
};

struct flag_range {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The flag of a place in src, in strips.
CORNERTURN_HOST_DEVICE inline std::int64_t flag_at(const strips_job& job, double place) {
  const double strip = std::floor(place);
  const auto band =
      static_cast<std::int64_t>((place - strip) * static_cast<double>(job.blocks.extent[1]) / job.band_rows);
  return static_cast<std::int64_t>(strip) * job.bands.divisor + band;
}

// Those of what lies where columns [begin, end) of the strip are written, of strips that come before it.
CORNERTURN_HOST_DEVICE inline flag_range flags_before(const strips_job& job, std::uint32_t strip, std::int64_t begin,
                                                      std::int64_t end) {
  const double room = job.room + strip * job.room_strip;
  const std::int64_t bands = job.bands.divisor;
  flag_range found = {flag_at(job, room + static_cast<double>(begin) * job.room_column - job.room_margin),
                      flag_at(job, room + static_cast<double>(end) * job.room_column + job.room_margin + job.halo)};
  const std::int64_t first = job.backwards != 0 ? (strip + 1) * bands : 0;
  const std::int64_t past = job.backwards != 0 ? (std::int64_t{job.last} + 1) / job.band_blocks.divisor : strip * bands;
  if (found.first < first) found.first = first;
  if (found.last >= past) found.last = past - 1;
  return found;
}

// One axis of a box: in every list the axis that a tile may cut comes last.
struct box_axis {
  std::int64_t src_stride_bytes = 0;
  std::int64_t dst_stride_bytes = 0;
  map::fast_divisor tile;        // indices of the axis in a whole box
  std::int32_t slot = -1;        // which grid extent may shorten it
  std::int32_t smem_stride = 0;  // bytes, from one index to the next; negative where src and dst run in opposite ways
  std::int32_t from_end = 0;     // the grid points at the axis' highest address on this side, not its lowest
  std::int32_t opposite = 0;     // src and dst run in opposite ways: shared memory is read from the axis' end
};

inline constexpr int max_box_axes = 8;
inline constexpr int box_steps = 4;

// How many there are in a block: `each` for every index that its part of a cut axis has, or `each` alone.
struct box_count {
  std::int32_t each = 1;
  std::int32_t slot = -1;
};

// gpu/box.cuh. The box is walked twice: as `runs` of `run_elements` in src, and as `lines` of `line_elements` in dst. A
// line is made of pieces that look alike: element p of piece k lies k * piece_smem_stride bytes behind that of piece 0.
struct box_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint64_t src_begin = 0;  // addresses: words that reach outside [begin, end) are read byte by byte
  std::uint64_t src_end = 0;

  std::int32_t run_axes = 0;  // src_axes[0 .. run_axes) make a run, fastest first; the rest number the runs
  std::int32_t src_rank = 0;
  std::int32_t line_axes = 0;  // the same for dst
  std::int32_t dst_rank = 0;
  std::int32_t run_is_contiguous = 1;
  std::int32_t line_is_contiguous = 1;
  box_axis src_axes[max_box_axes];
  box_axis dst_axes[max_box_axes];

  std::int32_t run_elements = 1;  // of a whole box
  std::int32_t runs = 1;
  std::int32_t line_elements = 1;
  std::int32_t lines = 1;
  box_count run_element_count;
  box_count run_count;
  box_count line_element_count;
  box_count line_count;
  std::int32_t turned = 0;  // some axis has from_end or opposite
  map::fast_divisor piece;  // elements of a piece; of one or two bytes and contiguous in dst: four-byte words
  std::int32_t piece_smem_stride = 0;
  std::int64_t piece_dst_stride = 0;  // bytes, where a line is not contiguous
  // A warp goes over runs, and over lines, in chunks of box_steps words a lane: log2 of the lanes along one, the others
  // lie across several.
  std::int32_t run_lanes = 5;
  std::int32_t line_lanes = 5;
  map::fast_divisor run_chunks;
  map::fast_divisor line_chunks;
  std::int32_t pitch = 0;        // bytes from one run to the next in shared memory
  std::int32_t skew = 0;         // bytes inserted after each 128
  std::int32_t row_pad = 0;      // narrow elements: bytes inserted after each row of a run
  map::fast_divisor row;         // ... which has so many words
  std::int32_t in_chunks = 0;    // runs are misaligned alike, and travel in chunks of 16 bytes
  std::int32_t tables = 0;       // where the address tables begin in shared memory
  std::int32_t places = 0;       // numbers in the first of them
  std::int32_t line_shifts = 1;  // narrow elements: tables for so many alignments of a line. 1: all lines have the same
  std::int32_t line_mask = 3;  // narrow elements: their words are counted from a multiple of 4, or of 32, bytes of dst
  grid blocks;
};

// gpu/box_batch.cuh: boxes of many items, from a table in device memory. A kind of item that many of them have is one
// shape; boxes of one item each are cut as those of box_job. A box may also hold several small items of one shape: they
// are an axis of their own, the last one of runs and of lines, and the addresses of each say where it lies.
struct box_shape {
  map::fast_divisor item_runs;   // of one item, where a box holds several
  map::fast_divisor item_lines;  // the same for lines
  std::int32_t item_slot = -1;   // which grid extent counts items; -1: a box is one item or a part of one
  std::uint32_t first = 0;       // item of the block; put in by the block itself
  box_job box;                   // src_begin and src_end count from src, which is null here
};
struct box_item {
  std::uint64_t src = 0;  // addresses of index 0
  std::uint64_t dst = 0;
};
struct box_block {
  std::uint32_t shape = 0;
  std::uint32_t first = 0;   // item
  std::uint32_t count = 1;   // items
  std::uint32_t number = 0;  // of the block within an item
};
struct box_batch_job {
  const unsigned char* shapes = nullptr;  // shape_bytes each: the first ones of a box_shape, as many as any has use for
  const box_item* items = nullptr;
  const box_block* blocks = nullptr;
  std::int32_t shape_bytes = 0;  // a multiple of 16
  std::int32_t shape_at = 0;     // where a block keeps its shape in shared memory
};

// gpu/blocks.cuh: matrices of one shape, each of them one item.
struct blocks_batch_job {
  const box_item* items = nullptr;
  std::uint32_t count = 0;
  std::int32_t across_log2 = 0;  // as in blocks_job
  std::int32_t down_log2 = 0;
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
};

// gpu/panel.cuh. A panel is all rows of a small matrix and as many of its columns as fit into
// `shared_bytes`. Each is moved by a team of threads, of which a block has several where panels are small.
constexpr int panel_chunk(std::int64_t word_bytes) { return word_bytes == 8 ? 2 : 4; }  // elements written as one
constexpr int panel_unit(std::int64_t word_bytes) { return word_bytes < 4 ? 4 : static_cast<int>(word_bytes); }
inline constexpr int panel_threads = 256;  // of a block

// How panels of one kind are walked. Columns are written a chunk at a time, or all of them as one line where they lie
// end to end. A strip is as many columns as a chunk has elements: chunks of two strips that have the same place in
// theirs are equally misaligned, and what is known of one holds for the other.
struct panel_shape {
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  map::fast_divisor rows;
  map::fast_divisor row_units;    // that a row has in shared memory
  map::fast_divisor line_chunks;  // of a column
  map::fast_divisor strip_tasks;  // chunks of a strip
  std::int32_t strips = 1;        // that a task goes over
  std::int32_t end_to_end = 0;    // columns lie so in dst
  std::int32_t team_log2 = 8;     // threads
  std::int32_t shared_bytes = 0;  // of a team, a multiple of 16
};

struct panel_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint64_t src_begin = 0;  // addresses: words that reach outside [begin, end) are read in parts
  std::uint64_t src_end = 0;
  panel_shape shape;
  std::uint32_t count = 0;
  grid panels;  // slot 0: columns
};

struct panel_item {
  panel_shape shape;
  std::uint64_t src = 0;  // addresses of the first element
  std::uint64_t dst = 0;
  std::uint64_t src_begin = 0;
  std::uint64_t src_end = 0;
  std::int64_t cols = 0;
  std::int64_t unused = 0;
};
struct panel_batch_job {
  const panel_item* items = nullptr;
  std::uint32_t count = 0;
  std::int32_t team_log2 = 8;
  std::int32_t shared_bytes = 0;  // of a team: a panel_item, and the most that one of them wants
};

// gpu/swap.cuh, where src is dst. A pair of axes of the problem is a digit of two numbers X and Y, the first one cut
// into tiles; the element of (X, Y) trades places with that of (Y, X). Blocks are the pairs I <= J of tile numbers: for
// an even count n the triangle is folded to n / 2 rows of n + 1, for an odd one to (n + 1) / 2 rows of n.
struct swap_job {
  const void* src = nullptr;  // the same as dst
  void* dst = nullptr;
  map::fast_divisor fold;      // blocks in a row of the folded triangle
  map::fast_divisor triangle;  // blocks of all of them
  std::uint32_t numbers = 1;   // n
  std::int64_t extent = 1;     // of the first digit, in elements
  std::int64_t row_bytes = 0;  // from one index of the first digit to the next, in X
  std::int64_t col_bytes = 0;  // in Y
  std::int32_t tile = 1;       // elements of either side of a tile
  std::int32_t words = 1;      // of an element, side by side; the families `swap` and `exchange` of one word have 1
  std::int32_t digit_count = 0;
  std::int32_t outer_rank = 0;
  struct digit {
    map::fast_divisor count;
    std::int64_t row_bytes = 0;
    std::int64_t col_bytes = 0;
  } digits[map::max_axes];  // fastest first: tiles of the first one, then the others
  struct outer_axis {
    map::fast_divisor count;
    std::int64_t stride_bytes = 0;
  } outer[map::max_axes];
};

inline constexpr int exchange_threads = 256;
inline constexpr int exchange_bytes = 20 << 10;  // of a tile at most: two of them leave room for others in 48 KiB

inline constexpr int cycles_threads = 64;
// Of an item that travel together: 64 bytes a thread, twice in registers. Of 20 random rectangles in place the median
// has 0.34 of the copy, 0.32 with 32 bytes and four more walkers on a multiprocessor (H200, 2026-11-22).
inline constexpr int cycles_part_bytes = 4096;
inline constexpr int cycles_shared_bytes = 16 + cycles_threads;

// 16 parts of places share a word.
CORNERTURN_HOST_DEVICE constexpr std::int64_t flags_of_cycles(std::int64_t parts) { return (parts + 15) / 16; }

// gpu/cycles.cuh. Places are numbered in the order of addresses, so many in a row. The item at place x * inner + y, y <
// inner and x < outer, goes to place Y * outer + X, where X = x + turned_outer modulo outer and Y = y + turned_inner
// modulo inner. Some places in a row are away: their items are read, or written, at src, end to end.
struct cycles_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint32_t* flags = nullptr;  // two bits for each part of each place, all 0
  std::int64_t row_bytes = 0;      // from one row of places to the next; items of a row lie end to end
  std::int64_t item_bytes = 0;
  std::int32_t part_bytes = 0;   // of an item that travel together, at most cycles_part_bytes
  std::uint32_t count = 0;       // of parts of places, below 2^31
  std::uint32_t walkers = 1;     // blocks
  map::fast_divisor parts;       // of an item
  map::fast_divisor row_places;  // places in a row
  map::fast_divisor inner;
  std::uint32_t outer = 1;
  std::uint32_t turned_inner = 0;
  std::uint32_t turned_outer = 0;
  std::uint32_t first_away = 0;
  std::uint32_t count_away = 0;
  std::int32_t writes_away = 0;  // else it reads
};

inline constexpr int copy_block_words = 256;   // one word a thread: what a plain copy does best with
inline constexpr int runs_block_words = 1024;  // four

// gpu/runs.cuh. `runs` of run_words words, contiguous on both sides; the outer axes number the runs, fastest first.
struct runs_job {
  const void* src = nullptr;
  void* dst = nullptr;
  std::uint64_t src_begin = 0;
  std::uint64_t src_end = 0;
  std::int64_t run_bytes = 0;
  std::uint32_t runs = 1;
  std::int32_t piece_log2 = 0;  // of the words of one run that a block moves
  map::fast_divisor pieces;     // of a run
  std::int32_t rank = 0;
  struct outer_axis {
    map::fast_divisor count;
    std::int64_t src_stride_bytes = 0;
    std::int64_t dst_stride_bytes = 0;
  } axes[map::max_axes];
};

// What happens to elements on their way, for gpu/math.cuh: the kinds of arithmetic that there are, whatever the types.
enum class math_kind : std::int32_t {
  move,     // bits, some of them flipped
  integer,  // clamped and cut off, or extended
  real,     // scale * (alpha * s + beta * S)
  parts,    // the same for both parts of a complex number
  complex,  // whole complex products
};

struct math_job {
  math_kind kind = math_kind::move;
  element_type src = element_type::bits;  // of kind `real`
  element_type dst = element_type::bits;
  std::int32_t saturate = 0;
  std::int32_t reads_src = 1;
  std::int32_t reads_second = 0;
  std::uint32_t flip = 0;  // of the highest word of each element's imaginary part
  std::int32_t is_signed = 0;
  // An element of src counts in its own bits, at least 32 of them, and is clamped between these after its `bias` bits
  // are flipped, which brings unsigned numbers into the order of signed ones.
  std::int64_t bias = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // What is not read counts as 0, and its factor is such that the term is -0: adding that changes no bit.
  double alpha_re = 1, alpha_im = 0;
  double beta_re = -0.0, beta_im = 0;
};

// Three axes are cut into tiles. Slot 0: columns, contiguous in src where anything is. Slot 1: rows, contiguous in dst.
// Slot 2, of gpu/apply_any.cuh: any other axis, so that small matrices share a tile.
struct apply_axis {
  map::fast_divisor count;
  std::uint32_t tiles[3] = {0, 0, 0};  // of each slot that one step advances
  std::int64_t src_step_bytes = 0;
  std::int64_t dst_step_bytes = 0;
  std::int64_t second_step_bytes = 0;
};

struct apply_grid {
  std::int64_t extent[3] = {1, 1, 1};
  std::int32_t tile[3] = {1, 1, 1};
  std::int32_t rank = 0;
  apply_axis axes[map::max_axes];
};

// From one index of a slot to the next.
struct apply_strides {
  std::int64_t src_bytes = 0;
  std::int64_t dst_bytes = 0;
  std::int64_t second_bytes = 0;
};

inline constexpr int apply_any_threads = 256;
// Of a tile: up to 16 KiB and what pads them, so that runs of one byte are 64 long.
constexpr int apply_any_elements(int src_bytes) { return src_bytes <= 4 ? 4096 : 16384 / src_bytes; }

// gpu/apply.cuh, gpu/apply_shift.cuh and gpu/apply_any.cuh.
struct apply_job {
  const void* src = nullptr;
  void* dst = nullptr;
  void* second = nullptr;  // read only where it is a source; dst itself where beta wants that
  const float* scale = nullptr;
  std::int64_t src_low = 0;  // gpu/apply_shift.cuh: no byte outside [src + src_low, src + src_high) is read
  std::int64_t src_high = 0;
  math_job math;
  apply_strides slots[3];
  std::int32_t second_written = 0;
  std::int32_t second_by_cols = 0;       // the second array is contiguous, or walked, along columns
  std::int32_t dst_by_cols = 0;          // gpu/apply_any.cuh: dst is walked along columns
  std::int32_t dst_bytes = 0;            // gpu/apply_any.cuh: of an element
  std::int32_t bytewise = 0;             // gpu/apply_any.cuh: some element is at no multiple of its size
  std::int32_t cut_log2[3] = {0, 0, 0};  // gpu/apply_any.cuh: of a tile's indices
  std::int32_t pitch = 0;                // gpu/apply_any.cuh: bytes from one row to the next in shared memory
  apply_grid blocks;
};

}  // namespace cornerturn::gpu
