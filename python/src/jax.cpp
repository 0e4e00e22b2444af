#include "jax.hpp"

#include <string>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "xla/ffi/api/ffi.h"

namespace cornerturn::python::jax {
namespace {

namespace nb = nanobind;
namespace ffi = xla::ffi;

ffi::Error permute(void* stream, ffi::Span<const std::int64_t> axes, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  try {
    const std::vector<int> order(axes.begin(), axes.end());
    const auto extents = x.dimensions();
    const auto bytes = static_cast<std::int64_t>(ffi::ByteWidth(x.element_type()));
    move(permute_problem({extents.begin(), extents.size()}, order, bytes), x.untyped_data(), y->untyped_data(), stream);
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
