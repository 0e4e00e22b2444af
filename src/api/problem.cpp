#include "cornerturn/problem.hpp"

#include <algorithm>
#include <string>

#include "api/guard.hpp"
#include "base/checked.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

[[noreturn]] void invalid(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

void check_element_bytes(std::int64_t element_bytes) {
  if (element_bytes < 1) invalid("element_bytes is " + std::to_string(element_bytes) + ", wanted at least 1");
}

std::int64_t leading_dimension(const char* name, std::int64_t given, std::int64_t least, const char* least_name) {
  if (given == 0) return least;
  if (given < least) {
    invalid(std::string(name) + " is " + std::to_string(given) + ", wanted at least " + least_name + " = " +
            std::to_string(least));
  }
  return given;
}

// Computes row-major packed strides of the extents in the order of `at`.
template <class At>
void packed_strides(std::span<const std::int64_t> extents, std::int64_t element_bytes, At at,
                    std::array<std::int64_t, max_rank>& strides) {
  const bool empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  const int rank = static_cast<int>(extents.size());
  std::int64_t next = 1;
  std::int64_t bytes = 0;
  for (int k = rank - 1; k >= 0; --k) {
    strides[k] = next;
    const std::int64_t extent = extents[at(k)];
    const bool fits =
        extent <= 1 || (base::checked_mul(next, extent, next) && base::checked_mul(next, element_bytes, bytes));
    if (!fits && !empty) {
      throw error(status::overflow, "the bytes of the array exceed 63 bits at axis " + std::to_string(at(k)) +
                                        " with extent " + std::to_string(extent));
    }
  }
}

problem transposed(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t src_ld,
                   std::int64_t dst_ld) {
  check_element_bytes(element_bytes);
  if (rows < 0) invalid("rows is " + std::to_string(rows) + ", wanted 0 or more");
  if (cols < 0) invalid("cols is " + std::to_string(cols) + ", wanted 0 or more");
  src_ld = leading_dimension("src_ld", src_ld, cols, "cols");
  dst_ld = leading_dimension("dst_ld", dst_ld, rows, "rows");
  problem out;
  out.element_bytes = element_bytes;
  out.rank = 2;
  out.axes[0] = {cols, 1, dst_ld};
  out.axes[1] = {rows, src_ld, 1};
  return out;
}

problem permuted(std::span<const std::int64_t> extents, std::span<const int> axes, std::int64_t element_bytes,
                 std::span<const std::int64_t> src_strides, std::span<const std::int64_t> dst_strides) {
  check_element_bytes(element_bytes);
  if (extents.size() > max_rank) {
    invalid("the array has rank " + std::to_string(extents.size()) + ", wanted at most " + std::to_string(max_rank));
  }
  const int rank = static_cast<int>(extents.size());
  if (axes.size() != extents.size()) {
    invalid("axes has " + std::to_string(axes.size()) + " entries, wanted " + std::to_string(rank) +
            ", the rank of the array");
  }
  if (!src_strides.empty() && src_strides.size() != extents.size()) {
    invalid("src_strides has " + std::to_string(src_strides.size()) + " entries, wanted " + std::to_string(rank));
  }
  if (!dst_strides.empty() && dst_strides.size() != extents.size()) {
    invalid("dst_strides has " + std::to_string(dst_strides.size()) + " entries, wanted " + std::to_string(rank));
  }
  std::array<bool, max_rank> seen{};
  for (int k = 0; k < rank; ++k) {
    if (extents[k] < 0) {
      invalid("axis " + std::to_string(k) + " has extent " + std::to_string(extents[k]) + ", wanted 0 or more");
    }
    if (axes[k] < 0 || axes[k] >= rank) {
      invalid("axes[" + std::to_string(k) + "] is " + std::to_string(axes[k]) + ", wanted 0 to " +
              std::to_string(rank - 1));
    }
    if (seen[axes[k]]) invalid("axes[" + std::to_string(k) + "] repeats axis " + std::to_string(axes[k]));
    seen[axes[k]] = true;
  }
  std::array<std::int64_t, max_rank> src{};
  std::array<std::int64_t, max_rank> dst{};
  packed_strides(
      extents, element_bytes, [](int k) { return k; }, src);
  packed_strides(
      extents, element_bytes, [&axes](int k) { return axes[k]; }, dst);
  problem out;
  out.element_bytes = element_bytes;
  out.rank = rank;
  for (int k = 0; k < rank; ++k) {
    out.axes[k] = {extents[axes[k]], src_strides.empty() ? src[axes[k]] : src_strides[axes[k]],
                   dst_strides.empty() ? dst[k] : dst_strides[k]};
  }
  return out;
}

problem repeated(const problem& one, std::int64_t count, std::int64_t src_stride, std::int64_t dst_stride,
                 std::int64_t second_stride) {
  if (one.rank < 0) invalid("the problem has rank " + std::to_string(one.rank) + ", wanted 0 or more");
  if (one.rank >= max_rank)
    invalid("the problem has rank " + std::to_string(one.rank) + " already, wanted less than " +
            std::to_string(max_rank));
  if (count < 0) invalid("count is " + std::to_string(count) + ", wanted 0 or more");
  problem out;
  out.element_bytes = one.element_bytes;
  out.rank = one.rank + 1;
  out.in_place = one.in_place;
  out.math = one.math;
  out.axes[0] = {count, src_stride, dst_stride, second_stride};
  for (int k = 0; k < one.rank; ++k) out.axes[k + 1] = one.axes[k];
  return out;
}

}  // namespace

problem transpose_problem(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes, std::int64_t src_ld,
                          std::int64_t dst_ld) {
  return api::guarded([&] { return transposed(rows, cols, element_bytes, src_ld, dst_ld); });
}

problem permute_problem(std::span<const std::int64_t> extents, std::span<const int> axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes, {}, {});
}

problem permute_problem(std::span<const std::int64_t> extents, std::span<const int> axes, std::int64_t element_bytes,
                        std::span<const std::int64_t> src_strides, std::span<const std::int64_t> dst_strides) {
  return api::guarded([&] { return permuted(extents, axes, element_bytes, src_strides, dst_strides); });
}

problem batched(const problem& one, std::int64_t count, std::int64_t src_stride, std::int64_t dst_stride,
                std::int64_t second_stride) {
  return api::guarded([&] { return repeated(one, count, src_stride, dst_stride, second_stride); });
}

}  // namespace cornerturn
