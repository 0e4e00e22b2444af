#include "api/check.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/numbers.hpp"
#include "cornerturn/error.hpp"
#include "kernels/op.hpp"
#include "map/canonical.hpp"
#include "plan/choose.hpp"

namespace cornerturn::api {
namespace {

using base::checked_add;
using base::checked_mul;
using base::decimal;
using base::magnitude;
using planning::widest_span_bytes;

std::string number(std::int64_t value) { return std::to_string(value); }

[[noreturn]] void fail(status code, const std::string& sentence) { throw error(code, sentence); }

// Effect  computes the bytes from the first to the last element of one side. Returns false if 63 bits do not hold them
bool span_bytes(const problem& what, std::int64_t bytes, std::int64_t axis::*stride, std::int64_t& whole) {
  std::int64_t below = 0;
  std::int64_t above = 1;
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    std::int64_t reach = 0;
    if (!checked_mul(one.extent - 1, one.*stride, reach)) return false;
    std::int64_t& side = reach < 0 ? below : above;
    if (!checked_add(side, magnitude(reach), side)) return false;
  }
  return checked_add(below, above, whole) && checked_mul(whole, bytes, whole);
}

bool reach_fits(const problem& what, std::int64_t bytes, std::int64_t axis::*stride) {
  std::int64_t whole = 0;
  return span_bytes(what, bytes, stride, whole);
}

void check_nests(const problem& what, const char* side, std::int64_t axis::*strides) {
  std::array<int, max_rank> order{};
  int count = 0;
  for (int k = 0; k < what.rank; ++k) {  // an insertion sort: g++ 16 warns about std::sort of a short array
    if (what.axes[k].extent <= 1) continue;
    int at = count++;
    for (; at > 0 && magnitude(what.axes[order[at - 1]].*strides) > magnitude(what.axes[k].*strides); --at) {
      order[at] = order[at - 1];
    }
    order[at] = k;
  }
  std::int64_t reach = 0;  // largest distance between two elements of the axes so far
  for (int k = 0; k < count; ++k) {
    const axis& one = what.axes[order[k]];
    const std::int64_t stride = magnitude(one.*strides);
    if (stride <= reach) {
      fail(status::overlap, "axis " + number(order[k]) + " has " + side + " stride " + number(one.*strides) +
                                ", but the axes with smaller strides already reach " + number(reach) +
                                " elements: two elements of " + side +
                                " would share an address. Wanted: a stride of at least " + number(reach + 1));
    }
    reach += (one.extent - 1) * stride;
  }
}

void check_writable(const problem& what, const char* side, std::int64_t bytes, std::int64_t axis::*strides) {
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (one.extent <= 1 || one.*strides != 0) continue;
    fail(status::overlap, "axis " + number(k) + " has " + side + " stride 0 and extent " + number(one.extent) +
                              ": all its elements would be written to one address. Wanted: a stride other than 0");
  }
  if (!reach_fits(what, bytes, strides))
    fail(status::overflow, std::string("the bytes that ") + side + " spans exceed 63 bits");
  check_nests(what, side, strides);
}

bool is_known(element_type type) { return type >= element_type::bits && type <= element_type::uint64; }
bool is_complex(element_type type) { return type == element_type::complex64 || type == element_type::complex128; }
bool is_float8(element_type type) { return type == element_type::float8_e4m3 || type == element_type::float8_e5m2; }

void check_types(const problem& what) {
  const arithmetic& math = what.math;
  for (const auto& [side, type] : {std::pair{"src", math.src}, std::pair{"dst", math.dst}}) {
    if (is_known(type)) continue;
    fail(status::invalid_argument, std::string("math.") + side + " is " + number(static_cast<std::int64_t>(type)) +
                                       ", which is not an element_type");
  }
  const std::string both = std::string(name(math.src)) + " to " + name(math.dst);
  if ((math.src == element_type::bits) != (math.dst == element_type::bits)) {
    fail(status::invalid_argument, "math converts " + both + ". Wanted: a type on both sides, or bits on both");
  }
  if (!kernels::pair_exists(math.src, math.dst)) {
    fail(status::invalid_argument,
         "math converts " + both +
             ", which no kernel supports. Wanted: one type on both sides; float32 to or from float16, bfloat16 or "
             "float64; "
             "float32, float16 or bfloat16 to float8_e4m3 or float8_e5m2; or an integer to an integer");
  }
  if (math.src != element_type::bits && what.element_bytes != bytes_of(math.src)) {
    fail(status::invalid_argument, "element_bytes is " + number(what.element_bytes) + ", but math.src is " +
                                       name(math.src) + ". Wanted: " + number(bytes_of(math.src)));
  }
}

