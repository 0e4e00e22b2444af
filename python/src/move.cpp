// See move.hpp: from arrays of any framework to the calls of cornerturn, which run without the GIL.
#include "move.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "entry.hpp"

namespace cornerturn::python {
namespace {

[[noreturn]] void refuse(status code, const std::string& sentence) { throw error(code, sentence); }

// Shorter copies keep the interpreter lock: its release and reacquisition would cost as much as the copy.
constexpr std::int64_t long_move_bytes = 1 << 16;

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();  // its absolute value has no representation

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) refuse(status::overflow, "x has 2^63 bytes or more");
  return product;
}

// Returns the stride of an axis longer than 1 in bytes. Requires that bytes_of(of) was checked.
std::int64_t stride(const view& of, int axis) {
  if (of.strides != nullptr) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(of.strides[axis], of.stride_bytes, &bytes) || bytes == smallest)
      refuse(status::overflow, "an array has a stride of 2^63 bytes or more");
    return bytes;
  }
  std::int64_t bytes = of.element_bytes;
  for (int k = of.rank - 1; k > axis; --k) bytes *= of.extents[k];
  return bytes;
}

}  // namespace

// Without a driver the library takes every pointer for host memory. This check prevents CPU access to a GPU pointer.
void check_cuda() {
  static std::atomic<bool> is_there{false};
  if (is_there) return;
  for (const backend_info& one : backends()) {
    if (one.id != device::cuda) continue;
    if (one.present) {
      is_there = true;
      return;
    }
    refuse(status::no_device, "x is on a CUDA device, but cornerturn found none: " + one.detail);
  }
}

namespace {

// A plan also refuses an out whose own elements overlap. This function finds out which of the two refused.
[[noreturn]] void refuse_overlap(const problem& what, const error& found) {
  if (what.in_place)
    refuse(status::overlap, "elements of x share memory, wanted separate elements. " + std::string(found.what()));
  try {
    static_cast<void>(plan(what, {.device = device::cpu}));
  } catch (const error& of_out) {
    if (of_out.code() == status::overlap)
      refuse(status::overlap, "elements of out share memory, wanted separate elements. " + std::string(of_out.what()));
  }
  const std::string sentence = found.what();
  const bool blames_second = sentence.find("second overlap") != std::string::npos;
  refuse(status::overlap,
         std::string(blames_second ? "second" : "x") + " and out share memory, wanted separate arrays: " + sentence);
}

// Runs signal handlers of Python during a long copy without the interpreter's lock: Ctrl-C ends it. Only for the thread in
// which Python runs them, the first of the process. Another thread might wait for the lock when the interpreter has ended.
class signals {
 public:
  [[nodiscard]] static bool are_handled_here() noexcept { return getpid() == static_cast<pid_t>(syscall(SYS_gettid)); }

  // For executor::is_cancelled
  [[nodiscard]] static bool are_raised(void* context) noexcept {
    auto& mine = *static_cast<signals*>(context);
    if (mine.raised_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != mine.caller_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < mine.next_) return false;
    mine.next_ = now + std::chrono::milliseconds(20);
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_CheckSignals() != 0) mine.raised_ = true;  // the exception stays set in this thread
    PyGILState_Release(state);
    return mine.raised_;
  }

