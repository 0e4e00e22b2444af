#include "api/place.hpp"

#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::api {
namespace {

using gpu::memory;

std::string text(const gpu::location& where) {
  switch (where.kind) {
    case memory::pageable:
      return "host memory that no GPU can reach";
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

int place_of_call(device on, const gpu::location& src, const gpu::location& dst) {
  const auto either = [&](memory kind) { return src.kind == kind || dst.kind == kind; };
  if (either(memory::device)) {
    if (on == device::cpu) refuse(src, dst, "host memory on both sides, for the device is cpu");
    if (either(memory::pageable)) refuse(src, dst, "both on one GPU, or both on the host");
    if (src.kind == dst.kind && src.device != dst.device) refuse(src, dst, "both on one GPU");
    return src.kind == memory::device ? src.device : dst.device;
  }
  if (on == device::cpu) return on_cpu;
  if (on == device::cuda) {
    if (either(memory::pageable)) refuse(src, dst, "memory that a GPU can reach, for the device is cuda");
    return on_current_gpu;
  }
  if (!either(memory::managed)) return on_cpu;
  if (either(memory::pageable)) refuse(src, dst, "device cpu, or memory that a GPU can reach on both sides");
  return on_current_gpu;
}

void check_place(int place, const char* what, const gpu::location& where) {
  const bool reached = place == on_cpu                ? where.kind != memory::device
                       : where.kind == memory::device ? where.device == place
                                                      : where.kind != memory::pageable;
  if (reached) return;
  throw error(status::invalid_argument,
              std::string(what) + " is " + text(where) + ", but the move runs on " +
                  (place == on_cpu ? std::string("the CPU. Wanted: host memory")
                                   : "GPU " + std::to_string(place) + ". Wanted: memory that it can reach"));
}

}  // namespace cornerturn::api
