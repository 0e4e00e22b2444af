// The GPU part of a plan: its text, and the errors of a GPU. run/ chooses the kernels and launches them.
#pragma once

#include <string>

#include "kernels/gpu/device.hpp"
#include "run/launch.hpp"

namespace cornerturn::detail {

// Effect  loads the kernels on that device
// Errors  device_error: they do not load there
void check_loaded(int device, const kernels::kernel& row);
void check_loaded(int device, const running::gpu_variant& variant);
// Errors  overflow: the problem exceeds the size of a GPU grid
void check_fits(const running::gpu_variant& variant);
// Errors  device_error: the launch returned a message
void check_launched(const char* message, int device, const char* kernel);

// Returns the GPU part of plan.explain(). explain.cpp defines it.
[[nodiscard]] std::string explain(const running::work& what, const running::gpu_plan& plan, const gpu::device_info& on);

}  // namespace cornerturn::detail