  // Errors  the exception that a handler raised. The caller holds the lock
  void rethrow() const {
    if (raised_) throw nb::python_error();
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  std::atomic<bool> raised_{false};
};

void execute(const problem& what, const operands& all, memory_kind where, const execution& how,
             signals* handled = nullptr) {
  try {
    if (all.src == all.dst && !what.in_place) refuse(status::overlap, "one array is both. transpose_inplace_ takes it");
    if (handled != nullptr) {
      const executor parallel{.context = handled, .is_cancelled = signals::are_raised};
      const char* const kernel = how.held != nullptr ? how.held->how.kernel() : nullptr;
      const int threads = how.held != nullptr ? how.held->how.threads() : how.threads;
      cornerturn::execute(
          what, all, plan_options{.device = device::cpu, .threads = threads, .parallel = parallel, .kernel = kernel});
    } else if (how.threads != 0 && where == memory_kind::host) {
      cornerturn::execute(what, all, plan_options{.device = device::cpu, .threads = how.threads});
    } else if (how.held != nullptr) {
      how.held->how.execute(all, how.stream);
    } else {
      cornerturn::execute(what, all, how.stream);
    }
  } catch (const error& found) {
    if (found.code() != status::overlap) throw;
    refuse_overlap(what, found);
  }
}

// A problem of any number of axes: each index of the outer axes is one problem.
struct pieces {
  problem what;
  std::vector<axis> outer{};  // the axes beyond max_rank, with the largest dst strides
};

std::int64_t reach(const axis& one, std::int64_t axis::*stride) { return (one.extent - 1) * std::abs(one.*stride); }

// Returns the bytes from the first to the last one that an array has at these axes.
std::pair<std::uintptr_t, std::uintptr_t> span_of(const pieces& all, const void* at, std::int64_t axis::*stride,
                                                  std::int64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::int64_t below = 0, above = 1;
  const auto add = [&](const axis& one) { (one.*stride < 0 ? below : above) += reach(one, stride); };
  std::for_each(all.what.axes.begin(), all.what.axes.begin() + all.what.rank, add);
  std::for_each(all.outer.begin(), all.outer.end(), add);
  return {address - static_cast<std::uintptr_t>(below * bytes), address + static_cast<std::uintptr_t>(above * bytes)};
}

std::int64_t dst_bytes_of(const problem& what) {
  return what.math.dst == element_type::bits ? what.element_bytes : bytes_of(what.math.dst);
}

// The library checks each piece. Pieces may not share memory either.
void check_pieces(const pieces& all, const operands& arrays) {
  std::int64_t inner = 0;
  for (int k = 0; k < all.what.rank; ++k) inner += reach(all.what.axes[k], &axis::dst_stride);
  for (auto one = all.outer.rbegin(); one != all.outer.rend(); ++one) {
    if (std::abs(one->dst_stride) <= inner)
      refuse(status::overlap, std::string("elements of ") + (all.what.in_place ? "x" : "out") +
                                  " share memory, wanted separate elements");
    inner += reach(*one, &axis::dst_stride);
  }
  if (all.what.in_place) return;
  const std::int64_t bytes = dst_bytes_of(all.what);
  const auto out = span_of(all, arrays.dst, &axis::dst_stride, bytes);
  const auto check = [&](const char* name, const auto& other) {
    if (other.first >= out.second || out.first >= other.second) return;
    refuse(status::overlap, std::string(name) + " and out share memory, wanted separate arrays");
  };
  check("x", span_of(all, arrays.src, &axis::src_stride, all.what.element_bytes));
  if (arrays.second != nullptr) check("second", span_of(all, arrays.second, &axis::second_stride, bytes));
}

template <class Execute>
void for_each_piece(const pieces& all, const operands& arrays, const Execute& one) {
  check_pieces(all, arrays);
  std::vector<std::int64_t> index(all.outer.size(), 0);
  const std::int64_t bytes = dst_bytes_of(all.what);
  while (true) {
    operands here = arrays;
    const auto advance = [](const void* at, std::int64_t by) {
      return at == nullptr ? nullptr : static_cast<const std::byte*>(at) + by;
    };
    for (std::size_t k = 0; k < index.size(); ++k) {
      const axis& outer = all.outer[k];
      here.src = advance(here.src, index[k] * outer.src_stride * all.what.element_bytes);
      here.dst = static_cast<std::byte*>(here.dst) + index[k] * outer.dst_stride * bytes;
      here.second = advance(here.second, index[k] * outer.second_stride * bytes);
    }
    one(here);
    std::size_t k = index.size();
    while (k > 0 && ++index[k - 1] == all.outer[k - 1].extent) index[--k] = 0;
    if (k == 0) return;
  }
}

void execute(const pieces& all, const operands& arrays, memory_kind where, const execution& how,
             signals* handled = nullptr) {
  if (all.outer.empty()) return execute(all.what, arrays, where, how, handled);
  for_each_piece(all, arrays, [&](const operands& here) {
    if (handled == nullptr || !signals::are_raised(handled)) execute(all.what, here, where, how, handled);
  });
}

// A long copy releases the interpreter lock.
void execute_unlocked(const pieces& what, const operands& all, std::int64_t bytes, memory_kind where,
                      const execution& how) {
  if (bytes < long_move_bytes || !how.has_lock) return execute(what, all, where, how);
  constexpr std::int64_t longest_bytes = 1 << 25;  // a longer copy takes several milliseconds
  if (bytes < longest_bytes || where != memory_kind::host || what.what.in_place || !signals::are_handled_here())
    return without_lock([&] { execute(what, all, where, how); });
  signals handled;
  without_lock([&] { execute(what, all, where, how, &handled); });
  handled.rethrow();
}

std::int64_t checked_bytes(const view& x) {
  if (x.where == memory_kind::cuda) check_cuda();
  return bytes_of(x);
}

// Folds axes that are contiguous in all arrays. The order of the loops is free, so axes with large dst strides come first.
std::vector<axis> folded(std::vector<axis> axes) {
  std::stable_sort(axes.begin(), axes.end(),
                   [](const axis& a, const axis& b) { return std::abs(a.dst_stride) > std::abs(b.dst_stride); });
  std::vector<axis> made;
  for (const axis& inner : axes) {
    if (!made.empty()) {
      axis& outer = made.back();
      const std::int64_t n = inner.extent;
      const auto continues = [n](std::int64_t of_outer, std::int64_t of_inner) {
        std::int64_t product = 0;
        return !__builtin_mul_overflow(of_inner, n, &product) && product == of_outer;
      };
      if (continues(outer.src_stride, inner.src_stride) && continues(outer.dst_stride, inner.dst_stride) &&
          continues(outer.second_stride, inner.second_stride)) {
        outer = {outer.extent * n, inner.src_stride, inner.dst_stride, inner.second_stride};
        continue;
      }
    }
    made.push_back(inner);
  }
  return made;
}

// In place an outer axis is one that the permutation leaves where it is.
void set_axes(pieces& made, std::vector<axis> axes, bool in_place = false) {
  if (static_cast<int>(axes.size()) > max_rank) axes = folded(std::move(axes));
  for (auto one = axes.begin(); one != axes.end() && static_cast<int>(axes.size()) > max_rank;) {
    if (in_place && one->src_stride != one->dst_stride) {
      ++one;
      continue;
    }
    made.outer.push_back(*one);
    one = axes.erase(one);
  }
  made.what.rank = static_cast<int>(axes.size());
  std::copy(axes.begin(), axes.end(), made.what.axes.begin());
}

// Returns true for a row-major array without gaps. Requires a non-empty x.
bool is_packed(const view& x) {
  std::int64_t bytes = x.element_bytes;
  for (int k = x.rank - 1; k >= 0; --k) {
    if (x.extents[k] != 1 && stride(x, k) != bytes) return false;
    bytes *= x.extents[k];
  }
  return true;
}

}  // namespace

