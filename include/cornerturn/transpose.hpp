// The one-line calls. Each call finds its plan in a bounded cache, or makes it, and executes it.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

// Effect  executes the problem through the plan cache
// Errors  as plan::plan and plan::execute
void execute(const problem& what, const void* src, void* dst, void* stream = nullptr);
void execute(const problem& what, const operands& all, void* stream = nullptr);
// Effect  as above, with the device and the threads of a plan. The cache does not hold a plan with an executor or a forced kernel,
//         which each call makes again
void execute(const problem& what, const operands& all, const plan_options& options, void* stream = nullptr);

// Effect  dst[j][i] = src[i][j]
// Shape   src is rows x cols, row-major, with src_ld elements from one row to the next; dst is cols x rows with dst_ld.
//         A leading dimension of 0 means packed
// Alias   src and dst may not overlap, but src may be dst: a square matrix with one ld, or any packed matrix
// Errors  as transpose_problem and execute
template <class T>
void transpose(const T* src, std::int64_t src_ld, T* dst, std::int64_t dst_ld, std::int64_t rows, std::int64_t cols,
               void* stream = nullptr) {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied bit for bit: they must be trivially copyable");
  problem what = transpose_problem(rows, cols, sizeof(T), src_ld, dst_ld);
  what.in_place = src == dst;
  execute(what, src, dst, stream);
}

// Effect  as above; both matrices are packed
template <class T>
void transpose(const T* src, T* dst, std::int64_t rows, std::int64_t cols, void* stream = nullptr) {
  transpose(src, 0, dst, 0, rows, cols, stream);
}

// Effect  dst = numpy.transpose(src, axes) as a copy, not a view
// Shape   extents describe src; both sides are row-major and packed
// Alias   src and dst may not overlap, but src may be dst for the permutations that problem::in_place allows
// Errors  as permute_problem and execute
template <class T>
void permute(const T* src, T* dst, std::span<const std::int64_t> extents, std::span<const int> axes,
             void* stream = nullptr) {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied bit for bit: they must be trivially copyable");
  problem what = permute_problem(extents, axes, sizeof(T));
  what.in_place = src == dst;
  execute(what, src, dst, stream);
}

}  // namespace cornerturn
#pragma GCC visibility pop
