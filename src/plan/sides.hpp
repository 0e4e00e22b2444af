// What the GPU's decision list looks for in a problem: rows, which are contiguous in dst, columns, which are contiguous
// in src, and whether one side is short.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/checked.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "plan/numbering.hpp"

namespace cornerturn::planning {

// The axis whose stride is 1 on a side; null when there is none.
[[nodiscard]] const axis* find(const map::canonical& form, std::int64_t axis::*stride) noexcept;

// The largest tile of a family comes first in the list; `skip` of them are passed over.
[[nodiscard]] const kernels::kernel* row_of(std::string_view family, std::int64_t word_bytes, int skip = 0) noexcept;

// The share of tiles of `extent` that `n` indices fill.
[[nodiscard]] inline double fill(std::int64_t n, std::int64_t extent) noexcept {
  return static_cast<double>(n) / static_cast<double>(base::ceil_div(n, extent) * extent);
}

// Rows, columns and the rest. A side takes more axes while it is short: 16 large tiles of it are at most a 16th empty.
struct sides {
  std::array<int, map::max_axes> rows{};
  std::array<int, map::max_axes> cols{};
  int row_rank = 0;
  int col_rank = 0;
  std::int64_t row_total = 1;
  std::int64_t col_total = 1;
  bool taken[map::max_axes] = {};
  bool loose_rows = false;  // rows are not contiguous in dst, or columns in src: only chunks of 16 bytes of them are
  bool loose_cols = false;
  bool src_aligned = true;  // every address of src is a multiple of 16 bytes when that of index 0 is
  bool dst_aligned = true;
  [[nodiscard]] bool aligned() const noexcept { return src_aligned && dst_aligned; }
  [[nodiscard]] bool chained() const noexcept { return row_rank > 1 || col_rank > 1; }
};

// False when rows and columns are one axis, or one of them does not exist.
[[nodiscard]] bool find_sides(const map::canonical& form, sides& found) noexcept;

// Structures of a few elements: `member` is the axis within one, `first` the axis along which they lie end to end.
struct regrouping {
  const kernels::kernel* kernel = nullptr;
  int member = 0;
  std::array<int, map::max_axes> along{};  // `first`, and axes that lengthen it
  int rank = 0;
  std::int64_t total = 1;
  bool split = true;     // src has the structures
  bool shifted = false;  // by gpu/interleave_shift.cuh
};

// The regrouping of src's structures (split) or into structures of dst; no kernel when the problem is no such thing.
// `alignment`, in bytes, is that of index 0 on both sides. Every stride but those two must lead to a multiple of 16
// bytes on both sides, or of what a structure is a multiple of when it is a shifted one.
[[nodiscard]] regrouping find_regrouping(const map::canonical& form, int alignment, bool split, bool shifted) noexcept;

// Which narrow tile has room for `total` elements: 0 to 3 for 1, 2, 4 and 8 chunks of 16 bytes; -1 for none.
[[nodiscard]] int narrow_size(std::int64_t total, std::int64_t word_bytes) noexcept;
// log2 of the chunks of 16 bytes that a side of so many elements is; -1: it is not 1, 2, 4 or 8 of them.
[[nodiscard]] int log2_of_side(std::int64_t total, std::int64_t word_bytes) noexcept;
// narrow_size for gpu/narrow_shift.cuh, whose tiles have room for 16 chunks of wide words: then 4.
[[nodiscard]] int shifted_narrow_size(std::int64_t total, std::int64_t word_bytes) noexcept;

// Which short side is made of whole chunks, when the pointers of index 0 are multiples of 16 bytes. The long side of
// the shifted kinds lies at any address; that of the others is lengthened here by any axes that are left.
enum class narrow_kind { none, columns, rows, shifted_columns, shifted_rows };
[[nodiscard]] narrow_kind find_narrow(const map::canonical& form, sides& found) noexcept;

}  // namespace cornerturn::planning