std::string shape_text(int rank, const std::int64_t* extents, const axis_list* axes) {
  std::string text = "(";
  for (int k = 0; k < rank; ++k) {
    text += std::to_string(extents[axes != nullptr ? axes->at[k] : k]) + (k + 1 < rank ? ", " : rank == 1 ? "," : "");
  }
  return text + ")";
}

std::int64_t bytes_of(const view& x) {
  std::int64_t bytes = x.element_bytes;
  for (int k = 0; k < x.rank; ++k) {
    if (x.extents[k] == 0) return 0;
    if (__builtin_mul_overflow(bytes, x.extents[k], &bytes)) {
      const bool is_empty = std::find(x.extents + k, x.extents + x.rank, 0) != x.extents + x.rank;
      if (is_empty) return 0;
      refuse(status::overflow, "x has 2^63 bytes or more");
    }
  }
  return bytes;
}

bool has_shape(const view& x, const axis_list& axes, const view& out) {
  bool same = axes.count == x.rank && x.rank == out.rank;
  for (int k = 0; same && k < x.rank; ++k) same = out.extents[k] == x.extents[axes.at[k]];
  return same;
}

void check_shape(const view& x, const axis_list& axes, const view& out, const char* name) {
  if (axes.count != x.rank) refuse(status::invalid_argument, "x has other axes than before this call looked at them");
  if (has_shape(x, axes, out)) return;
  refuse(status::invalid_argument, std::string(name) + " has shape " + shape_text(out.rank, out.extents) + ", wanted " +
                                       shape_text(x.rank, x.extents, &axes));
}

