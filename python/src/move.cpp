#include "move.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace cornerturn::python {
namespace {

[[noreturn]] void refuse(status code, const std::string& sentence) { throw error(code, sentence); }

// Shorter copies keep the interpreter lock: its release and reacquisition would cost as much as the copy.
constexpr std::int64_t long_move_bytes = 1 << 16;

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) refuse(status::overflow, "x has 2^63 bytes or more");
  return product;
}

// Returns the stride of an axis in bytes.
std::int64_t stride(const view& of, int axis) {
  if (of.strides != nullptr) return of.strides[axis] * of.stride_bytes;
  std::int64_t bytes = of.element_bytes;
  for (int k = of.rank - 1; k > axis; --k) bytes *= of.extents[k];
  return bytes;
}

// fork() does not copy the OpenMP team: a child that used it would deadlock.
std::atomic<bool> is_forked_child{false};
const int watch_forks = pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });

}  // namespace

bool is_forked() noexcept { return is_forked_child; }

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
  refuse(status::overlap, "x and out share memory, wanted separate arrays. " + std::string(found.what()));
}

void execute(const problem& what, const operands& all, memory_kind where, const execution& how) {
  try {
    if (all.src == all.dst && !what.in_place) refuse(status::overlap, "Wanted: transpose_inplace_ for one array");
    const int threads = is_forked_child ? 1 : how.threads;
    if (threads != 0 && where == memory_kind::host) {
      plan(what, {.on = device::cpu, .threads = threads}).execute(all);
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
  if (bytes < long_move_bytes) return execute(what, all, where, how);
  const nb::gil_scoped_release released;
  execute(what, all, where, how);
}

std::int64_t checked_bytes(const view& x) {
  std::int64_t bytes = x.element_bytes;
  for (int k = 0; k < x.rank; ++k) bytes = checked_product(bytes, x.extents[k]);
  if (x.where == memory_kind::cuda) check_cuda();
  return bytes;
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
      if (outer.src_stride == inner.src_stride * n && outer.dst_stride == inner.dst_stride * n &&
          outer.second_stride == inner.second_stride * n) {
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

std::string kind_of(nb::handle object) {
  const nb::handle type = object.type();
  const std::string module = nb::str(type.attr("__module__")).c_str();
  const std::string name = nb::str(type.attr("__name__")).c_str();
  return module == "builtins" ? name : module + "." + name;
}

void check_shape(const view& x, const axis_list& axes, const view& out, const char* name) {
  bool same = x.rank == out.rank;
  for (int k = 0; same && k < x.rank; ++k) same = out.extents[k] == x.extents[axes.at[k]];
  if (same) return;
  refuse(status::invalid_argument, std::string(name) + " has shape " + shape_text(out.rank, out.extents) + ", wanted " +
                                       shape_text(x.rank, x.extents, &axes));
}

problem make_problem(const view& x, const axis_list& axes, const view* out) {
  problem made;
  // 1. The unit: every stride is a multiple of it.
  std::int64_t unit = x.element_bytes;
  const auto divide = [&](const view& of) {
    if (of.strides == nullptr || of.stride_bytes == of.element_bytes) return;
    for (int k = 0; k < of.rank; ++k) {
      if (of.extents[k] > 1 && of.strides[k] % unit != 0) unit = std::gcd(unit, of.strides[k]);
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
  // 3. Fewer axes, if there are too many. An empty array needs no more than one.
  if (!many.empty()) {
    if (std::any_of(many.begin(), many.end(), [](const axis& one) { return one.extent == 0; })) many = {axis{0, 1, 1}};
    set_axes(made, std::move(many));
  }
  return made;
}

void run(const view& x, const axis_list& axes, const view& out, const execution& how) {
  const std::int64_t bytes = checked_bytes(x);
  if (bytes == 0) return;
  const problem what = make_problem(x, axes, &out);
  if (how.held != nullptr && what != how.held->what) {
    refuse(status::invalid_argument, "the arrays do not fit the plan: x has shape " + shape_text(x.rank, x.extents) +
                                         " and an element size of " + std::to_string(x.element_bytes) +
                                         ". Wanted: the shape, element size and strides of the plan's x and out");
  }
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

bool copy_permuted(const view& dst, const view& src, void* stream) {
  constexpr std::int64_t fewest_bytes = 1 << 16;  // the checks take longer than a shorter copy
  if (src.rank != dst.rank || src.rank > max_rank || src.element_bytes != dst.element_bytes || src.where != dst.where)
    return false;
  std::int64_t bytes = src.element_bytes;
  for (int k = 0; k < src.rank; ++k) {
    if (src.extents[k] != dst.extents[k]) return false;
    bytes *= src.extents[k];
  }
  if (bytes < fewest_bytes || !orders_differ(dst, src)) return false;
  axis_list axes{.count = src.rank, .at = {}};
  std::iota(axes.at.begin(), axes.at.begin() + axes.count, 0);
  try {
    run(src, axes, dst, {.stream = stream});
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
  if (bytes == 0) return;
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

nb::object transpose_in_place(nb::handle x, const view& at, const execution& how) {
  const axis_list axes = resolve({}, at.rank);
  const std::int64_t bytes = checked_bytes(at);
  const bool square = at.extents[at.rank - 1] == at.extents[at.rank - 2];
  if (!square && bytes != 0 && !is_packed(at)) {
    refuse(status::invalid_argument,
           "x has shape " + shape_text(at.rank, at.extents) +
               " and is not C-contiguous. Wanted: C-contiguous, or equal extents of the last two axes");
  }
  nb::object result = nb::borrow(x);
  if (!square) result = x.attr("reshape")(to_tuple(axes, at.extents));
  if (bytes == 0) return result;
  problem what = make_problem(at, axes, square ? &at : nullptr);
  what.in_place = true;
  execute_long(what, {.src = at.data, .dst = at.data}, bytes, at.where, how);
  return result;
}

void* stream_of(nb::handle stream) {
  if (stream.is_none()) return nullptr;
  nb::object number = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    number = nb::object(stream.attr("__cuda_stream__")())[1];
  } else if (!PyIndex_Check(stream.ptr())) {
    for (const char* name : {"cuda_stream", "ptr", "handle"}) {
      if (!nb::hasattr(stream, name)) continue;
      number = stream.attr(name);
      break;
    }
  }
  if (PyObject* const value = PyNumber_Index(number.ptr()); value != nullptr) {
    void* const found = PyLong_AsVoidPtr(value);
    Py_DECREF(value);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return found;
  }
  PyErr_Clear();
  throw nb::type_error(("stream is a " + kind_of(stream) +
                        ". Wanted: None, an integer, or a stream of PyTorch or CuPy, or an object with __cuda_stream__")
                           .c_str());
}

}  // namespace cornerturn::python
