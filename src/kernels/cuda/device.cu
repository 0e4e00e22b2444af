// kernels/gpu/device.hpp on the CUDA runtime, which is linked statically and loads the driver at its first call.
// Functions that must not start the driver call the driver itself, and only if this process has already loaded it.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

#include "base/lazy.hpp"
#include "base/loader.hpp"
#include "kernels/cuda/lang.cuh"
#include "kernels/gpu/device.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::gpu {
namespace {

constexpr const char* driver_name = "libcuda.so.1";

// Functions of the driver, if it is loaded in this process. It is never unloaded.
struct driver_functions {
  decltype(&cuPointerGetAttributes) where = nullptr;
  decltype(&cuDevicePrimaryCtxGetState) state = nullptr;
};

// False if this machine has neither the kernel's part of a driver nor the library: no process can load it. Then a call on the CPU
// asks the loader nothing.
bool may_have_driver() noexcept {
  constexpr std::array files{"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"};
  if (std::any_of(files.begin(), files.end(), [](const char* one) { return access(one, F_OK) == 0; })) return true;
  void* const library = dlopen(driver_name, RTLD_LAZY);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

// No process can load a driver here: each call of a plan asks, so the answer is one load.
constinit std::atomic<bool> impossible{false};

const driver_functions* driver() noexcept {
  static std::atomic<const driver_functions*> ready{nullptr};
  if (const driver_functions* known = ready.load(std::memory_order_acquire)) return known;
  constinit static base::lazy<const bool> possible;
  if (!possible.get(may_have_driver)) {
    impossible.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  // dlopen() searches every folder for an absent library, which takes 20 us (2026-11-21). So it is called again only
  // when the process has loaded another library.
  static std::atomic<unsigned long long> searched{0};
  // The number may be 10 ms old. A process that has just loaded the driver has no memory of a GPU yet: that takes longer.
  const unsigned long long now = base::libraries_loaded();
  if (searched.load(std::memory_order_relaxed) == now) return nullptr;
  void* loaded = dlopen(driver_name, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) searched.store(now, std::memory_order_relaxed);
  if (loaded == nullptr) return nullptr;
  constinit static base::lazy<const driver_functions> functions;
  const driver_functions& found = functions.get([loaded] {
    return driver_functions{
        reinterpret_cast<decltype(&cuPointerGetAttributes)>(dlsym(loaded, "cuPointerGetAttributes")),
        reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(dlsym(loaded, "cuDevicePrimaryCtxGetState"))};
  });
  if (found.where == nullptr || found.state == nullptr) return nullptr;
  ready.store(&found, std::memory_order_release);
  return &found;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why(cudaError_t failed) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver == 0) return std::string("no NVIDIA driver was found (") + driver_name + ")";
  if (failed == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is too old: it supports CUDA " + version_text(driver) + ", but this build needs CUDA " +
           version_text(CUDART_VERSION / 1000 * 1000) + " or newer";
  }
  if (failed == cudaErrorNoDevice || failed == cudaSuccess) {
    const char* visible = secure_getenv("CUDA_VISIBLE_DEVICES");
    return std::string("the NVIDIA driver shows no GPU to this process") +
           (visible == nullptr ? "" : "; CUDA_VISIBLE_DEVICES is \"" + std::string(visible) + "\"");
  }
  return std::string("the NVIDIA driver does not start: ") + cudaGetErrorString(failed);
}

struct census {
  int count = 0;
  std::string sentence;
};

const census& all_devices() {
  constinit static base::lazy<const census> found;
  return found.get([] {
    census made;
    const cudaError_t failed = cudaGetDeviceCount(&made.count);
    if (failed != cudaSuccess) made.count = 0;
    if (made.count == 0) {
      made.sentence = why(failed);
      static_cast<void>(cudaGetLastError());
    }
    return made;
  });
}

std::int64_t attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

device_info read(int device) {
  device_info found;
  kernels::gpu_traits& traits = found.traits;
  traits.arch = static_cast<int>(10 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
                                 attribute(device, cudaDevAttrComputeCapabilityMinor));
  found.arch = "sm_" + std::to_string(traits.arch);
  traits.words = has_words;
  traits.lanes = static_cast<int>(attribute(device, cudaDevAttrWarpSize));
  traits.multiprocessors = static_cast<int>(attribute(device, cudaDevAttrMultiProcessorCount));
  traits.registers = static_cast<int>(attribute(device, cudaDevAttrMaxRegistersPerMultiprocessor));
  traits.shared_bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  traits.multiprocessor_shared_bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  traits.l2_bytes = attribute(device, cudaDevAttrL2CacheSize);
  // A copy reaches about 0.9 of the rate of the memory, which transfers on both edges of its clock. An H200: 3,201,000 kHz and
  // 6,144 bits, 0.87 of them measured (2026-11-26). 0 where the driver does not tell one of the two.
  const std::int64_t kilohertz = attribute(device, cudaDevAttrMemoryClockRate);
  const std::int64_t bits = attribute(device, cudaDevAttrGlobalMemoryBusWidth);
  traits.copy_bytes_per_us = 0.9 * 2e-3 / 8 * static_cast<double>(kilohertz * bits);
  cudaDeviceProp all{};
  if (cudaGetDeviceProperties(&all, device) == cudaSuccess) {
    found.name = all.name;
    found.memory_bytes = static_cast<std::int64_t>(all.totalGlobalMem);
  }
  return found;
}

const char* message_of(cudaError_t result) noexcept {
  if (result == cudaSuccess) return nullptr;
  clear_error();
  return cudaGetErrorString(result);
}

}  // namespace

bool driver_is_loaded() noexcept { return !impossible.load(std::memory_order_relaxed) && driver() != nullptr; }

int device_in_use() noexcept {
  const driver_functions* const asked = driver();
  if (asked == nullptr) return -1;
  const int device = current_device();
  unsigned int flags = 0;
  int active = 0;
  return device >= 0 && asked->state(device, &flags, &active) == CUDA_SUCCESS && active != 0 ? device : -1;
}

int device_count() { return all_devices().count; }
const std::string& why_none() { return all_devices().sentence; }

const device_info& info(int device) {
  constinit static std::array<base::lazy<const device_info>, most_devices> known;
  return known[static_cast<std::size_t>(device) % most_devices].get([device] { return read(device); });
}

int current_device() noexcept {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

location where(const void* pointer) noexcept {
  const driver_functions* const asked = driver();
  if (asked == nullptr) return {};
  // The runtime's function would create a context on the current device for a pointer to the host's heap.
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  unsigned int type = 0;
  unsigned int managed = 0;
  int device = 0;
  void* answers[] = {&type, &managed, &device};
  if (asked->where(3, wanted, answers, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS) return {};
  if (managed != 0) return {memory::managed, device};
  if (type == CU_MEMORYTYPE_DEVICE) return {memory::device, device};
  if (type == CU_MEMORYTYPE_HOST) return {memory::pinned, device};
  return {};
}

device_guard::device_guard(int device) noexcept {
  const int now = current_device();
  if (device < 0 || now == device) return;
  if (cudaSetDevice(device) == cudaSuccess) before_ = now;
}
device_guard::~device_guard() {
  if (before_ >= 0) static_cast<void>(cudaSetDevice(before_));
}

const char* load(const kernels::kernel& row, int device) noexcept {
  if (row.launch == nullptr) return "this build lacks the kernel";
  constexpr std::size_t most_rows = 1024;
  // Of each row a bit for each of the first 64 devices.
  static std::array<std::atomic<std::uint64_t>, most_rows> loaded{};
  const auto k = static_cast<std::size_t>(&row - kernels::all().data());
  const std::uint64_t bit = device >= 0 && device < 64 ? std::uint64_t{1} << device : 0;
  if (k < most_rows && (loaded[k].load(std::memory_order_acquire) & bit) != 0) return nullptr;
  const device_guard there(device);
  // The thread may be capturing a stream: pointers that are less aligned than an element choose their kernel at the call.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
  const char* const failure = row.launch(nullptr, 0, kernels::all_shared_bytes, nullptr);
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
  if (failure != nullptr) {
    clear_error();
  } else if (k < most_rows) {
    loaded[k].fetch_or(bit, std::memory_order_release);
  }
  return failure;
}

void* allocate(std::int64_t bytes) noexcept {
  void* made = nullptr;
  if (cudaMalloc(&made, static_cast<std::size_t>(bytes)) == cudaSuccess) return made;
  clear_error();
  return nullptr;
}
void release(void* memory) noexcept {
  if (memory != nullptr && cudaFree(memory) != cudaSuccess) clear_error();
}
// Uses a stream of its own, so that it does not wait for other streams.
const char* upload(void* to, std::span<const std::byte> from) noexcept {
  cudaStream_t own = nullptr;
  cudaError_t failed = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  if (failed == cudaSuccess) {
    failed = cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, own);
    if (failed == cudaSuccess) failed = cudaStreamSynchronize(own);
    static_cast<void>(cudaStreamDestroy(own));
  }
  if (failed == cudaSuccess) return nullptr;
  clear_error();
  return cudaGetErrorString(failed);
}
void* allocate(std::int64_t bytes, void* stream) noexcept {
  void* made = nullptr;
  if (cudaMallocAsync(&made, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(stream)) == cudaSuccess) {
    return made;
  }
  clear_error();
  return nullptr;
}
void release(void* memory, void* stream) noexcept {
  if (cudaFreeAsync(memory, static_cast<cudaStream_t>(stream)) != cudaSuccess) clear_error();
}
const char* clear(void* memory, std::int64_t bytes, void* stream) noexcept {
  const cudaError_t failed =
      cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(stream));
  return failed == cudaSuccess ? nullptr : cudaGetErrorString(failed);
}

void clear_error() noexcept { static_cast<void>(cudaGetLastError()); }

bool enable_peer(int device, int peer) noexcept {
  if (device == peer) return true;
  // Of each device a bit for each peer that it can access: a second call to the driver would be an error.
  static std::array<std::atomic<std::uint64_t>, most_devices> enabled{};
  std::atomic<std::uint64_t>& peers = enabled[static_cast<std::size_t>(device) % most_devices];
  const std::uint64_t bit = std::uint64_t{1} << peer % most_devices;
  if ((peers.load(std::memory_order_acquire) & bit) != 0) return true;
  int reaches = 0;
  if (cudaDeviceCanAccessPeer(&reaches, device, peer) != cudaSuccess || reaches == 0) {
    clear_error();
    return false;
  }
  const device_guard there(device);
  const cudaError_t failed = cudaDeviceEnablePeerAccess(peer, 0);
  if (failed != cudaSuccess) clear_error();
  const bool made = failed == cudaSuccess || failed == cudaErrorPeerAccessAlreadyEnabled;
  if (made) peers.fetch_or(bit, std::memory_order_release);
  return made;
}

queue::queue(int device, bool urgent) noexcept : device_(device) {
  const device_guard there(device);
  int lowest = 0, highest = 0;
  cudaStream_t made = nullptr;
  if (cudaDeviceGetStreamPriorityRange(&lowest, &highest) == cudaSuccess &&
      cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, urgent ? highest : lowest) == cudaSuccess) {
    stream_ = made;
  } else {
    clear_error();
  }
}
queue::~queue() {
  const device_guard there(device_);
  if (stream_ != nullptr && cudaStreamDestroy(static_cast<cudaStream_t>(stream_)) != cudaSuccess) clear_error();
}

