// The walk of apply_gather: arrays of any strides, box by box through the cache. A box is some columns of some rows.
//   1. src, and a second array that is read, are gathered into runs of rows, in the order of dst
//   2. the runs are computed
//   3. the runs are written to dst, and to a second destination
// An array whose rows are contiguous needs no step 1 or 3. In other arrays
//   along   each run is picked or scattered by the tables of step/pick-inl.hpp
//   turned  columns are nearer than rows: 16 rows are picked along the columns, and register blocks transpose them
#if defined(CORNERTURN_BOXES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_BOXES_INL
#undef CORNERTURN_BOXES_INL
#else
#define CORNERTURN_BOXES_INL
#endif

#include <array>
#include <cstring>
#include <numeric>

#include "kernels/cpu/apply/args.hpp"
#include "kernels/cpu/apply/elementwise.hpp"
#include "kernels/cpu/apply/walk.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/policy/elements-inl.hpp"
#include "kernels/cpu/policy/fill-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/step/pick-inl.hpp"
#include "kernels/cpu/step/table.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

[[nodiscard]] constexpr std::int64_t whole_lines(std::int64_t bytes) noexcept {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// One array of a box.
struct box_side {
  enum class walk : std::uint8_t { none, contiguous, along, turned };
  walk how = walk::none;
  std::int64_t row = 0, col = 0;  // bytes from one index of the cut axis, or column, to the next
  std::int64_t element = 0;       // bytes of the inner axes in a run
  step::cut_axis cut;             // between the array and a run; turned: between a row of the array and its copy
  step::block_table blocks;

  box_side() = default;
  box_side(const apply::gather_args& work, std::int64_t axis::*stride, std::int64_t word, bool stores) noexcept
      : element(work.inner_total * word) {
    const auto at = [&](int k) { return work.rows.axes[static_cast<std::size_t>(k)]; };
    const axis one_element{1, work.inner_total, work.inner_total, work.inner_total};
    const axis down = work.rows.rank > work.inner ? at(work.inner) : one_element;
    const axis across = work.cols.rank > 0 ? work.cols.axes[0] : axis{};
    row = down.*stride * word;
    col = across.*stride * word;
    bool is_unit = true, rises = row > 0;
    std::int64_t packed = 1;
    for (int k = 0; k < work.inner; ++k) {
      const axis one = at(k);
      is_unit = is_unit && one.*stride == packed;
      rises = rises && one.*stride > 0;
      cut.inner.push(between({one.extent, packed, one.*stride}, stores));
      packed *= one.extent;
    }
    if (is_unit && row == element) {
      how = walk::contiguous;
      return;
    }
    const std::int64_t vector = HWY_TARGET <= HWY_AVX3 ? picked_bytes(simd_in_use(), word) : 16;
    how = is_unit && apply::is_turned(row, col) ? walk::turned : walk::along;
    if (how == walk::turned) {
      cut.inner = {};
      if (packed > 1) cut.inner.push({packed, 1, 1});
      rises = col > 0;
    }
    const axis& one = how == walk::turned ? across : down;
    const std::int64_t extent = how == walk::turned ? work.panel : one.extent;
    step::cut_along(cut, between({extent, packed, one.*stride}, stores), word, vector);
    // Few words of a line, each stored apart: see cut_blocks of step/offer.cpp.
    const bool is_apart = stores && packed == 1 && cut.dst_step > word && cut.tile <= 4;
    if (is_apart || (stores && !rises)) cut.vector = 0;
    step::fill(cut, blocks);
  }

 private:
  // An axis from the array to a run, or back.
  [[nodiscard]] static axis between(const axis& run_and_array, bool stores) noexcept {
    const auto& [extent, in_run, in_array, unused] = run_and_array;
    return stores ? axis{extent, in_run, in_array} : axis{extent, in_array, in_run};
  }
};

inline constexpr std::int64_t few_elements_of_boxes = 1024;

class box_walk {
 public:
  box_walk(const apply::gather_args& work, const arrays& all) noexcept
      : work_(work),
        all_(all),
        run_(run_of(work.math)),
        panel_(HWY_MIN(work.panel, work.cols.total)),
        src_(work, &axis::src_stride, work.word_bytes, false),
        dst_(work, &axis::dst_stride, work.dst_word_bytes, true) {
    const std::int64_t word = work.dst_word_bytes;
    if (work.math.reads_second()) read_ = box_side(work, &axis::second_stride, word, false);
    if (work.math.second == second_array::destination) written_ = box_side(work, &axis::second_stride, word, true);
    std::int64_t blocks = 1;  // whole blocks of all sides
    for (const box_side* side : {&src_, &dst_, &read_, &written_}) {
      if (side->how == box_side::walk::along && side->cut.vector != 0) blocks = std::lcm(blocks, side->cut.tile);
    }
    const std::int64_t most = work.group / work.inner_total, all_rows = work.row_chunk / work.inner_total;
    const std::int64_t rounded = most / blocks * blocks;
    piece_ =
        most >= all_rows || rounded < line_bytes ? most : rounded;  // a piece is a line or more: see stream_piece()
    const std::int64_t count = HWY_MIN(piece_, all_rows);
    carries_ = panel_ > 1 && count < all_rows;
    computes_in_dst_ =
        dst_.how == box_side::walk::contiguous && !work.streaming && work.math.second != second_array::destination;
    const auto room = [&](buffer& one, std::int64_t element, bool is_needed) {
      if (!is_needed) return std::int64_t{0};
      one.pitch = whole_lines(count * element + slack_bytes) + 2 * line_bytes;
      return (panel_ + strip_rows) * one.pitch;
    };
    const bool turns_back = written_.how == box_side::walk::turned;
    const std::int64_t src_bytes = room(gathered_, src_.element, src_.how != box_side::walk::contiguous);
    const std::int64_t second_bytes =
        room(second_, dst_.element, read_.how == box_side::walk::along || read_.how == box_side::walk::turned);
    const std::int64_t made_bytes = room(made_, dst_.element, !computes_in_dst_);
    turned_.pitch = whole_lines(panel_ * dst_.element + slack_bytes) + 2 * line_bytes;
    const std::int64_t turned_bytes = turns_back ? (count + strip_rows) * turned_.pitch : 0;
    picked_.pitch = whole_lines(panel_ * HWY_MAX(src_.element, dst_.element) + slack_bytes);
    const std::int64_t bytes_picked = strip_rows * picked_.pitch;
    const std::int64_t carry_bytes = carries_ ? 2 * panel_ * line_bytes : 0;
    std::byte* memory =
        scratch(src_bytes + second_bytes + made_bytes + turned_bytes + bytes_picked + carry_bytes + line_bytes);
    if (memory == nullptr) return;
    has_memory_ = true;
    memory += line_bytes;  // the carry of the first run is copied in front of it
    const auto take = [&](buffer& one, std::int64_t bytes) {
      one.memory = memory;
      memory += bytes;
    };
    take(gathered_, src_bytes);
    take(second_, second_bytes);
    take(made_, made_bytes);
    take(turned_, turned_bytes);
    take(picked_, bytes_picked);
    carry_ = memory;
  }

  [[nodiscard]] bool has_memory() const noexcept { return has_memory_; }

  void unit(const unit_place& here, const apply_walk& outer) noexcept {
    const std::int64_t first = here.row / work_.inner_total, rows = here.rows / work_.inner_total;
    const std::byte* src = all_.src + outer.src() + here.col * src_.col + first * src_.row;
    std::byte* dst = all_.dst + outer.dst() + here.col * dst_.col + first * dst_.row;
    std::int64_t read = outer.second() + here.col * read_.col + first * read_.row;
    std::int64_t written = outer.second() + here.col * written_.col + first * written_.row;
    for (std::int64_t done = 0; done < rows;) {
      const std::int64_t count = HWY_MIN(piece_, rows - done);
      const edges at{done == 0, done + count == rows};
      load(src_, src, count, here.cols, gathered_, from_.data(), rows - done);
      if (read_.how != box_side::walk::none)
        load(read_, all_.second + read, count, here.cols, second_, other_.data(), rows - done);
      for (std::int64_t c = 0; c < here.cols; ++c) {
        to_[static_cast<std::size_t>(c)] = computes_in_dst_ ? dst + c * dst_.col : made_.row(c);
      }
      run_(work_.math, here.cols, from_.data(), other_.data(), to_.data(), count * work_.inner_total, all_.scale);
      if (!computes_in_dst_) store(dst_, dst, count, here.cols, dst_writer_, carry_, at);
      if (written_.how != box_side::walk::none) {
        store(written_, all_.second_dst + written, count, here.cols, second_writer_, carry_ + panel_ * line_bytes, at);
      }
      done += count;
      src += count * src_.row;
      dst += count * dst_.row;
      read += count * read_.row;
      written += count * written_.row;
    }
  }

  void finish() noexcept {
    dst_writer_.finish();
    second_writer_.finish();
    finish_streaming();
  }

 private:
  struct buffer {
    std::byte* memory = nullptr;
    std::int64_t pitch = 0;
    [[nodiscard]] HWY_INLINE std::byte* row(std::int64_t k) const noexcept { return memory + k * pitch; }
  };
  struct edges {
    bool first, last;  // of the pieces of a run
  };
  static constexpr std::int64_t ahead_bytes = 2048;

  // Step 1. Sets the pointers to `cols` runs of `count` indices. left: indices until the end of the runs of the unit.
  HWY_INLINE void load(const box_side& side, const std::byte* base, std::int64_t count, std::int64_t cols,
                       const buffer& into, const std::byte** from, std::int64_t left) noexcept {
    for (std::int64_t c = 0; c < cols; ++c) {
      from[c] = base + c * side.col;
      scattered_[static_cast<std::size_t>(c)] = into.row(c);
    }
    if (side.how == box_side::walk::contiguous) {
      if (work_.prefetch_bytes != 0 && cols > 1) fetch_runs(side, from, HWY_MIN(count, left - count), count, cols);
      return;
    }
    if (side.how == box_side::walk::along) {
      const std::int64_t ahead = work_.prefetch_bytes == 0 || side.row == 0 ? 0
                                 : side.row < 0                             ? -ahead_bytes
                                                                            : ahead_bytes;
      move_rows(side.cut, side.blocks, from, scattered_.data(), cols, count, ahead);
    } else {
      turn_in(side, base, count, cols, into, left);
    }
    for (std::int64_t c = 0; c < cols; ++c) from[c] = into.row(c);
  }

  // Prefetches the pieces of `rows` indices that follow in the runs of a contiguous side.
  HWY_INLINE static void fetch_runs(const box_side& side, const std::byte* const* from, std::int64_t rows,
                                    std::int64_t count, std::int64_t cols) noexcept {
    for (std::int64_t c = 0; c < cols; ++c) {
      const std::byte* const next = from[c] + count * side.row;
      for (std::int64_t b = 0; b < rows * side.row; b += line_bytes) __builtin_prefetch(next + b, 0, 2);
    }
  }

  HWY_NOINLINE void turn_in(const box_side& side, const std::byte* base, std::int64_t count, std::int64_t cols,
                            const buffer& into, std::int64_t left) noexcept {
    const bool picks = side.col != side.element;
    std::array<const std::byte*, strip_rows> row;
    std::array<std::byte*, strip_rows> copy;
    for (std::int64_t r = 0; r < count; r += strip_rows, base += strip_rows * side.row) {
      const std::int64_t some = HWY_MIN(count - r, std::int64_t{strip_rows});
      for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] = base + HWY_MIN(static_cast<std::int64_t>(k), some - 1) * side.row;
        copy[k] = picked_.row(HWY_MIN(static_cast<std::int64_t>(k), some - 1));
      }
      if (work_.prefetch_bytes != 0)
        fetch_rows(side, base, HWY_MIN(left - r - strip_rows, std::int64_t{strip_rows}), cols);
      if (picks) {
        move_rows(side.cut, side.blocks, row.data(), copy.data(), some, cols);
        std::copy(copy.begin(), copy.end(), row.begin());
      }
      turn_rows({row.data(), nullptr, 0, static_cast<int>(some)}, cols, side.element, into.memory + r * side.element,
                into.pitch);
    }
  }

  // Prefetches the columns of the strip that follows the strip at `base`.
  HWY_INLINE void fetch_rows(const box_side& side, const std::byte* base, std::int64_t rows,
                             std::int64_t cols) noexcept {
    const std::int64_t low = side.col < 0 ? (cols - 1) * side.col : 0;
    const std::int64_t span = (cols - 1) * base::magnitude(side.col) + side.element;
    const std::int64_t apart = HWY_MAX(base::magnitude(side.col), line_bytes);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::byte* const at = base + (strip_rows + r) * side.row + low;
      for (std::int64_t b = 0; b < span; b += apart) __builtin_prefetch(at + b, 0, 2);
    }
  }

  // Transposes `cols` elements of each row into runs.
  HWY_INLINE static void turn_rows(const strip& rows, std::int64_t cols, std::int64_t element, std::byte* to,
                                   std::int64_t pitch) noexcept {
    const auto words = [&](const auto& fill) { fill.columns(rows, 0, cols, to, pitch, false, read_ahead{rows, 0, 0}); };
    if (element == 1) return words(column_fill<1>{});
    if (element == 2) return words(column_fill<2>{});
    if (element == 4) return words(column_fill<4>{});
    if (element == 8) return words(column_fill<8>{});
    if (element == 16) return words(column_fill<16>{});
    element_turn(element, element).transpose<false>(rows, 0, cols, to, pitch);
  }

  // Step 3.
  HWY_INLINE void store(const box_side& side, std::byte* base, std::int64_t count, std::int64_t cols,
                        run_writer& writer, std::byte* carry, edges at) noexcept {
    if (side.how == box_side::walk::turned) return turn_out(side, base, count, cols);
    for (std::int64_t c = 0; c < cols; ++c) scattered_[static_cast<std::size_t>(c)] = base + c * side.col;
    if (side.how == box_side::walk::along) {
      for (std::int64_t c = 0; c < cols; ++c) from_[static_cast<std::size_t>(c)] = made_.row(c);
      return move_rows(side.cut, side.blocks, from_.data(), scattered_.data(), cols, count);
    }
    const std::int64_t bytes = count * side.element;
    for (std::int64_t c = 0; c < cols; ++c) {
      std::byte* const to = base + c * side.col;
      if (!work_.streaming) {
        store_piece(made_.row(c), to, bytes);
      } else if (carries_) {
        stream_piece(made_.row(c), to, bytes, carry + c * line_bytes, at.first, at.last);
      } else {
        writer.write(made_.row(c), to, bytes);
      }
    }
  }

  HWY_NOINLINE void turn_out(const box_side& side, std::byte* base, std::int64_t count, std::int64_t cols) noexcept {
    std::array<const std::byte*, strip_rows> row;
    for (std::int64_t c = 0; c < cols; c += strip_rows) {
      const std::int64_t some = HWY_MIN(cols - c, std::int64_t{strip_rows});
      for (std::size_t k = 0; k < row.size(); ++k)
        row[k] = made_.row(c + HWY_MIN(static_cast<std::int64_t>(k), some - 1));
      turn_rows({row.data(), nullptr, 0, static_cast<int>(some)}, count, side.element,
                turned_.memory + c * side.element, turned_.pitch);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      move_row(side.cut, side.blocks, turned_.row(r), base + r * side.row, cols);
    }
  }

  const apply::gather_args& work_;
  const arrays& all_;
  run_function run_;
  std::int64_t panel_;
  box_side src_, dst_, read_, written_;
  std::int64_t piece_ = 1;  // indices of the cut axis in a box
  bool carries_ = false;    // runs are written side by side, piece by piece
  bool computes_in_dst_ = false;
  bool has_memory_ = false;
  buffer gathered_, second_, made_, turned_, picked_;
  std::byte* carry_ = nullptr;
  run_writer dst_writer_, second_writer_;
  std::array<const std::byte*, apply::most_box_cols> from_, other_;
  std::array<std::byte*, apply::most_box_cols> to_, scattered_;
};

// Calls mine.unit() for each unit.
template <class Walk>
void walk_units(const apply::args& work, std::int64_t begin, std::int64_t end, Walk& mine) {
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  apply_walk outer(work.outer, work, begin / per_outer, false);
  std::int64_t inner = begin % per_outer;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    mine.unit(place_of(work, inner), outer);
    if (++inner == per_outer) {
      inner = 0;
      outer.next();
    }
  }
}

void apply_gather(const void* args, const arrays& given, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const apply::gather_args*>(args);
  const arrays all = from_first_of_dst(work, given);
  // The tables of the sides take 3 us.
  const std::int64_t elements = HWY_MIN(work.row_chunk, work.rows.total) * HWY_MIN(work.panel, work.cols.total);
  if ((end - begin) * elements < few_elements_of_boxes) return apply_one_by_one(work, all, begin, end);
  box_walk mine(work, all);
  if (!mine.has_memory()) return apply_one_by_one(work, all, begin, end);
  walk_units(work, begin, end, mine);
  mine.finish();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