void check_terms(const arithmetic& math) {
  const bool none = math.src == element_type::bits || math.src >= element_type::float8_e4m3;
  const std::string types =
      math.src == math.dst ? name(math.src) : std::string(name(math.src)) + " to " + name(math.dst);
  const auto refuse = [&](const char* field, const scalar& found, const char* wanted) {
    const std::string value =
        found.im == 0 ? decimal(found.re) : '(' + decimal(found.re) + ", " + decimal(found.im) + ')';
    fail(status::invalid_argument, std::string("math.") + field + " is " + value + ", which is not supported for " +
                                       types + ". Wanted: " + wanted);
  };
  if (math.alpha != scalar{1, 0} && (none || (math.alpha.im != 0 && !is_complex(math.src)))) {
    refuse("alpha", math.alpha, none ? "1" : "no imaginary part");
  }
  const bool no_beta = none || is_float8(math.dst);
  if (math.beta != scalar{} && (no_beta || (math.beta.im != 0 && !is_complex(math.src)))) {
    refuse("beta", math.beta, no_beta ? "0" : "no imaginary part");
  }
  if (math.conj && !is_complex(math.src)) {
    fail(status::invalid_argument,
         "math.conj is set, but math.src is " + std::string(name(math.src)) + ". Wanted: complex64 or complex128");
  }
  const bool wants_scale = is_float8(math.dst) && math.src != math.dst;
  if (math.scaled && !wants_scale) {
    fail(status::invalid_argument, "math.scaled is set for " + types + ". Wanted: a conversion to float8, or alpha");
  }
  if (!math.scaled && wants_scale) {
    fail(status::invalid_argument,
         "math.scaled is not set for " + types + ". Wanted: math.scaled set, and a scale of 1 if no other");
  }
}

void check_second(const problem& what) {
  const arithmetic& math = what.math;
  if (math.second < second_array::none || math.second > second_array::destination) {
    fail(status::invalid_argument,
         "math.second is " + number(static_cast<std::int64_t>(math.second)) + ". Wanted: none, source or destination");
  }
  for (int k = 0; math.second == second_array::none && k < what.rank; ++k) {
    if (what.axes[k].second_stride == 0 || what.axes[k].extent <= 1) continue;
    fail(status::invalid_argument, "axis " + number(k) + " has second stride " + number(what.axes[k].second_stride) +
                                       ", but math.second is none. Wanted: 0");
  }
  if (math.second != second_array::destination) return;
  if (math.beta != scalar{}) {
    fail(status::invalid_argument, "math.second is destination and math.beta is not 0. Wanted: one of them");
  }
  const std::int64_t bytes = what.element_bytes;
  if (bytes > 16 || (bytes & (bytes - 1)) != 0) {
    fail(status::invalid_argument,
         "element_bytes is " + number(bytes) + " and math.second is destination. Wanted: 1, 2, 4, 8 or 16 bytes");
  }
}

void check_math(const problem& what) {
  check_types(what);
  check_terms(what.math);
  check_second(what);
  if (what.in_place && !map::only_moves(what)) {
    fail(status::invalid_argument,
         "in_place is set, and math changes elements or has a second destination. Wanted: one of them");
  }
}

}  // namespace

void check(const problem& what) {
  if (what.element_bytes < 1) {
    fail(status::invalid_argument, "element_bytes is " + number(what.element_bytes) + ", wanted at least 1");
  }
  if (what.rank < 0 || what.rank > max_rank) {
    fail(status::invalid_argument, "rank is " + number(what.rank) + ", wanted 0 to " + number(max_rank));
  }
  check_math(what);
  bool empty = false;
  for (int k = 0; k < what.rank; ++k) {
    if (what.axes[k].extent < 0) {
      fail(status::invalid_argument,
           "axis " + number(k) + " has extent " + number(what.axes[k].extent) + ", wanted 0 or more");
    }
    empty = empty || what.axes[k].extent == 0;
  }
  if (empty) return;  // no access to memory, so every stride is valid
  const std::int64_t dst_bytes = what.math.dst == element_type::bits ? what.element_bytes : bytes_of(what.math.dst);
  std::int64_t total = std::max(what.element_bytes, dst_bytes);
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (!checked_mul(total, one.extent, total)) {
      fail(status::overflow,
           "the bytes of all elements exceed 63 bits at axis " + number(k) + " with extent " + number(one.extent));
    }
  }
  if (!reach_fits(what, what.element_bytes, &axis::src_stride))
    fail(status::overflow, "the bytes that src spans exceed 63 bits");
  check_writable(what, "dst", dst_bytes, &axis::dst_stride);
  std::int64_t spanned = 0;
  if (what.in_place && span_bytes(what, dst_bytes, &axis::dst_stride, spanned) && spanned > widest_span_bytes) {
    fail(status::overflow, "in_place is set and the array spans " + number(spanned) + " bytes, wanted at most " +
                               number(widest_span_bytes) + ": no address space has more");
  }
  if (what.math.second == second_array::destination) {
    check_writable(what, "second", dst_bytes, &axis::second_stride);
  } else if (!reach_fits(what, dst_bytes, &axis::second_stride)) {
    fail(status::overflow, "the bytes that the second source spans exceed 63 bits");
  }
}

}  // namespace cornerturn::api
