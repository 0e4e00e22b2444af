// The walk of apply_tables: boxes of any axes through the L1. A box is `rows` by `cols`, each of them one axis or several. In the
// buffers its elements are contiguous, column by column, so that all of them are one run, however short the axes are.
//   1. src, and a second array that is read, are gathered
//   2. the run is computed
//   3. it is scattered to dst, and to a second destination
// An array needs no step 1 or 3 if the rows are contiguous in it. Others are copied piece by piece. A piece is a word, or some words that
// are contiguous in the array and in the buffer. Two tables, for rows and columns, have the offsets of the pieces.
#if defined(CORNERTURN_TABLES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_TABLES_INL
#undef CORNERTURN_TABLES_INL
#else
#define CORNERTURN_TABLES_INL
#endif

#include <cstring>

#include "kernels/cpu/apply/args.hpp"
#include "kernels/cpu/apply/boxes-inl.hpp"
#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/walk.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/element_copy-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// The offsets of all indices of some axes, axes[0] fastest; of the last axis only the first ones.
HWY_INLINE std::int64_t fill_offsets(const fused_axes& all, int first, std::int64_t axis::*stride, std::int64_t word,
                                     std::int64_t most, std::int32_t* offsets) {
  offsets[0] = 0;
  std::int64_t made = 1;
  for (int k = first; k < all.rank; ++k) {
    const axis& one = all.axes[static_cast<std::size_t>(k)];
    const std::int64_t before = made;
    std::int64_t step = one.*stride * word;
    for (std::int64_t i = 1; i < one.extent && made < most; ++i, made += before) {
      const auto add = static_cast<std::int32_t>(i * step);
      for (std::int64_t j = 0; j < before; ++j) offsets[made + j] = offsets[j] + add;
    }
  }
  return made;
}

struct table_side {
  enum class walk : std::uint8_t { none, contiguous, pieces };
  walk how = walk::none;
  std::int64_t word = 1;
  std::int64_t unit = 1;  // words of a piece
  std::int32_t* row = nullptr;
  std::int32_t* col = nullptr;

  table_side() = default;
  table_side(const apply::tables_args& work, std::int64_t axis::*stride, std::int64_t bytes) noexcept : word(bytes) {
    std::int64_t packed = 1;
    int whole = 0;  // axes of a piece
    for (; whole < work.rows.rank && work.rows.axes[static_cast<std::size_t>(whole)].*stride == packed; ++whole)
      packed *= work.rows.axes[static_cast<std::size_t>(whole)].extent;
    const bool is_run = whole == work.rows.rank;
    const std::int64_t run = HWY_MIN(work.row_chunk, work.rows.total);
    how = is_run && (work.cols.total == 1 || run * word >= long_run_bytes) ? walk::contiguous : walk::pieces;
    if (is_run && work.row_chunk < work.rows.total)  // the last axis is cut
      packed /= work.rows.axes[static_cast<std::size_t>(--whole)].extent;
    unit = packed;
    first_ = whole;
  }

  [[nodiscard]] std::int64_t bytes() const noexcept { return unit * word; }

  // Makes the tables in `memory`. Returns its end.
  std::int32_t* fill(const apply::tables_args& work, std::int64_t axis::*stride, std::int32_t* memory) noexcept {
    if (how == walk::none) return memory;
    row = memory;
    if (how == walk::pieces) memory += fill_offsets(work.rows, first_, stride, word, work.row_chunk / unit, row);
    col = memory;
    return memory + fill_offsets(work.cols, 0, stride, word, work.panel, col);
  }

 private:
  static constexpr std::int64_t long_run_bytes = 256;
  int first_ = 0;  // row axis behind the pieces
};

