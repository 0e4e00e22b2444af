// On which device a call runs, from where its pointers live.
#pragma once

#include "cornerturn/plan.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::api {

inline constexpr int on_cpu = -1;
inline constexpr int on_current_gpu = -2;

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

// Effect  one more array of a call that runs at `place` (on_cpu, or a GPU's number)
// Errors  invalid_argument: it lies where that place cannot reach it; the sentence names it
void check_place(int place, const char* what, const gpu::location& where);

}  // namespace cornerturn::api
