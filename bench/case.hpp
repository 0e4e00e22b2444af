// A case is one permutation of a packed array; a view is the same thing as extents and strides, for peers and checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornerturn::bench {

enum class machine { cpu, gpu };  // each has its own table of cases and its own bars

// One number for src and one for dst: the elements that a stride is larger than packed, or an offset in bytes.
struct padding {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};

struct bench_case {
  std::string set;
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> extents;  // of the source, row-major, packed
  std::vector<int> axes;              // axis k of dst is axis axes[k] of src
  bool hot = false;                   // timed in cache, one pair reused
  bool quick = false;                 // member of the set `quick`
  std::string note;
  padding ld{};     // of the leading dimension
  padding batch{};  // of the stride of the first axis of three
  padding shift{};  // bytes from an address that is a multiple of a page to the first element

  [[nodiscard]] std::int64_t bytes() const;           // of one side, without what is skipped
  [[nodiscard]] std::int64_t src_span_bytes() const;  // from the first byte to the last, with what is skipped
  [[nodiscard]] std::int64_t dst_span_bytes() const;
  [[nodiscard]] bool in_place() const { return set.find("in_place") != std::string::npos; }  // dst begins as src
  [[nodiscard]] bool is_packed() const { return ld.src + ld.dst + batch.src + batch.dst == 0; }
  [[nodiscard]] std::vector<std::int64_t> src_strides() const;  // per axis of src, in elements
  [[nodiscard]] std::vector<std::int64_t> dst_strides() const;  // per axis of dst
  [[nodiscard]] std::int64_t buffer_bytes() const;              // that src and dst each need at most, with shift
  // "64x112x112x64 0312"; the axes only when they are not 1,0; "ld+1,+3" and "stride+16,+16" for padding of src, dst;
  // "at+4,+8" for the shift
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

// Effect  the largest power of two, up to 16, that divides both shifts: the alignment of both arrays, as kernels see it
[[nodiscard]] int base_alignment(const bench_case& one);

// Effect  the same movement with extent-1 axes dropped and axes joined that are contiguous on both sides
[[nodiscard]] view folded(const view& what);

// Effect  cuts the longest axis into at most `parts` pieces; src_offset and dst_offset are in elements
struct slice {
  view what;
  std::int64_t src_offset = 0;
  std::int64_t dst_offset = 0;
};
[[nodiscard]] std::vector<slice> slices(const view& what, int parts);

// Effect  every case of cases.inc or gpu_cases.inc, in its order
[[nodiscard]] const std::vector<bench_case>& all_cases(machine on = machine::cpu);

// Effect  the names that --set accepts
[[nodiscard]] const std::vector<std::string>& set_names(machine on = machine::cpu);

// Effect  true when the case belongs to the named set; `quick`, `bars` and `all` are unions
// Errors  std::invalid_argument: the name is none of set_names()
[[nodiscard]] bool is_in(const bench_case& one, const std::string& set, machine on = machine::cpu);

}  // namespace cornerturn::bench