// Prefetches the lines of an array in a later box, some at a time: a burst would wait for itself.
class line_fetcher {
 public:
  // Lists the lines of a box: a line of the rows and a line of the columns are added.
  void list(const apply::tables_args& work, std::int64_t axis::*stride, const table_side& side,
            std::int32_t* memory) noexcept {
    row_ = memory;
    rows_ = lines_of(work.rows, stride, side.word, work.row_chunk, row_);
    col_ = row_ + rows_;
    cols_ = lines_of(work.cols, stride, side.word, work.panel, col_);
    const std::int64_t pieces = work.row_chunk / side.unit;
    const std::int64_t steps = pieces >= work.panel ? work.panel * base::ceil_div(pieces, together) : pieces;
    share_ = base::ceil_div(rows_ * cols_, steps);
  }
  // box: null to prefetch nothing
  HWY_INLINE void begin(const std::byte* box) noexcept {
    box_ = box;
    r_ = box == nullptr ? rows_ : 0;
    c_ = 0;
  }
  // Prefetches the share of one of the steps of copy_pieces.
  HWY_INLINE void step() noexcept {
    for (std::int64_t left = share_; left > 0 && r_ < rows_; --left) {
      __builtin_prefetch(box_ + row_[r_] + col_[c_], 0, 3);
      if (++c_ == cols_) c_ = 0, ++r_;
    }
  }
  static constexpr std::int64_t together = 256;  // pieces of a step

 private:
  // The offsets of the lines that hold the first `left` indices of some axes.
  static std::int64_t lines_of(const fused_axes& all, std::int64_t axis::*stride, std::int64_t word, std::int64_t left,
                               std::int32_t* lines) noexcept {
    lines[0] = 0;
    std::int64_t made = 1;
    for (int k = 0; k < all.rank; ++k) {
      const axis& one = all.axes[static_cast<std::size_t>(k)];
      const std::int64_t tile = HWY_MIN(left, one.extent), step = one.*stride * word, size = base::magnitude(step);
      const bool is_near = size < line_bytes;  // several indices share a line
      const std::int64_t count = is_near ? (tile - 1) * size / line_bytes + 1 : tile;
      const std::int64_t apart = !is_near ? step : step < 0 ? -line_bytes : line_bytes;
      for (std::int64_t i = 1; i < count; ++i) {
        for (std::int64_t j = 0; j < made; ++j) lines[i * made + j] = static_cast<std::int32_t>(lines[j] + i * apart);
      }
      made *= count;
      left /= tile;
    }
    return made;
  }

  std::int32_t *row_ = nullptr, *col_ = nullptr;
  std::int64_t rows_ = 0, cols_ = 0, share_ = 0, r_ = 0, c_ = 0;
  const std::byte* box_ = nullptr;
};

// Copies the pieces of a box between an array and a buffer, and prefetches the lines of a later box.
template <bool Gather, class Copy>
HWY_INLINE void copy_pieces(const Copy& copy, const table_side& side, std::byte* array, std::int64_t rows,
                            std::int64_t cols, std::byte* buffer, line_fetcher& later) {
  const std::int64_t bytes = side.bytes();
  const std::int32_t* const row = side.row;
  const std::int32_t* const col = side.col;
  const auto one = [&](std::byte* at, std::byte* in_buffer)
                       HWY_ATTR { Gather ? copy(in_buffer, at) : copy(at, in_buffer); };
  if (rows >= cols) {
    for (std::int64_t c = 0; c < cols; ++c) {
      std::byte* const base = array + col[c];
      for (std::int64_t r = 0; r < rows;) {
        const std::int64_t stop = HWY_MIN(r + line_fetcher::together, rows);
        later.step();
        HWY_UNROLL(4)
        for (; r < stop; ++r, buffer += bytes) one(base + row[r], buffer);
      }
    }
    return;
  }
  const std::int64_t pitch = rows * bytes;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::byte* const base = array + row[r];
    std::byte* at = buffer + r * bytes;
    later.step();
    HWY_UNROLL(4)
    for (std::int64_t c = 0; c < cols; ++c, at += pitch) one(base + col[c], at);
  }
}

