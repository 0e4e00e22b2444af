// For any problem, plan::plan accepts it or throws an error with a sentence. Small problems are executed, whole through
// the plan and in two ranges of units for caches of size zero. Both results are compared with the walk of the
// definition. Offers and their text for a GPU are made too.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../kernels/oracle.hpp"
#include "api/check.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "plan/choose.hpp"

namespace {

using namespace cornerturn;

// Takes bytes from the front; zeros at the end of the input.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}
  std::uint8_t byte() { return left_ == 0 ? 0 : (--left_, *at_++); }
  std::int64_t word() {
    std::uint64_t x = 0;
    for (int k = 0; k < 8; ++k) x = x << 8 | byte();
    return static_cast<std::int64_t>(x);
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

[[noreturn]] void fail(const std::string& why, const problem& what) {
  std::fprintf(stderr, "%s\n%s\n", why.c_str(), testing::to_text(what).c_str());
  std::abort();
}

// Extents and strides of a few bits, of 64 bits, or next to a power of two.
std::int64_t number(input& from) {
  const std::uint8_t kind = from.byte();
  switch (kind % 8) {
    case 0:
      return from.word();
    case 1:
      return (std::int64_t{1} << (kind >> 3 << 1)) + static_cast<std::int8_t>(from.byte());
    case 2:
      return -(std::int64_t{1} << (kind >> 3 << 1)) + static_cast<std::int8_t>(from.byte());
    default:
      return static_cast<std::int8_t>(from.byte());
  }
}

problem any_problem(input& from) {
  problem what;
  what.element_bytes = number(from);
  what.rank = from.byte() % 20 - 1;
  for (int k = 0; k < std::min(what.rank, max_rank); ++k) what.axes[k] = {number(from), number(from), number(from)};
  return what;
}

// Small problems, mostly legal: the input gives the order in which dst strides nest.
problem nested_problem(input& from) {
  problem what;
  what.element_bytes = 1 + from.byte() % 50;
  what.rank = from.byte() % 7;
  std::int64_t dst = 1, src = 1;
  for (int k = 0; k < what.rank; ++k) {
    const std::uint8_t form = from.byte();
    axis& one = what.axes[k];
    one.extent = form % 4 == 0 ? 1 + from.byte() % 100 : 1 + from.byte() % 6;
    one.dst_stride = (form & 8) != 0 ? -dst : dst;
    one.src_stride = (form & 16) != 0 ? -src : src;
    if ((form & 224) == 224) one.src_stride = static_cast<std::int8_t>(from.byte());
    dst = dst * one.extent + ((form & 96) == 96 ? from.byte() % 5 : 0);
    src = src * one.extent + ((form & 160) == 160 ? from.byte() % 5 : 0);
  }
  // src in another order of the axes: the strides of two axes at a time, recomputed.
  for (int swaps = from.byte() % 6; swaps > 0 && what.rank > 1; --swaps) {
    axis& a = what.axes[from.byte() % what.rank];
    axis& b = what.axes[from.byte() % what.rank];
    if (&a == &b) continue;
    std::swap(a.src_stride, b.src_stride);
    if (a.src_stride != 0) b.src_stride *= a.extent;
  }
  return what;
}

bool small_enough(const problem& what) {
  constexpr std::int64_t room = 1 << 16;
  if (what.element_bytes > room) return false;
  std::int64_t src = what.element_bytes, dst = what.element_bytes, total = what.element_bytes;
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (one.extent == 0) return true;
    if (one.extent == 1) continue;
    if (one.extent > room || one.src_stride < -room || one.src_stride > room || one.dst_stride < -room ||
        one.dst_stride > room)
      return false;
    src += (one.extent - 1) * std::abs(one.src_stride) * what.element_bytes;
    dst += (one.extent - 1) * std::abs(one.dst_stride) * what.element_bytes;
    total *= one.extent;
    if (src > room || dst > room || total > room) return false;
  }
  return src <= room && dst <= room && total <= room;
}

void run_in_two_ranges(const problem& what, testing::workbench& bench, std::uint8_t cut) {
  base::machine none;
  none.amd = (cut & 1) != 0;
  none.simd = kernels::this_machine().simd;
  const map::canonical form = map::canonicalize(what);
  const kernels::offer made = planning::choose(form, planning::cpu_request{}, none);
  const std::byte* src = bench.src() + form.src_offset * form.word_bytes;
  std::byte* dst = bench.dst() + form.dst_offset * form.word_bytes;
  const std::int64_t middle = made.units * cut / 256;
  bench.clear();
  made.row->run(made.args, {.src = src, .dst = dst}, middle, made.units);
  std::string fault = bench.add_part();
  made.row->run(made.args, {.src = src, .dst = dst}, 0, middle);
  fault += bench.add_part();
  fault += bench.difference_of_sum();
  if (!fault.empty()) fail(std::string(made.row->name) + " in two ranges of units: " + fault, what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from(data, size);
  const std::uint8_t first = from.byte();
  const std::uint8_t threads = from.byte();
  const std::uint8_t place = from.byte();
  const problem what = first % 2 == 0 ? any_problem(from) : nested_problem(from);
  try {
    plan_options options;
    options.threads = threads == 255 ? INT32_MAX : threads % 32;
    const plan how(what, options);
    if (how.bytes_moved() < 0 || how.threads() < 1 || how.explain().empty()) fail("a plan that makes no sense", what);
    try {  // a GPU may lack blocks for what a CPU plans
      for (const plan_offer& one : offers(what, {.machine = "H200", .alignment = 1 << place % 5})) {
        if (!(one.time >= 0)) fail(std::string("an offer of no time: ") + one.kernel, what);
      }
      if (explain(what, {.machine = "H200", .alignment = 1 << place % 5}).empty()) fail("no text for a GPU", what);
    } catch (const error& refused) {
      if (refused.code() != status::overflow) throw;
    }
    if (!small_enough(what)) return 0;
    testing::workbench bench(what, testing::placement::heap, place % 64, place / 4);
    how.execute(bench.src(), bench.dst());
    if (const std::string fault = bench.difference(); !fault.empty())
      fail(std::string(how.kernel()) + ": " + fault, what);
    run_in_two_ranges(what, bench, first);
  } catch (const error& refused) {
    if (std::strlen(refused.what()) == 0 || refused.code() == status::internal)
      fail("an error without a sentence", what);
    try {
      api::check(what);
    } catch (const error&) {
      return 0;
    }
    fail("check() accepts it, but the plan does not: " + std::string(refused.what()), what);
  }
  return 0;
}
