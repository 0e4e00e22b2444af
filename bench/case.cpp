// Cases: the table of cases.inc, names, and their strided form.
#include "bench/case.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace cornerturn::bench {

namespace {

enum class mark { none, quick, hot, hot_quick };

std::string joined_extents(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (std::size_t i = 0; i < extents.size();) {
    std::size_t run = i;
    while (run < extents.size() && extents[run] == extents[i]) ++run;
    const std::size_t repeats = run - i;
    if (!text.empty()) text += 'x';
    text += std::to_string(extents[i]);
    if (repeats >= 5) {  // 2^15x512 is shorter than fifteen twos
      text.append("^").append(std::to_string(repeats));
      i = run;
    } else {
      ++i;
    }
  }
  return text;
}

std::string joined_axes(const std::vector<int>& axes) {
  std::string text;
  for (const int axis : axes) text += "0123456789abcdef"[axis & 15];
  return text;
}

bool is_matrix(const bench_case& one) { return one.axes == std::vector<int>{1, 0}; }

std::vector<std::int64_t> padded_strides(const std::vector<std::int64_t>& extents, std::int64_t ld,
                                         std::int64_t batch) {
  const std::size_t rank = extents.size();
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t k = rank; k-- > 1;) {
    strides[k - 1] = strides[k] * extents[k] + (k == rank - 1 ? ld : 0) + (k == 1 && rank > 2 ? batch : 0);
  }
  return strides;
}

std::vector<std::int64_t> dst_extents(const bench_case& one) {
  std::vector<std::int64_t> extents;
  for (const int axis : one.axes) extents.push_back(one.extents[static_cast<std::size_t>(axis)]);
  return extents;
}

std::int64_t span_bytes(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides,
                        std::int64_t element_bytes) {
  std::int64_t last = 0;
  for (std::size_t k = 0; k < extents.size(); ++k) last += (extents[k] - 1) * std::abs(strides[k]);
  return (last + 1) * element_bytes;
}

// Bytes from the lowest element to the one of index 0.
std::int64_t below_bytes(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides,
                         std::int64_t element_bytes) {
  std::int64_t below = 0;
  for (std::size_t k = 0; k < extents.size(); ++k) below += (extents[k] - 1) * std::max<std::int64_t>(-strides[k], 0);
  return below * element_bytes;
}

std::string padding_text(const bench_case& one, char separator) {
  std::string text;
  const auto add = [&](const char* what, const padding& pad) {
    if (pad.src == 0 && pad.dst == 0) return;
    text += separator;
    text.append(what).append("+").append(std::to_string(pad.src)).append(",+").append(std::to_string(pad.dst));
  };
  add("ld", one.ld);
  add("stride", one.batch);
  add("at", one.shift);
  const auto add_strides = [&](const char* what, const std::vector<std::int64_t>& strides) {
    text += separator;
    text += what;
    for (std::size_t k = 0; k < strides.size(); ++k) text += (k > 0 ? "," : "") + std::to_string(strides[k]);
  };
  if (one.is_view()) {
    add_strides("src", one.strides.src);
    add_strides("dst", one.strides.dst);
  }
  return text;
}

}  // namespace

