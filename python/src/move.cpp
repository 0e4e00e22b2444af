#include "move.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
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
    static_cast<void>(plan(what, {.on = device::cpu}));
  } catch (const error& of_out) {
    if (of_out.code() == status::overlap)
      refuse(status::overlap, "elements of out share memory, wanted separate elements. " + std::string(of_out.what()));
  }
  const std::string sentence = found.what();
  const bool blames_second = sentence.find("second overlap") != std::string::npos;
  refuse(status::overlap,
         std::string(blames_second ? "second" : "x") + " and out share memory, wanted separate arrays. " + sentence);
}

void execute(const problem& what, const operands& all, memory_kind where, const execution& how) {
  try {
    if (all.src == all.dst && !what.in_place) refuse(status::overlap, "Wanted: transpose_inplace_ for one array");
    if (how.threads != 0 && where == memory_kind::host) {
      move(what, all, plan_options{.on = device::cpu, .threads = how.threads});
    } else if (how.held != nullptr) {
      how.held->how.execute(all, how.stream);
    } else {
      move(what, all, how.stream);
    }
  } catch (const error& found) {
    if (found.code() != status::overlap) throw;
    refuse_overlap(what, found);
  }
}

// A long copy releases the interpreter lock.
void execute_long(const problem& what, const operands& all, std::int64_t bytes, memory_kind where,
                  const execution& how) {
  if (bytes < long_move_bytes || !how.has_lock) return execute(what, all, where, how);
  without_lock([&] { execute(what, all, where, how); });
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

void set_axes(problem& made, std::vector<axis> axes) {
  if (static_cast<int>(axes.size()) > max_rank) axes = folded(std::move(axes));
  if (static_cast<int>(axes.size()) > max_rank) {
    refuse(status::invalid_argument,
           "x has " + std::to_string(axes.size()) + " axes longer than 1 that do not fold, wanted 16 or fewer");
  }
  made.rank = static_cast<int>(axes.size());
  std::copy(axes.begin(), axes.end(), made.axes.begin());
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

void check_shape(const view& x, const axis_list& axes, const view& out, const char* name) {
  if (axes.count != x.rank) refuse(status::invalid_argument, "x has other axes than before this call looked at them");
  bool same = x.rank == out.rank;
  for (int k = 0; same && k < x.rank; ++k) same = out.extents[k] == x.extents[axes.at[k]];
  if (same) return;
  refuse(status::invalid_argument, std::string(name) + " has shape " + shape_text(out.rank, out.extents) + ", wanted " +
                                       shape_text(x.rank, x.extents, &axes));
}

namespace {

void check_address(const view& x, const char* name) {
  if (x.data != nullptr) return;
  refuse(status::invalid_argument,
         std::string(name) + " has elements, but no memory. Wanted: an array whose memory exists");
}

problem problem_of_elements(const view& x, const axis_list& axes, const view* out) {
  problem made;
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
  if (!many.empty()) set_axes(made, std::move(many));
  return made;
}

problem empty_problem(const view& x) {
  return {.element_bytes = std::max<std::int64_t>(x.element_bytes, 1), .rank = 1, .axes = {axis{0, 1, 1}}};
}

}  // namespace

problem make_problem(const view& x, const axis_list& axes, const view* out) {
  return bytes_of(x) == 0 ? empty_problem(x) : problem_of_elements(x, axes, out);
}

void check_fits(const planned& held, const problem& what, const view& x) {
  if (what == held.what) return;
  refuse(status::invalid_argument, "the arrays do not fit the plan: x has shape " + shape_text(x.rank, x.extents) +
                                       " and an element size of " + std::to_string(x.element_bytes) +
                                       ". Wanted: the shape, element size and strides of the plan's x and out");
}

void run(const view& x, const axis_list& axes, const view& out, const execution& how) {
  const std::int64_t bytes = checked_bytes(x);
  if (out.is_read_only) refuse(status::invalid_argument, "out is read-only");
  if (bytes != 0 && x.element_bytes != out.element_bytes) {
    refuse(status::invalid_argument, "the elements of out and x have " + std::to_string(out.element_bytes) + " and " +
                                         std::to_string(x.element_bytes) + " bytes. Wanted: equal sizes");
  }
  const problem what = bytes == 0 ? empty_problem(x) : problem_of_elements(x, axes, &out);
  if (how.held != nullptr) check_fits(*how.held, what, x);
  if (bytes == 0) return;
  check_address(x, "x");
  check_address(out, "out");
  execute_long(what, {.src = x.data, .dst = out.data}, bytes, x.where, how);
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

std::int64_t in_elements(std::int64_t bytes, std::int64_t element_bytes, const char* name) {
  if (bytes % element_bytes == 0) return bytes / element_bytes;
  refuse(status::invalid_argument, std::string(name) + " has a stride of " + std::to_string(bytes) +
                                       " bytes, which is no multiple of its elements of " +
                                       std::to_string(element_bytes) + " bytes. Wanted: a multiple, for arithmetic");
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
    run(src, axes, dst, how);
  } catch (const error&) {  // such as a src that overlaps dst: the framework's own kernel handles it
    return false;
  }
  return true;
}

void run_arithmetic(const view& x, const axis_list& axes, const view& out, const view* second, const arithmetic& math,
                    const float* scale, const execution& how) {
  check_shape(x, axes, out, "out");
  if (second != nullptr) check_shape(x, axes, *second, "second");
  const std::int64_t bytes = checked_bytes(x);
  if (out.is_read_only) refuse(status::invalid_argument, "out is read-only");
  if (bytes == 0) return;
  static_cast<void>(checked_bytes(out));
  check_address(x, "x");
  check_address(out, "out");
  if (second != nullptr) check_address(*second, "second");
  problem what{.element_bytes = x.element_bytes, .math = math};
  std::vector<axis> longer;
  for (int k = 0; k < out.rank; ++k) {
    if (out.extents[k] == 1) continue;
    longer.push_back(
        {.extent = out.extents[k],
         .src_stride = in_elements(stride(x, axes.at[k]), x.element_bytes, "x"),
         .dst_stride = in_elements(stride(out, k), out.element_bytes, "out"),
         .second_stride = second == nullptr ? 0 : in_elements(stride(*second, k), second->element_bytes, "second")});
  }
  set_axes(what, std::move(longer));
  const operands all{
      .src = x.data, .dst = out.data, .second = second == nullptr ? nullptr : second->data, .scale = scale};
  try {
    execute_long(what, all, bytes, x.where, how);
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
  problem what = problem_of_elements(at, resolve({}, at.rank), is_square ? &at : nullptr);
  what.in_place = true;
  execute_long(what, {.src = at.data, .dst = at.data}, bytes, at.where, how);
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