namespace {

void check_address(const view& x, const char* name) {
  if (x.data != nullptr) return;
  refuse(status::invalid_argument,
         std::string(name) + " has elements, but no memory. Wanted: an array whose memory exists");
}

pieces pieces_of_elements(const view& x, const axis_list& axes, const view* out, bool in_place = false) {
  pieces pieces;
  problem& made = pieces.what;
  // 1. The unit: every stride is a multiple of it.
  std::int64_t unit = x.element_bytes;
  const auto divide = [&](const view& of) {
    if (of.strides == nullptr || of.stride_bytes == of.element_bytes) return;
    for (int k = 0; k < of.rank; ++k) {
      if (of.extents[k] > 1 && of.strides[k] % unit != 0) unit = std::gcd(unit, stride(of, k));
    }
  };
  divide(x);
  if (out != nullptr) divide(*out);
  made.element_bytes = unit;
  // 2. The axes longer than 1.
  int longer = unit < x.element_bytes ? 1 : 0;
  for (int k = 0; k < x.rank; ++k) longer += x.extents[k] != 1;
  std::vector<axis> many(longer > max_rank ? longer : 0);
  axis* const all = many.empty() ? made.axes.data() : many.data();
  made.rank = longer;
  int position = longer;
  std::int64_t packed = x.element_bytes;
  if (unit < x.element_bytes) all[--position] = {.extent = x.element_bytes / unit, .src_stride = 1, .dst_stride = 1};
  for (int k = x.rank - 1; k >= 0; --k) {
    const int from = axes.at[k];
    const std::int64_t extent = x.extents[from];
    if (extent == 1) continue;
    all[--position] = {.extent = extent,
                       .src_stride = stride(x, from) / unit,
                       .dst_stride = (out == nullptr ? packed : stride(*out, k)) / unit};
    if (out == nullptr) packed = checked_product(packed, extent);
  }
  // 3. Fewer axes, if there are too many.
  if (!many.empty()) set_axes(pieces, std::move(many), in_place);
  return pieces;
}

problem empty_problem(const view& x) {
  return {.element_bytes = std::max<std::int64_t>(x.element_bytes, 1), .rank = 1, .axes = {axis{0, 1, 1}}};
}

}  // namespace

problem make_problem(const view& x, const axis_list& axes, const view* out) {
  if (bytes_of(x) == 0) return empty_problem(x);
  const pieces made = pieces_of_elements(x, axes, out);
  if (!made.outer.empty()) {
    refuse(status::invalid_argument, "x has " + std::to_string(max_rank + made.outer.size()) +
                                         " axes longer than 1 that do not fold, wanted 16 or fewer for a plan or a "
                                         "batch. The functions take more");
  }
  return made.what;
}

void check_fits(const planned& held, const problem& what, const view& x) {
  if (what == held.what) return;
  const auto text = [](int rank, const std::int64_t* extents, std::int64_t bytes) {
    return "shape " + shape_text(rank, extents) + " and elements of " + std::to_string(bytes) +
           (bytes == 1 ? " byte" : " bytes");
  };
  const std::string found = text(x.rank, x.extents, x.element_bytes);
  const std::string wanted = text(static_cast<int>(held.extents.size()), held.extents.data(), held.element_bytes);
  refuse(status::invalid_argument, "the arrays do not fit the plan: x has " + found +
                                       (found == wanted ? ", and x or out has other strides than the plan's"
                                                        : ", but the plan is for " + wanted));
}

void run(const view& x, const axis_list& axes, const view& out, const execution& how) {
  const std::int64_t bytes = checked_bytes(x);
  if (out.is_read_only) refuse(status::invalid_argument, "out is read-only");
  if (bytes != 0 && x.element_bytes != out.element_bytes) {
    refuse(status::invalid_argument, "the elements of out and x have " + std::to_string(out.element_bytes) + " and " +
                                         std::to_string(x.element_bytes) + " bytes. Wanted: equal sizes");
  }
  const pieces what = bytes == 0 ? pieces{.what = empty_problem(x)} : pieces_of_elements(x, axes, &out);
  if (how.held != nullptr) check_fits(*how.held, what.outer.empty() ? what.what : problem{}, x);
  if (bytes == 0) return;
  check_address(x, "x");
  check_address(out, "out");
  execute_unlocked(what, {.src = x.data, .dst = out.data}, bytes, x.where, how);
}

