// Selects the device of a call from the memory of its pointers, and checks options and pointers.
#pragma once

#include "cornerturn/plan.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"

namespace cornerturn::api {

inline constexpr int on_cpu = -1;
inline constexpr int on_current_gpu = -2;

// "auto", "cpu", ...
[[nodiscard]] const char* name(device on) noexcept;

// Every backend of the project, the CPU first.
inline constexpr device backends[] = {device::cpu, device::cuda, device::hip};
// The backend of the GPU rows.
inline constexpr device gpu_backend = device::cuda;
[[nodiscard]] inline bool is_gpu(device on) noexcept { return on == gpu_backend; }
[[nodiscard]] inline device backend_of(const kernels::kernel& row) noexcept {
  return kernels::is_of_gpu(row) ? gpu_backend : device::cpu;
}
// True if this build can run rows of that backend.
[[nodiscard]] bool has_rows(device backend) noexcept;

// Errors  invalid_argument: the number is none of the enumerators
void check_enumerator(device on);

// Errors  as check_enumerator. no_device: the list of kernels lacks the backend, or this machine has no device for it
//         invalid_argument: threads < 0
void check_device(device on, int threads);

//            one side             other side          automatic        cpu            cuda
//            device               device, same GPU    that GPU         refused        that GPU
//            device               managed or pinned   that GPU         refused        that GPU
//            device               pageable            refused          refused        refused
//            managed              managed or pinned   current GPU      CPU            current GPU
//            managed              pageable            refused          CPU            refused
//            pinned               pinned              CPU              CPU            current GPU
//            pinned or pageable   pageable            CPU              CPU            refused
// Returns  on_cpu, on_current_gpu or the number of a GPU
// Errors   invalid_argument: the sentence names the memory of src and of dst
[[nodiscard]] int device_of_call(device on, const gpu::location& src, const gpu::location& dst);

// Errors  overlap: the spans of the form's sides share a byte, and the strides do not prove that the elements share none.
//         If src is dst, the sentence ends with `same`
void check_apart(const void* src, const void* dst, const map::byte_span& src_span, const map::byte_span& dst_span,
                 const map::canonical& form, const char* same = "");

// Effect  checks one more array of a call on `device` (on_cpu, or the number of a GPU)
// Errors  invalid_argument: the device cannot access the array; the sentence names the array
void check_access(int device, const char* what, const gpu::location& where);

// Errors  invalid_argument: a stream, but the call runs on the CPU, which would not wait for the work of the stream
void check_stream(int device, const void* stream);

}  // namespace cornerturn::api