template <bool Gather>
HWY_NOINLINE void copy_box(const table_side& side, std::byte* array, std::int64_t rows, std::int64_t cols,
                           std::byte* buffer, line_fetcher& later) {
  const std::int64_t bytes = side.bytes();
  const auto with = [&](const auto& copy)
                        HWY_ATTR { copy_pieces<Gather>(copy, side, array, rows / side.unit, cols, buffer, later); };
  if (bytes <= 128) return with_element_copy(bytes, with);
  with([bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}

inline constexpr std::int64_t few_elements_of_tables = 256;

class table_walk {
 public:
  table_walk(const apply::tables_args& work, const arrays& all) noexcept
      : work_(work), all_(all), run_(run_of(work.math)), dst_(work, &axis::dst_stride, work.dst_word_bytes) {
    const bool two = work.math.second == second_array::destination;
    if (work.math.reads_src()) src_ = table_side(work, &axis::src_stride, work.word_bytes);
    if (work.math.reads_second()) read_ = table_side(work, &axis::second_stride, work.dst_word_bytes);
    if (two) written_ = table_side(work, &axis::second_stride, work.dst_word_bytes);
    using walk = table_side::walk;
    in_dst_ = dst_.how == walk::contiguous && !work.streaming && !two;
    for (const table_side* side : {&src_, &dst_, &read_, &written_}) {
      const bool is_buffered = side->how == walk::none || side->how == walk::pieces || (side == &dst_ && !in_dst_);
      is_flat_ = is_flat_ && (is_buffered || side == &written_);
    }
    const std::int64_t rows = HWY_MIN(work.row_chunk, work.rows.total), cols = HWY_MIN(work.panel, work.cols.total);
    is_flat_ = is_flat_ || cols == 1;
    const std::int64_t room =
        (rows * cols * HWY_MAX(work.word_bytes, work.dst_word_bytes) + 3 * line_bytes - 1) / line_bytes * line_bytes;
    const std::int64_t tables =
        7 * (rows + cols) * static_cast<std::int64_t>(sizeof(std::int32_t));  // and lists of lines
    const std::int64_t runs = 3 * cols * static_cast<std::int64_t>(sizeof(std::byte*));
    std::byte* memory = scratch(3 * room + tables + runs);
    if (memory == nullptr) return;
    gathered_ = memory;
    other_ = memory + room;
    made_ = memory + 2 * room;
    from_ = reinterpret_cast<const std::byte**>(memory + 3 * room);
    second_ = from_ + cols;
    to_ = const_cast<std::byte**>(second_ + cols);
    auto* table = reinterpret_cast<std::int32_t*>(to_ + cols);
    table = src_.fill(work, &axis::src_stride, table);
    table = dst_.fill(work, &axis::dst_stride, table);
    table = read_.fill(work, &axis::second_stride, table);
    table = written_.fill(work, &axis::second_stride, table);
    if (work.prefetch_bytes == 0) return;
    const auto list = [&](const table_side& side, std::int64_t axis::*stride, line_fetcher& lines_ahead) {
      if (side.how == table_side::walk::pieces) lines_ahead.list(work, stride, side, table);
      table += rows + cols;
    };
    list(src_, &axis::src_stride, src_ahead_);
    list(read_, &axis::second_stride, read_ahead_);
    list(dst_, &axis::dst_stride, dst_ahead_);
  }

  [[nodiscard]] bool has_memory() const noexcept { return gathered_ != nullptr; }

  // A box, and where its first elements are.
  struct box {
    unit_place here;
    std::int64_t src, dst, second;
  };
  [[nodiscard]] box at(std::int64_t inner, const apply_walk& outer) const noexcept {
    const unit_place here = place_of(work_, inner);
    const apply_walk row(work_.rows, work_, here.row, true), col(work_.cols, work_, here.col, true);
    return {here, outer.src() + row.src() + col.src(), outer.dst() + row.dst() + col.dst(),
            outer.second() + row.second() + col.second()};
  }

  // later: the box that is prefetched. The lists have lines of a whole box, so it must be one
  void compute(const box& now, const box* later) noexcept {
    const unit_place& here = now.here;
    const std::byte* const src = at_offset(all_.src, now.src);
    std::byte* const dst = all_.dst + now.dst;
    const std::int64_t second = now.second;
    const bool fetches = later != nullptr && work_.prefetch_bytes != 0;
    src_ahead_.begin(fetches ? at_offset(all_.src, later->src) : nullptr);
    read_ahead_.begin(fetches ? at_offset(all_.second, later->second) : nullptr);
    dst_ahead_.begin(fetches ? all_.dst + later->dst : nullptr);
    const std::byte* const from = load(src_, src, here, gathered_, src_ahead_);
    const std::byte* const read = at_offset(all_.second, second);
    const std::byte* const other = load(read_, read, here, other_, read_ahead_);
    std::byte* const to = in_dst_ ? dst : made_;
    if (is_flat_) {
      run_(work_.math, 1, &from, &other, &to, here.rows * here.cols, all_.scale);
    } else {
      const auto at = [&](const table_side& side, std::int64_t c, bool is_array) HWY_ATTR {
        if (side.how == table_side::walk::none) return std::int64_t{0};
        return is_array ? std::int64_t{side.col[c]} : c * here.rows * side.word;
      };
      for (std::int64_t c = 0; c < here.cols; ++c) {
        from_[c] = from + at(src_, c, from == src);
        second_[c] = other + at(read_, c, other == read);
        to_[c] = to + at(dst_, c, in_dst_);
      }
      run_(work_.math, here.cols, from_, second_, to_, here.rows, all_.scale);
    }
    if (!in_dst_) store(dst_, dst, here, writer_, dst_ahead_);
    if (written_.how == table_side::walk::none) return;
    line_fetcher none;
    store(written_, all_.second_dst + second, here, second_writer_, none);
  }

  void finish() noexcept {
    writer_.finish();
    second_writer_.finish();
    finish_streaming();
  }

 private:
  // An array that the arithmetic does not use is null.
  HWY_INLINE static const std::byte* at_offset(const std::byte* array, std::int64_t bytes) noexcept {
    return array == nullptr ? nullptr : array + bytes;
  }

  // Step 1.
  HWY_INLINE static const std::byte* load(const table_side& side, const std::byte* array, const unit_place& here,
                                          std::byte* buffer, line_fetcher& later) noexcept {
    if (side.how == table_side::walk::none) return nullptr;
    if (side.how == table_side::walk::contiguous) return array;
    copy_box<true>(side, const_cast<std::byte*>(array), here.rows, here.cols, buffer, later);
    return buffer;
  }

  // Step 3.
  HWY_INLINE void store(const table_side& side, std::byte* array, const unit_place& here, run_writer& writer,
                        line_fetcher& later) noexcept {
    if (side.how == table_side::walk::pieces) return copy_box<false>(side, array, here.rows, here.cols, made_, later);
    const std::int64_t bytes = here.rows * side.word;
    for (std::int64_t c = 0; c < here.cols; ++c) {
      std::byte* const to = array + side.col[c];
      work_.streaming ? writer.write(made_ + c * bytes, to, bytes) : store_piece(made_ + c * bytes, to, bytes);
    }
  }

  const apply::tables_args& work_;
  const arrays& all_;
  run_function run_;
  table_side src_, dst_, read_, written_;
  bool in_dst_ = false;  // computed straight into dst
  bool is_flat_ = true;  // all elements of a box are one run
  std::byte* gathered_ = nullptr;
  std::byte *other_ = nullptr, *made_ = nullptr;
  const std::byte **from_ = nullptr, **second_ = nullptr;
  std::byte** to_ = nullptr;
  line_fetcher src_ahead_, read_ahead_, dst_ahead_;
  run_writer writer_, second_writer_;
};

void apply_tables(const void* args, const arrays& given, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const apply::tables_args*>(args);
  const arrays all = from_first_of_dst(work, given);
  const std::int64_t elements = HWY_MIN(work.row_chunk, work.rows.total) * HWY_MIN(work.panel, work.cols.total);
  if ((end - begin) * elements < few_elements_of_tables) return apply_one_by_one(work, all, begin, end);
  table_walk mine(work, all);
  if (!mine.has_memory()) return apply_one_by_one(work, all, begin, end);
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  apply_walk outer(work.outer, work, begin / per_outer, false);
  std::int64_t inner = begin % per_outer;
  table_walk::box now = mine.at(inner, outer);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    if (++inner == per_outer) {
      inner = 0;
      outer.next();
    }
    const table_walk::box later = mine.at(inner, outer);
    const bool is_whole = unit + 1 < end && later.here.rows == work.row_chunk && later.here.cols == work.panel;
    mine.compute(now, is_whole ? &later : nullptr);
    now = later;
  }
  mine.finish();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