namespace {

// Returns whether two axes longer than 1 have opposite stride orders in src and dst. Axes of stride 0 are ignored.
bool orders_differ(const view& dst, const view& src) {
  for (int j = 0; j < src.rank; ++j) {
    for (int k = 0; k < src.rank; ++k) {
      if (src.extents[j] > 1 && src.extents[k] > 1 && src.strides[j] > src.strides[k] && src.strides[k] > 0 &&
          dst.strides[j] < dst.strides[k]) {
        return true;
      }
    }
  }
  return false;
}

// Bytes of a run that is contiguous in memory.
std::int64_t run_bytes(const view& x) {
  std::int64_t run = x.element_bytes;
  for (int k = 0; k < x.rank; ++k) {
    if (x.extents[k] == 1 || stride(x, k) != run) continue;
    run *= x.extents[k];
    k = -1;
  }
  return run;
}

// The extent of the axis whose elements are nearest to each other.
std::int64_t nearest_extent(const view& x) {
  std::int64_t extent = 1, step = 0;
  for (int k = 0; k < x.rank; ++k) {
    const std::int64_t bytes = std::abs(stride(x, k));
    if (x.extents[k] == 1 || bytes == 0 || (step != 0 && bytes >= step)) continue;
    extent = x.extents[k];
    step = bytes;
  }
  return extent;
}

// Returns whether src has several elements of dst at one address.
bool repeats(const view& src) {
  for (int k = 0; k < src.rank; ++k) {
    if (src.extents[k] > 1 && stride(src, k) == 0) return true;
  }
  return false;
}

// True where a copy is hardly ever slower than the framework's own. Random permuted views, of which most have steps or gaps:
//   CPU  750 of 64 KiB to 32 MiB, PyTorch, one thread against one: 166 with long runs are 4.9 times as fast, three of them 0.82
//        to 0.91 times. 43 others that are taken are 2.8 times as fast, at worst 1.03. 541 are left to PyTorch: 149 of them would
//        lose, at worst 0.07 (Intel Xeon, model 207, 2026-11-27)
//   GPU  200 of 64 KiB to 180 MiB, PyTorch 2.11: 90 that are taken are 1.47 times as fast, one of 8 microseconds 0.87 times, no
//        other below 0.95. 110 are left to PyTorch: 16 of them would lose, at worst 0.17 (H200, 2026-11-27)
bool gains(const view& dst, const view& src) {
  const bool on_gpu = src.where != memory_kind::host;
  const std::int64_t line = on_gpu ? 32 : 64;  // bytes: a sector of a GPU
  constexpr std::int64_t long_axis = 32;
  if (run_bytes(dst) < line || (on_gpu && repeats(src))) return false;
  return run_bytes(src) >= line ||
         ((on_gpu || src.element_bytes <= 2) && nearest_extent(src) >= long_axis && nearest_extent(dst) >= long_axis);
}

std::int64_t in_elements(std::int64_t bytes, std::int64_t element_bytes, const char* name) {
  if (bytes % element_bytes == 0) return bytes / element_bytes;
  refuse(status::invalid_argument, std::string(name) + " has a stride of " + std::to_string(bytes) +
                                       " bytes, which is no multiple of its elements of " +
                                       std::to_string(element_bytes) + " bytes. Wanted: a multiple, for arithmetic");
}

// The dtype was read before the memory, and a class can change it between the two.
void check_size(const view& x, element_type type, const char* name) {
  if (x.element_bytes == bytes_of(type)) return;
  refuse(status::invalid_argument, std::string(name) + " has elements of " + std::to_string(x.element_bytes) +
                                       " bytes, wanted " + std::to_string(bytes_of(type)) + " bytes of a " +
                                       cornerturn::name(type));
}

// The field math.alpha of a problem is the argument alpha.
std::string in_words_of_python(std::string sentence) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"math converts", "dtype converts"}, {"math.src is", "x is"}, {"math.", ""}, {"float8_e4m3 ", "float8_e4m3fn "}};
  for (const auto& [of_library, of_python] : words) {
    for (std::size_t at = 0; (at = sentence.find(of_library, at)) != std::string::npos; at += of_python.size())
      sentence.replace(at, of_library.size(), of_python);
  }
  return sentence;
}

}  // namespace

bool copy_permuted(const view& dst, const view& src, const execution& how) {
  constexpr std::int64_t fewest_bytes = 1 << 16;  // the checks take longer than a shorter copy
  if (src.rank != dst.rank || src.rank > max_rank || src.element_bytes != dst.element_bytes || src.where != dst.where)
    return false;
  std::int64_t bytes = src.element_bytes;
  for (int k = 0; k < src.rank; ++k) {
    if (src.extents[k] != dst.extents[k] || __builtin_mul_overflow(bytes, src.extents[k], &bytes)) return false;
  }
  if (bytes < fewest_bytes || !orders_differ(dst, src)) return false;
  axis_list axes{.count = src.rank, .at = {}};
  std::iota(axes.at.begin(), axes.at.begin() + axes.count, 0);
  try {
    if (!gains(dst, src)) return false;
    run(src, axes, dst, how);
  } catch (const error&) {  // such as a src that overlaps dst: the framework's own kernel handles it
    return false;
  }
  return true;
}