std::int64_t bench_case::bytes() const {
  std::int64_t product = element_bytes;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

std::vector<std::int64_t> bench_case::src_strides() const {
  return is_view() ? strides.src : padded_strides(extents, ld.src, batch.src);
}

std::vector<std::int64_t> bench_case::dst_strides() const {
  return is_view() ? strides.dst : padded_strides(dst_extents(*this), ld.dst, batch.dst);
}

std::int64_t bench_case::src_span_bytes() const { return span_bytes(extents, src_strides(), element_bytes); }

std::int64_t bench_case::dst_span_bytes() const { return span_bytes(dst_extents(*this), dst_strides(), element_bytes); }

std::int64_t bench_case::buffer_bytes() const {
  const std::int64_t src_begin = shift.src - below_bytes(extents, src_strides(), element_bytes);
  return std::max({bytes(), src_begin + src_span_bytes(), shift.dst + dst_span_bytes()});
}

std::string bench_case::shape() const {
  std::string text = joined_extents(extents);
  if (!is_matrix(*this)) text.append(" ").append(joined_axes(axes));
  return text + padding_text(*this, ' ');
}

std::string bench_case::name() const {
  std::string text = set;
  text.append("/b").append(std::to_string(element_bytes)).append("/").append(joined_extents(extents));
  if (!is_matrix(*this)) text.append("/").append(joined_axes(axes));
  return text + padding_text(*this, '/');
}

std::int64_t view::elements() const {
  std::int64_t product = 1;
  for (const view_axis& axis : axes) product *= axis.extent;
  return product;
}

view full_view(const bench_case& one) {
  const std::vector<std::int64_t> src = one.src_strides(), dst = one.dst_strides();
  view what{one.element_bytes, {}};
  for (std::size_t k = 0; k < one.axes.size(); ++k) {
    const auto from = static_cast<std::size_t>(one.axes[k]);
    what.axes.push_back({one.extents[from], src[from], dst[k]});
  }
  return what;
}

map::lines lines_of(const bench_case& one, bool of_dst) {
  const std::vector<std::int64_t> extents = of_dst ? dst_extents(one) : one.extents;
  const std::vector<std::int64_t> strides = of_dst ? one.dst_strides() : one.src_strides();
  std::vector<map::stepped_axis> axes;
  for (std::size_t k = 0; k < extents.size(); ++k) axes.push_back({extents[k], strides[k]});
  return map::lines_of(axes, one.element_bytes, line_bytes, of_dst ? one.shift.dst : one.shift.src);
}

double roof_of(const bench_case& one) {
  const std::int64_t moved = line_bytes * map::lines_moved(lines_of(one, false), lines_of(one, true));
  return 2 * static_cast<double>(one.bytes()) / static_cast<double>(moved);
}

int base_alignment(const bench_case& one) {
  const std::int64_t both = one.shift.src | one.shift.dst | 16;
  return static_cast<int>(both & -both);
}

view folded(const view& what) {
  view result{what.element_bytes, {}};
  for (const view_axis& axis : what.axes) {
    if (axis.extent == 1) continue;
    if (!result.axes.empty()) {
      view_axis& outer = result.axes.back();
      if (outer.src_stride == axis.src_stride * axis.extent && outer.dst_stride == axis.dst_stride * axis.extent) {
        outer = {outer.extent * axis.extent, axis.src_stride, axis.dst_stride};
        continue;
      }
    }
    result.axes.push_back(axis);
  }
  return result;
}

std::vector<slice> slices(const view& what, int parts) {
  if (what.axes.empty() || parts <= 1) return {{what, 0, 0}};
  const auto longest = static_cast<std::size_t>(
      std::max_element(what.axes.begin(), what.axes.end(),
                       [](const view_axis& a, const view_axis& b) { return a.extent < b.extent; }) -
      what.axes.begin());
  const view_axis whole = what.axes[longest];
  std::vector<slice> pieces;
  for (int part = 0; part < parts; ++part) {
    const std::int64_t begin = whole.extent * part / parts;
    const std::int64_t end = whole.extent * (part + 1) / parts;
    if (begin == end) continue;
    slice piece{what, begin * whole.src_stride, begin * whole.dst_stride};
    piece.what.axes[longest].extent = end - begin;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

namespace {

struct case_table {
  std::vector<bench_case> rows;

  void add(const char* set, std::int64_t bytes, std::vector<std::int64_t> extents, std::vector<int> axes, mark kind,
           const char* note, padding ld = {}, padding batch = {}) {
    rows.push_back({set, bytes, std::move(extents), std::move(axes), kind == mark::hot || kind == mark::hot_quick,
                    kind == mark::quick || kind == mark::hot_quick, note, ld, batch});
  }
};

}  // namespace

const std::vector<bench_case>& all_cases(machine on) {
#define LIST(...) \
  { __VA_ARGS__ }
#define CASE(set, bytes, extents, axes, kind, note) list.add(#set, bytes, LIST extents, LIST axes, mark::kind, note);
#define LD(set, bytes, extents, pads, kind, note) \
  list.add(#set, bytes, LIST extents, {1, 0}, mark::kind, note, LIST pads);
#define STRIDE(set, bytes, extents, pads, kind, note) \
  list.add(#set, bytes, LIST extents, {0, 2, 1}, mark::kind, note, {}, LIST pads);
  static const std::vector<bench_case> of_cpu = [] {
    case_table list;
#include "bench/cases.inc"
    return list.rows;
  }();
  static const std::vector<bench_case> of_gpu = [] {
    case_table list;
#include "bench/gpu_cases.inc"
    return list.rows;
  }();
#undef CASE
#undef LD
#undef STRIDE
#undef LIST
  return on == machine::cpu ? of_cpu : of_gpu;
}

const std::vector<std::string>& set_names(machine on) {
  static const std::vector<std::string> of_cpu{
      "plain", "odd",          "pow2",  "small_types", "skinny", "batched",         "rank_n",
      "hot",   "odd_elements", "quick", "bars",        "all",    "in_place_square", "in_place_rectangle"};
  static const std::vector<std::string> of_gpu{"pow2",  "odd",       "odd_small",    "skinny", "batched", "rank_n",
                                               "small", "rank_many", "odd_elements", "quick",  "bars",    "all"};
  return on == machine::cpu ? of_cpu : of_gpu;
}

bool is_in(const bench_case& one, const std::string& set, machine on) {
  const std::vector<std::string>& names = set_names(on);
  if (std::find(names.begin(), names.end(), set) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("--set is \"" + set + "\", wanted one of " + known + ", random");
  }
  return set == "all" || one.set == set || (set == "quick" && one.quick) ||
         (set == "bars" && one.set != "odd_elements" && one.set != "rank_many");
}

}  // namespace cornerturn::bench
