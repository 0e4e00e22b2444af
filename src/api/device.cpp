#include "api/device.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "cornerturn/error.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::api {
namespace {

using gpu::memory;

std::string text(const gpu::location& where) {
  switch (where.kind) {
    case memory::pageable:
      return "host memory that no GPU can access";
    case memory::pinned:
      return "pinned host memory";
    case memory::managed:
      return "managed memory";
    case memory::device:
      return "memory of GPU " + std::to_string(where.device);
  }
  return "unknown memory";
}

[[noreturn]] void refuse(const gpu::location& src, const gpu::location& dst, const std::string& wanted) {
  throw error(status::invalid_argument, "src is " + text(src) + " and dst is " + text(dst) + ". Wanted: " + wanted);
}

}  // namespace

const char* name(device on) noexcept {
  switch (on) {
    case device::automatic:
      return "auto";
    case device::cpu:
      return "cpu";
    case device::cuda:
      return "cuda";
    case device::hip:
      return "hip";
  }
  return "unknown";
}

// A backend is absent if the list has no rows of it, or the machine has no device for it.
void check_device(device on, int threads) {
  if (on < device::automatic || on > device::hip) {
    throw error(status::invalid_argument, "device is " + std::to_string(static_cast<int>(on)) +
                                              ", which is no device. Wanted: auto, cpu, cuda or hip");
  }
  bool rows = on == device::automatic;
  for (const kernels::kernel& one : kernels::all()) {
    rows = rows || (kernels::is_present(one) && std::string_view(one.backend) == name(on));
  }
  if (!rows) {
    throw error(status::no_device, std::string("device is ") + name(on) + ", but this build has no " + name(on) +
                                       " kernels. Wanted: auto or cpu");
  }
  if (on == device::cuda && gpu::device_count() == 0) {
    throw error(status::no_device, "device is cuda, but " + gpu::why_none() + ". Wanted: auto or cpu");
  }
  if (threads < 0) {
    throw error(status::invalid_argument, "threads is " + std::to_string(threads) + ", wanted 0 (all) or more");
  }
}

int device_of_call(device on, const gpu::location& src, const gpu::location& dst) {
  const auto either = [&](memory kind) { return src.kind == kind || dst.kind == kind; };
  if (either(memory::device)) {
    if (on == device::cpu) refuse(src, dst, "host memory on both sides, because the device is cpu");
    if (either(memory::pageable)) refuse(src, dst, "both on one GPU, or both on the host");
    if (src.kind == dst.kind && src.device != dst.device) refuse(src, dst, "both on one GPU");
    return src.kind == memory::device ? src.device : dst.device;
  }
  if (on == device::cpu) return on_cpu;
  if (on == device::cuda) {
    if (either(memory::pageable)) refuse(src, dst, "memory that a GPU can access, because the device is cuda");
    return on_current_gpu;
  }
  if (!either(memory::managed)) return on_cpu;
  if (either(memory::pageable)) refuse(src, dst, "device cpu, or memory that a GPU can access on both sides");
  return on_current_gpu;
}

void check_apart(const void* src, const void* dst, const map::byte_span& src_span, const map::byte_span& dst_span,
                 const char* same) {
  const auto src_at = reinterpret_cast<std::uintptr_t>(src);
  const auto dst_at = reinterpret_cast<std::uintptr_t>(dst);
  if (src_at + src_span.lo >= dst_at + dst_span.hi || dst_at + dst_span.lo >= src_at + src_span.hi) return;
  throw error(status::overlap, "src and dst overlap: src spans bytes " + std::to_string(src_span.lo) + " to " +
                                   std::to_string(src_span.hi) + " from its pointer, dst " +
                                   std::to_string(dst_span.lo) + " to " + std::to_string(dst_span.hi) +
                                   ", and dst - src is " + std::to_string(static_cast<std::int64_t>(dst_at - src_at)) +
                                   " bytes" + (src == dst ? same : ""));
}

void check_access(int device, const char* what, const gpu::location& where) {
  const bool accessible = device == on_cpu               ? where.kind != memory::device
                          : where.kind == memory::device ? where.device == device
                                                         : where.kind != memory::pageable;
  if (accessible) return;
  throw error(status::invalid_argument,
              std::string(what) + " is " + text(where) + ", but the copy runs on " +
                  (device == on_cpu ? std::string("the CPU. Wanted: host memory")
                                    : "GPU " + std::to_string(device) + ". Wanted: memory that this GPU can access"));
}

}  // namespace cornerturn::api