mark::mark(int device) noexcept : device_(device) {
  const device_guard there(device);
  cudaEvent_t made = nullptr;
  if (cudaEventCreateWithFlags(&made, cudaEventDisableTiming) == cudaSuccess) {
    event_ = made;
  } else {
    clear_error();
  }
}
mark::~mark() {
  const device_guard there(device_);
  if (event_ != nullptr && cudaEventDestroy(static_cast<cudaEvent_t>(event_)) != cudaSuccess) clear_error();
}
const char* mark::set(void* stream) noexcept {
  const device_guard there(device_);
  return message_of(cudaEventRecord(static_cast<cudaEvent_t>(event_), static_cast<cudaStream_t>(stream)));
}
const char* mark::wait_in(void* stream) const noexcept {
  return message_of(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event_), 0));
}

// The call for two devices, which also works without peer access.
const char* copy_rows(const row_block& to, const row_block& from, std::int64_t row_bytes, std::int64_t rows,
                      void* stream) noexcept {
  const auto bytes = static_cast<std::size_t>(row_bytes), count = static_cast<std::size_t>(rows);
  const auto pitched = [&](const row_block& one) {
    return make_cudaPitchedPtr(const_cast<std::byte*>(one.at), static_cast<std::size_t>(one.pitch), bytes, count);
  };
  cudaMemcpy3DPeerParms all{};
  all.dstPtr = pitched(to);
  all.dstDevice = to.device;
  all.srcPtr = pitched(from);
  all.srcDevice = from.device;
  all.extent = make_cudaExtent(bytes, count, 1);
  return message_of(cudaMemcpy3DPeerAsync(&all, static_cast<cudaStream_t>(stream)));
}

stopwatch::stopwatch() {
  for (void*& one : events_) {
    cudaEvent_t made = nullptr;
    if (cudaEventCreate(&made) == cudaSuccess) one = made;
  }
}
stopwatch::~stopwatch() {
  for (void* one : events_) {
    if (one != nullptr) static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(one)));
  }
}
void stopwatch::start(void* stream) {
  static_cast<void>(cudaEventRecord(static_cast<cudaEvent_t>(events_[0]), static_cast<cudaStream_t>(stream)));
}
double stopwatch::stop(void* stream) {
  const auto begin = static_cast<cudaEvent_t>(events_[0]);
  const auto end = static_cast<cudaEvent_t>(events_[1]);
  float milliseconds = 0;
  const bool done = cudaEventRecord(end, static_cast<cudaStream_t>(stream)) == cudaSuccess &&
                    cudaEventSynchronize(end) == cudaSuccess &&
                    cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess;
  if (!done) clear_error();
  return done ? milliseconds * 1e-3 : -1;
}

}  // namespace cornerturn::gpu
