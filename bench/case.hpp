// A case is one permutation of an array. A view is a case in the form of extents and strides, for peers and checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "map/lines.hpp"

namespace cornerturn::bench {

enum class machine { cpu, gpu };  // each has its own table of cases and its own bars

// One number for src and one for dst: the elements that are added to a packed stride, or an offset in bytes.
struct padding {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};

// The strides of a view, in elements; empty: the strides of a packed array and its padding. A stride of dst is positive.
struct view_strides {
  std::vector<std::int64_t> src;  // per axis of src
  std::vector<std::int64_t> dst;  // per axis of dst
};

struct bench_case {
  std::string set;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> extents;  // of the source, row-major, packed
  std::vector<int> axes;              // axis k of dst is axis axes[k] of src
  bool hot = false;                   // timed in cache, one pair reused
  bool quick = false;                 // member of the set `quick`
  std::string note;
  padding ld{};     // added to the leading dimension
  padding batch{};  // added to the stride of the first of three axes
  padding shift{};  // bytes from an address that is a multiple of a page to the element of index 0
  view_strides strides{};
  // The best speed of a view, where a copy of its elements is 1. At the rate of a copy, each line of 64 bytes that holds elements is
  // moved once. A line of dst that is not written whole is moved twice.
  double roof = 1;

  [[nodiscard]] std::int64_t bytes() const;           // of src, or of dst, without padding
  [[nodiscard]] std::int64_t src_span_bytes() const;  // from the first byte to the last, with padding
  [[nodiscard]] std::int64_t dst_span_bytes() const;
  [[nodiscard]] bool in_place() const {
    return set.find("in_place") != std::string::npos;
  }  // dst starts as a copy of src
  [[nodiscard]] bool is_packed() const { return ld.src + ld.dst + batch.src + batch.dst == 0 && !is_view(); }
  [[nodiscard]] bool is_view() const { return !strides.src.empty(); }
  [[nodiscard]] std::vector<std::int64_t> src_strides() const;  // per axis of src, in elements
  [[nodiscard]] std::vector<std::int64_t> dst_strides() const;  // per axis of dst
  [[nodiscard]] std::int64_t buffer_bytes() const;              // the larger need of src and dst, with shift
  // "64x112x112x64 0312". Axes 1,0 are omitted. Padding of src and dst is "ld+1,+3" and "stride+16,+16"; the shift is
  // "at+4,+8". Strides of a view are "src-8,2" and "dst4,1"
  [[nodiscard]] std::string shape() const;
  [[nodiscard]] std::string name() const;  // "rank_n/b4/64x112x112x64/0312": unique, the key of a result file
};

struct view_axis {
  std::int64_t extent = 1;
  std::int64_t src_stride = 0;  // elements
  std::int64_t dst_stride = 0;
};

// Axes are in the order of dst, outermost first.
struct view {
  std::int64_t element_bytes = 0;
  std::vector<view_axis> axes;

  [[nodiscard]] std::int64_t elements() const;
};

[[nodiscard]] view full_view(const bench_case& one);

inline constexpr std::int64_t line_bytes = 64;  // of a CPU
// Effect  counts the lines of src, or of dst
[[nodiscard]] map::lines lines_of(const bench_case& one, bool of_dst);
// Effect  returns the `roof` of a case, as its lines say
[[nodiscard]] double roof_of(const bench_case& one);

// Effect  returns the largest power of two, up to 16, that divides both shifts: the alignment of both arrays for kernels
[[nodiscard]] int base_alignment(const bench_case& one);

// Effect  returns an equivalent view without axes of extent 1; axes that are contiguous in src and in dst are joined
[[nodiscard]] view folded(const view& what);

// One piece of a view. The offsets are in elements.
struct slice {
  view what;
  std::int64_t src_offset = 0;
  std::int64_t dst_offset = 0;
};
// Effect  cuts the longest axis into at most `parts` slices
[[nodiscard]] std::vector<slice> slices(const view& what, int parts);

// Effect  returns every case of cases.inc or gpu_cases.inc, in the order of the file
[[nodiscard]] const std::vector<bench_case>& all_cases(machine on = machine::cpu);

// Effect  returns the names that --set accepts
[[nodiscard]] const std::vector<std::string>& set_names(machine on = machine::cpu);

// Effect  returns true when the case belongs to the named set. `quick`, `bars` and `all` are unions of sets
// Errors  std::invalid_argument: set_names() does not have the name
[[nodiscard]] bool is_in(const bench_case& one, const std::string& set, machine on = machine::cpu);

}  // namespace cornerturn::bench
