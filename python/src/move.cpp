#include "move.hpp"

#include <pthread.h>

#include <atomic>
#include <numeric>

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

void execute(const problem& what, const void* src, void* dst, void* stream, const view& x, const planned* held) {
  try {
    if (src == dst && !what.in_place) refuse(status::overlap, "Wanted: transpose_inplace_ for one array");
    if (is_forked_child && x.where == memory_kind::host) {
      plan(what, {.on = device::cpu, .threads = 1}).execute(src, dst);
    } else if (held != nullptr) {
      held->how.execute(src, dst, stream);
    } else {
      move(what, src, dst, stream);
    }
  } catch (const error& found) {
    if (found.code() != status::overlap) throw;
    refuse(status::overlap, (what.in_place ? "elements of x share memory, wanted separate elements. "
                                           : "x and out share memory, wanted separate arrays. ") +
                                std::string(found.what()));
  }
}

// A long copy releases the interpreter lock.
void execute_long(const problem& what, std::int64_t bytes, const view& x, void* dst, void* stream,
                  const planned* held) {
  if (bytes < long_move_bytes) return execute(what, x.data, dst, stream, x, held);
  const nb::gil_scoped_release released;
  execute(what, x.data, dst, stream, x, held);
}

std::int64_t checked_bytes(const view& x) {
  std::int64_t bytes = x.element_bytes;
  for (int k = 0; k < x.rank; ++k) bytes = checked_product(bytes, x.extents[k]);
  if (x.where == memory_kind::cuda) check_cuda();
  return bytes;
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

void check_shape(const view& x, const axis_list& axes, const view& out) {
  bool same = x.rank == out.rank;
  for (int k = 0; same && k < x.rank; ++k) same = out.extents[k] == x.extents[axes.at[k]];
  if (same) return;
  refuse(status::invalid_argument,
         "out has shape " + shape_text(out.rank, out.extents) + ", wanted " + shape_text(x.rank, x.extents, &axes));
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
  if (longer > max_rank) {
    refuse(status::invalid_argument, "x has " + std::to_string(longer) + " axes longer than 1, wanted 16 or fewer");
  }
  made.rank = longer;
  int position = longer;
  std::int64_t packed = x.element_bytes;
  if (unit < x.element_bytes)
    made.axes[--position] = {.extent = x.element_bytes / unit, .src_stride = 1, .dst_stride = 1};
  for (int k = x.rank - 1; k >= 0; --k) {
    const int from = axes.at[k];
    const std::int64_t extent = x.extents[from];
    if (extent == 1) continue;
    made.axes[--position] = {.extent = extent,
                             .src_stride = stride(x, from) / unit,
                             .dst_stride = (out == nullptr ? packed : stride(*out, k)) / unit};
    if (out == nullptr) packed = checked_product(packed, extent);
  }
  return made;
}

void run(const view& x, const axis_list& axes, const view& out, void* stream, const planned* held) {
  const std::int64_t bytes = checked_bytes(x);
  if (bytes == 0) return;
  const problem what = make_problem(x, axes, &out);
  if (held != nullptr && what != held->what) {
    refuse(status::invalid_argument, "the arrays do not fit the plan: x has shape " + shape_text(x.rank, x.extents) +
                                         " and elements of " + std::to_string(x.element_bytes) +
                                         " bytes. Wanted: the shape, element size and strides of the plan's x and out");
  }
  execute_long(what, bytes, x, out.data, stream, held);
}

nb::object transpose_in_place(nb::handle x, const view& at, void* stream) {
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
  execute_long(what, bytes, at, at.data, stream, nullptr);
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
