#include "api/check.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::api {
namespace {

using base::checked_add;
using base::checked_mul;
using base::magnitude;

std::string number(std::int64_t value) { return std::to_string(value); }

[[noreturn]] void fail(status code, const std::string& sentence) { throw error(code, sentence); }

// The bytes from the first to the last element of one side, plus one element; false when 63 bits do not hold them.
bool reach_fits(const problem& what, std::int64_t axis::*stride) {
  std::int64_t below = 0;
  std::int64_t above = 1;
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    std::int64_t reach = 0;
    if (!checked_mul(one.extent - 1, one.*stride, reach)) return false;
    std::int64_t& side = reach < 0 ? below : above;
    if (!checked_add(side, magnitude(reach), side)) return false;
  }
  std::int64_t whole = 0;
  return checked_add(below, above, whole) && checked_mul(whole, what.element_bytes, whole);
}

void check_dst_nests(const problem& what) {
  std::array<int, max_rank> order{};
  int count = 0;
  for (int k = 0; k < what.rank; ++k) {
    if (what.axes[k].extent > 1) order[count++] = k;
  }
  std::sort(order.begin(), order.begin() + count,
            [&what](int a, int b) { return magnitude(what.axes[a].dst_stride) < magnitude(what.axes[b].dst_stride); });
  std::int64_t reach = 0;  // of all axes so far: the largest distance between two elements
  for (int k = 0; k < count; ++k) {
    const axis& one = what.axes[order[k]];
    const std::int64_t stride = magnitude(one.dst_stride);
    if (stride <= reach) {
      fail(status::overlap, "axis " + number(order[k]) + " has dst stride " + number(one.dst_stride) +
                                ", but the axes with smaller strides already reach " + number(reach) +
                                " elements: two elements of dst would share a place. Wanted: a stride of at least " +
                                number(reach + 1));
    }
    reach += (one.extent - 1) * stride;
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
  bool empty = false;
  for (int k = 0; k < what.rank; ++k) {
    if (what.axes[k].extent < 0) {
      fail(status::invalid_argument,
           "axis " + number(k) + " has extent " + number(what.axes[k].extent) + ", wanted 0 or more");
    }
    empty = empty || what.axes[k].extent == 0;
  }
  if (empty) return;  // nothing moves, whatever the strides are
  std::int64_t total = what.element_bytes;
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (one.extent > 1 && one.dst_stride == 0) {
      fail(status::overlap, "axis " + number(k) + " has dst stride 0 and extent " + number(one.extent) +
                                ": all its elements would be written to one place. Wanted: a stride other than 0");
    }
    if (!checked_mul(total, one.extent, total)) {
      fail(status::overflow,
           "the bytes of all elements leave 63 bits at axis " + number(k) + " with extent " + number(one.extent));
    }
  }
  if (!reach_fits(what, &axis::src_stride)) fail(status::overflow, "the bytes that src spans leave 63 bits");
  if (!reach_fits(what, &axis::dst_stride)) fail(status::overflow, "the bytes that dst spans leave 63 bits");
  check_dst_nests(what);
}

}  // namespace cornerturn::api
