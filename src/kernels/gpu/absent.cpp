// device.hpp in a build without GPU kernels.
#include "base/lazy.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::gpu {

bool driver_is_loaded() noexcept { return false; }
int device_in_use() noexcept { return -1; }
int device_count() { return 0; }
const std::string& why_none() {
  constinit static base::lazy<const std::string> sentence;
  return sentence.get([] { return "this build has no CUDA"; });
}
const device_info& info(int /*device*/) {
  constinit static base::lazy<const device_info> none;
  return none.get([] { return device_info{}; });
}
int current_device() noexcept { return -1; }
location where(const void* /*pointer*/) noexcept { return {}; }
device_guard::device_guard(int /*device*/) noexcept {}
device_guard::~device_guard() = default;
const char* load(const kernels::kernel& /*row*/, int /*device*/) noexcept { return "this build has no CUDA"; }
void* allocate(std::int64_t /*bytes*/) noexcept { return nullptr; }
void release(void* /*memory*/) noexcept {}
const char* upload(void* /*to*/, std::span<const std::byte> /*from*/) noexcept { return "this build has no CUDA"; }
void* allocate(std::int64_t /*bytes*/, void* /*stream*/) noexcept { return nullptr; }
void release(void* /*memory*/, void* /*stream*/) noexcept {}
const char* clear(void* /*memory*/, std::int64_t /*bytes*/, void* /*stream*/) noexcept {
  return "this build has no CUDA";
}
void clear_error() noexcept {}
bool enable_peer(int /*device*/, int /*peer*/) noexcept { return false; }
queue::queue(int device, bool /*urgent*/) noexcept : device_(device) {}
queue::~queue() = default;
mark::mark(int device) noexcept : device_(device) {}
mark::~mark() = default;
const char* mark::set(void* /*stream*/) noexcept { return "this build has no CUDA"; }
const char* mark::wait_in(void* /*stream*/) const noexcept { return "this build has no CUDA"; }
const char* copy_rows(const row_block& /*to*/, const row_block& /*from*/, std::int64_t /*row_bytes*/,
                      std::int64_t /*rows*/, void* /*stream*/) noexcept {
  return "this build has no CUDA";
}
stopwatch::stopwatch() = default;
stopwatch::~stopwatch() = default;
void stopwatch::start(void* /*stream*/) {}
double stopwatch::stop(void* /*stream*/) { return -1; }

}  // namespace cornerturn::gpu
