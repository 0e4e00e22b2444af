#include "api/device.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

#include "base/checked.hpp"
#include "cornerturn/error.hpp"

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

void check_enumerator(device on) {
  if (on >= device::automatic && on <= device::hip) return;
  throw error(status::invalid_argument, "device is " + std::to_string(static_cast<int>(on)) +
                                            ", which is no device. Wanted: auto, cpu, cuda or hip");
}

bool has_rows(device backend) noexcept {
  return std::ranges::any_of(kernels::all(), [backend](const kernels::kernel& row) {
    return kernels::is_present(row) && backend_of(row) == backend;
  });
}

// A backend is absent if the list has no rows of it, or the machine has no device for it.
void check_device(device on, int threads) {
  check_enumerator(on);
  if (on != device::automatic && !has_rows(on)) {
    throw error(status::no_device, std::string("device is ") + name(on) + ", but this build has no " + name(on) +
                                       " kernels. Wanted: auto or cpu");
  }
  if (is_gpu(on) && gpu::device_count() == 0) {
    throw error(status::no_device,
                std::string("device is ") + name(on) + ", but " + gpu::why_none() + ". Wanted: auto or cpu");
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
  if (is_gpu(on)) {
    if (either(memory::pageable)) {
      refuse(src, dst, std::string("memory that a GPU can access, because the device is ") + name(on));
    }
    return on_current_gpu;
  }
  if (!either(memory::managed)) return on_cpu;
  if (either(memory::pageable)) refuse(src, dst, "device cpu, or memory that a GPU can access on both sides");
  return on_current_gpu;
}

namespace {

// The elements of one side: bytes [0, word_bytes) after each sum of the strides.
struct lattice {
  std::uintptr_t lowest;  // address of the first byte
  std::uint64_t word_bytes;
  std::array<std::uint64_t, map::max_axes> strides{};  // magnitudes, in bytes
};

// Returns the bytes from the lowest to the highest one, after all axes whose stride is a multiple of `modulus` are dropped.
std::uint64_t span_within(const lattice& side, const map::canonical& form, std::uint64_t modulus) {
  std::uint64_t span = side.word_bytes;
  for (int k = 0; k < form.rank; ++k) {
    if (side.strides[k] % modulus != 0) span += static_cast<std::uint64_t>(form.axes[k].extent - 1) * side.strides[k];
  }
  return span;  // at most the span of the side, which fits 63 bits
}

// Modulo the stride of an axis, the addresses of each side are one interval. If the two intervals share no byte, the
// sides share none. Examples: real and imaginary parts, even and odd rows, the left and the right half of a matrix.
bool strides_prove_apart(const lattice& src, const lattice& dst, const map::canonical& form) {
  std::uint64_t common = 0;
  const auto proves = [&](std::uint64_t modulus) {
    if (modulus == 0) return false;
    const std::uint64_t of_src = span_within(src, form, modulus), of_dst = span_within(dst, form, modulus);
    if (of_src > modulus || of_dst > modulus - of_src) return false;
    const std::uint64_t distance = (dst.lowest % modulus + modulus - src.lowest % modulus) % modulus;
    return distance >= of_src && modulus - distance >= of_dst;
  };
  for (int k = 0; k < form.rank; ++k) {
    common = std::gcd(common, std::gcd(src.strides[k], dst.strides[k]));
    if (proves(src.strides[k]) || proves(dst.strides[k])) return true;
  }
  return proves(common);
}

lattice lattice_of(const void* at, const map::byte_span& span, const map::canonical& form, std::int64_t word_bytes,
                   std::int64_t axis::*stride) {
  lattice made{.lowest = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(span.lo),
               .word_bytes = static_cast<std::uint64_t>(word_bytes)};
  for (int k = 0; k < form.rank; ++k)
    made.strides[k] = base::magnitude(form.axes[k].*stride) * static_cast<std::uint64_t>(word_bytes);
  return made;
}

}  // namespace

void check_apart(const void* src, const void* dst, const map::byte_span& src_span, const map::byte_span& dst_span,
                 const map::canonical& form, const char* same) {
  const auto src_at = reinterpret_cast<std::uintptr_t>(src);
  const auto dst_at = reinterpret_cast<std::uintptr_t>(dst);
  if (src_at + src_span.lo >= dst_at + dst_span.hi || dst_at + dst_span.lo >= src_at + src_span.hi) return;
  if (strides_prove_apart(lattice_of(src, src_span, form, form.word_bytes, &axis::src_stride),
                          lattice_of(dst, dst_span, form, form.dst_word_bytes, &axis::dst_stride), form))
    return;
  throw error(status::overlap,
              "the address ranges of src and dst overlap: src spans bytes " + std::to_string(src_span.lo) + " to " +
                  std::to_string(src_span.hi) + " from its pointer, dst " + std::to_string(dst_span.lo) + " to " +
                  std::to_string(dst_span.hi) + ", and dst - src is " +
                  std::to_string(static_cast<std::int64_t>(dst_at - src_at)) + " bytes" + (src == dst ? same : ""));
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

void check_stream(int device, const void* stream) {
  if (device != on_cpu || stream == nullptr) return;
  throw error(
      status::invalid_argument,
      "stream is given, but src and dst are in host memory, where the CPU copies without a stream. Wanted: null");
}

}  // namespace cornerturn::api
