// On which device a call runs, from where its pointers live; and what every call wants of its options and pointers.
#pragma once

#include "cornerturn/plan.hpp"
#include "kernels/gpu/device.hpp"
#include "map/canonical.hpp"

namespace cornerturn::api {

inline constexpr int on_cpu = -1;
inline constexpr int on_current_gpu = -2;

// "auto", "cpu", ...
[[nodiscard]] const char* name(device on) noexcept;

// Errors  no_device: the backend is absent from the list of kernels, or has no device here. invalid_argument: threads <
// 0
void check_device(device on, int threads);

//            src or dst           the other           automatic        cpu            cuda
//            device               device, same GPU    that GPU         refused        that GPU
//            device               managed or pinned   that GPU         refused        that GPU
//            device               pageable            refused          refused        refused
//            managed              managed or pinned   current GPU      CPU            current GPU
//            managed              pageable            refused          CPU            refused
//            pinned               pinned              CPU              CPU            current GPU
//            pinned or pageable   pageable            CPU              CPU            refused
// Returns  on_cpu, on_current_gpu or the number of a GPU
// Errors   invalid_argument: the sentence says what src and dst are
[[nodiscard]] int place_of_call(device on, const gpu::location& src, const gpu::location& dst);

// Errors  overlap: the bytes that the two spans are from their pointers meet; `same` is added where src is dst
void check_apart(const void* src, const void* dst, const map::byte_span& src_span, const map::byte_span& dst_span,
                 const char* same = "");

// Effect  one more array of a call that runs at `place` (on_cpu, or a GPU's number)
// Errors  invalid_argument: it lies where that place cannot reach it; the sentence names it
void check_place(int place, const char* what, const gpu::location& where);

}  // namespace cornerturn::api
