#include "jax.hpp"

#include <algorithm>
#include <string>

#include "axes.hpp"
#include "cornerturn/cornerturn.hpp"
#include "move.hpp"
#include "xla/ffi/api/ffi.h"

namespace cornerturn::python::jax {
namespace {

namespace nb = nanobind;
namespace ffi = xla::ffi;

ffi::Error permute(void* stream, ffi::Span<const std::int64_t> axes, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  try {
    const auto extents = x.dimensions();
    if (extents.size() > most_axes) return ffi::Error::InvalidArgument("cornerturn: x has more than 64 axes");
    axis_list order{.count = static_cast<int>(extents.size()), .at = {}};
    std::copy(axes.begin(), axes.end(), order.at.begin());
    const view packed{.element_bytes = static_cast<std::int64_t>(ffi::ByteWidth(x.element_type())),
                      .rank = order.count,
                      .extents = extents.begin()};
    move(make_problem(packed, order), x.untyped_data(), y->untyped_data(), stream);
    return ffi::Error::Success();
  } catch (const std::exception& found) {
    return ffi::Error::Internal(std::string("cornerturn: ") + found.what());
  }
}

ffi::Error permute_on_cpu(ffi::Span<const std::int64_t> axes, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  return permute(nullptr, axes, x, y);
}

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
  found["CUDA"] = capsule(cuda_handler);
  return found;
}

}  // namespace cornerturn::python::jax
