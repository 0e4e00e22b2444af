#include "jax.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"
#include "move.hpp"
#include "xla/ffi/api/ffi.h"

namespace cornerturn::python::jax {
namespace {

namespace nb = nanobind;
namespace ffi = xla::ffi;

// Returns the bytes of an element, or 0 for types with fewer bits than a byte and for types newer than this list.
std::int64_t element_bytes(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
    case ffi::DataType::S8:
    case ffi::DataType::U8:
    case ffi::DataType::F8E3M4:
    case ffi::DataType::F8E4M3:
    case ffi::DataType::F8E4M3FN:
    case ffi::DataType::F8E4M3B11FNUZ:
    case ffi::DataType::F8E4M3FNUZ:
    case ffi::DataType::F8E5M2:
    case ffi::DataType::F8E5M2FNUZ:
    case ffi::DataType::F8E8M0FNU:
      return 1;
    case ffi::DataType::S16:
    case ffi::DataType::U16:
    case ffi::DataType::F16:
    case ffi::DataType::BF16:
      return 2;
    case ffi::DataType::S32:
    case ffi::DataType::U32:
    case ffi::DataType::F32:
      return 4;
    case ffi::DataType::S64:
    case ffi::DataType::U64:
    case ffi::DataType::F64:
    case ffi::DataType::C64:
      return 8;
    case ffi::DataType::C128:
      return 16;
    default:
      return 0;
  }
}

[[noreturn]] void refuse(const std::string& sentence) { throw error(status::invalid_argument, sentence); }

axis_list checked_axes(ffi::Span<const std::int64_t> axes, std::size_t rank) {
  if (rank > most_axes) refuse("x has " + std::to_string(rank) + " axes, wanted 64 or fewer");
  if (axes.size() != rank) {
    refuse("axes has " + std::to_string(axes.size()) + " entries, but x has " + std::to_string(rank) +
           " axes. Wanted: one entry for each axis");
  }
  axis_list made{.count = static_cast<int>(rank), .at = {}};
  std::array<bool, most_axes> seen{};
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t axis = axes.begin()[k];
    const auto entry = [&] { return "axes[" + std::to_string(k) + "] is " + std::to_string(axis); };
    if (axis < 0 || axis >= made.count) refuse(entry() + ", wanted 0 to " + std::to_string(made.count - 1));
    if (seen[axis]) refuse(entry() + ", which repeats an axis");
    seen[axis] = true;
    made.at[k] = static_cast<int>(axis);
  }
  return made;
}

view packed(const ffi::AnyBuffer& of) {
  const auto extents = of.dimensions();
  return {.data = of.untyped_data(),
          .element_bytes = element_bytes(of.element_type()),
          .rank = static_cast<int>(extents.size()),
          .extents = extents.begin()};
}

// Any program can call this target, with any attributes and types.
ffi::Error permute(void* stream, ffi::Span<const std::int64_t> axes, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  try {
    const axis_list order = checked_axes(axes, x.dimensions().size());
    const view from = packed(x), to = packed(*y);
    if (from.element_bytes == 0) refuse("x has elements of an unknown size. Wanted: a type of 1, 2, 4, 8 or 16 bytes");
    if (x.element_type() != y->element_type())
      refuse("x and the result have different element types. Wanted: equal types");
    check_shape(from, order, to, "the result");
    run(from, order, to, {.stream = stream, .has_lock = false});
    return ffi::Error::Success();
  } catch (const error& found) {
    const std::string sentence = std::string("cornerturn: ") + found.what();
    return found.code() == status::invalid_argument ? ffi::Error::InvalidArgument(sentence)
                                                    : ffi::Error::Internal(sentence);
  } catch (const std::exception& found) {
    return ffi::Error::Internal(std::string("cornerturn: ") + found.what());
  }
}

ffi::Error permute_on_cpu(ffi::Span<const std::int64_t> axes, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  return permute(nullptr, axes, x, y);
}

// For JAX before 0.7.2: see jax.py. Too many axes stay too many.
ffi::Error permute_by_operand(ffi::AnyBuffer x, ffi::BufferR1<ffi::DataType::S32> axes, ffi::Result<ffi::AnyBuffer> y) {
  std::array<std::int64_t, most_axes + 1> order{};
  const std::size_t count = std::min(axes.element_count(), order.size());
  std::copy_n(axes.typed_data(), count, order.begin());
  return permute(nullptr, {order.data(), count}, x, y);
}

XLA_FFI_DEFINE_HANDLER(
    cpu_handler_by_operand, permute_by_operand,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::BufferR1<ffi::DataType::S32>>().Ret<ffi::AnyBuffer>());

XLA_FFI_DEFINE_HANDLER(
    cpu_handler, permute_on_cpu,
    ffi::Ffi::Bind().Attr<ffi::Span<const std::int64_t>>("axes").Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// The handler only launches kernels, so XLA may record it in a command buffer (a CUDA graph).
XLA_FFI_DEFINE_HANDLER(cuda_handler, permute,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .Attr<ffi::Span<const std::int64_t>>("axes")
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>(),
                       {ffi::Traits::kCmdBufferCompatible});

nb::capsule capsule(XLA_FFI_Error* (*handler)(XLA_FFI_CallFrame*)) {
  return nb::capsule(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET");
}

}  // namespace

nb::dict handlers() {
  nb::dict found;
  found["cpu"] = capsule(cpu_handler);
  found["cpu by operand"] = capsule(cpu_handler_by_operand);
  found["CUDA"] = capsule(cuda_handler);
  return found;
}

}  // namespace cornerturn::python::jax