void run_arithmetic(const arithmetic_arrays& all, const axis_list& axes, const arithmetic& math, const execution& how) {
  const auto& [x, out, second, scale] = all;
  check_size(x, math.src, "x");
  check_size(out, math.dst, "out");
  if (second) check_size(*second, math.dst, "second");
  if (scale && bytes_of(*scale) != sizeof(float))
    refuse(status::invalid_argument, "scale has " + std::to_string(bytes_of(*scale)) + " bytes, wanted one float32");
  check_shape(x, axes, out, "out");
  if (second) check_shape(x, axes, *second, "second");
  const std::int64_t bytes = checked_bytes(x);
  if (out.is_read_only) refuse(status::invalid_argument, "out is read-only");
  if (bytes == 0) return;
  static_cast<void>(checked_bytes(out));
  check_address(x, "x");
  check_address(out, "out");
  if (second) check_address(*second, "second");
  pieces what{.what = {.element_bytes = x.element_bytes, .math = math}};
  std::vector<axis> longer;
  longer.reserve(static_cast<std::size_t>(out.rank));
  for (int k = 0; k < out.rank; ++k) {
    if (out.extents[k] == 1) continue;
    longer.push_back({.extent = out.extents[k],
                      .src_stride = in_elements(stride(x, axes.at[k]), x.element_bytes, "x"),
                      .dst_stride = in_elements(stride(out, k), out.element_bytes, "out"),
                      .second_stride = second ? in_elements(stride(*second, k), second->element_bytes, "second") : 0});
  }
  set_axes(what, std::move(longer));
  const operands arrays{.src = x.data,
                        .dst = out.data,
                        .second = second ? second->data : nullptr,
                        .scale = scale ? static_cast<const float*>(scale->data) : nullptr};
  try {
    execute_unlocked(what, arrays, bytes, x.where, how);
  } catch (const error& found) {
    refuse(found.code(), in_words_of_python(found.what()));
  }
}

bool changes_shape(const view& at) {
  if (at.rank < 2) static_cast<void>(resolve({}, at.rank));  // refuses it
  if (at.extents[at.rank - 1] == at.extents[at.rank - 2]) return false;
  if (bytes_of(at) == 0 || is_packed(at)) return true;
  refuse(status::invalid_argument,
         "x has shape " + shape_text(at.rank, at.extents) +
             " and is not C-contiguous. Wanted: C-contiguous, or equal extents of the last two axes");
}

nb::tuple transposed_shape(const view& x) { return to_tuple(resolve({}, x.rank), x.extents); }

void run_in_place(const view& at, const execution& how) {
  if (at.is_read_only) refuse(status::invalid_argument, "x is read-only");
  const bool is_square = !changes_shape(at);
  const std::int64_t bytes = checked_bytes(at);
  if (bytes == 0) return;
  check_address(at, "x");
  pieces what = pieces_of_elements(at, resolve({}, at.rank), is_square ? &at : nullptr, true);
  what.what.in_place = true;
  execute_unlocked(what, {.src = at.data, .dst = at.data}, bytes, at.where, how);
}

void* stream_of(nb::handle stream) {
  if (stream.is_none()) return nullptr;
  nb::object number = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    const nb::object pair = until_exit([&] { return nb::object(stream.attr("__cuda_stream__")()); });
    number = PyTuple_Check(pair.ptr()) != 0 && PyTuple_Size(pair.ptr()) == 2
                 ? nb::borrow(PyTuple_GetItem(pair.ptr(), 1))
                 : nb::none();
  } else if (!PyIndex_Check(stream.ptr())) {
    for (const char* name : {"cuda_stream", "ptr", "handle"}) {
      if (!nb::hasattr(stream, name)) continue;
      number = stream.attr(name);
      break;
    }
  }
  if (const nb::object value = nb::steal(PyNumber_Index(number.ptr())); value.is_valid()) {
    const unsigned long long found = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred() == nullptr)
      return reinterpret_cast<void*>(static_cast<std::uintptr_t>(found));  // NOLINT(performance-no-int-to-ptr)
    PyErr_Clear();
    refuse(status::invalid_argument, "stream is " + text_of(value) + ", wanted a handle from 0 to 2^64 - 1");
  }
  PyErr_Clear();
  throw nb::type_error(("stream is a " + kind_of(stream) +
                        ". Wanted: None, an integer, or a stream of PyTorch or CuPy, or an object with __cuda_stream__")
                           .c_str());
}

}  // namespace cornerturn::python
