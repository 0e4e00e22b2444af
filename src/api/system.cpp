#include "cornerturn/system.hpp"

#include <algorithm>
#include <string_view>

#include "api/device.hpp"
#include "api/guard.hpp"
#include "api/simd_name.hpp"
#include "base/machine.hpp"
#include "base/parallel.hpp"
#include "base/pool.hpp"
#include "cornerturn/version.h"
#include "kernels/gpu/device.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn {
namespace {

// Returns "NVIDIA H200, sm_90, 139.8 GiB" for each GPU, separated by semicolons.
std::string gpus() {
  std::string text;
  for (int device = 0; device < gpu::device_count(); ++device) {
    const gpu::device_info& one = gpu::info(device);
    const std::int64_t tenths = one.memory_bytes * 10 / (std::int64_t{1} << 30);
    text += (device > 0 ? "; " : "") + one.name + ", " + one.arch + ", " + std::to_string(tenths / 10) + "." +
            std::to_string(tenths % 10) + " GiB";
  }
  return text;
}

}  // namespace

const char* version() noexcept { return CORNERTURN_VERSION_STRING; }

namespace {

std::vector<backend_info> all_backends() {
  std::vector<backend_info> known;
  for (const device id : api::backends) {
    known.push_back({id, api::name(id), api::has_rows(id), ""});
    backend_info& one = known.back();
    if (!one.present) {
      one.detail = "this build has no " + one.name + " kernels";
    } else if (api::is_gpu(id)) {
      one.present = gpu::device_count() > 0;
      one.detail = one.present ? gpus() : gpu::why_none();
    } else {
      const cpu_info here = cpu();
      one.detail = std::to_string(here.threads) + " threads, " + here.simd;
      const int wanted = base::default_threads();
      if (const int usable = base::start_pool(wanted); usable < wanted) {
        one.detail += "; the system refused to start " + std::to_string(wanted) + " threads, so calls use " +
                      std::to_string(usable);
      }
    }
  }
  return known;
}

std::vector<kernel_info> all_kernels() {
  std::vector<kernel_info> rows;
  for (const kernels::kernel& one : kernels::all()) {
    if (!kernels::is_present(one)) continue;
    rows.push_back({one.name, api::name(api::backend_of(one)), one.family, one.element_bytes, one.note});
  }
  return rows;
}

cpu_info this_cpu() {
  const base::machine& here = kernels::this_machine();
  cpu_info info;
  info.model = here.cpu_model;
  info.part = here.part;
  for (const std::string_view target : kernels::simd_targets()) info.simd_targets.push_back(api::simd_name(target));
  if (!info.simd_targets.empty()) info.simd = info.simd_targets.front();
  info.threads = base::hardware_threads();
  info.default_threads = base::default_threads();
  info.l1d_bytes = here.l1d_bytes;
  info.l2_bytes = here.l2_bytes;
  info.l3_bytes = here.l3_bytes;
  info.page_bytes = here.page_bytes;
  return info;
}

}  // namespace

executor default_executor(int threads) noexcept {
  const auto run = [](void* context, int tasks, void (*body)(void* argument, int task), void* argument) {
    base::run_on_pool(static_cast<int>(reinterpret_cast<std::intptr_t>(context)), tasks, body, argument);
  };
  const std::intptr_t most = base::threads_of_call(std::max(threads, 0));
  return {run, reinterpret_cast<void*>(most)};
}

std::vector<backend_info> backends() { return api::guarded(all_backends); }
std::vector<kernel_info> kernel_list() { return api::guarded(all_kernels); }
cpu_info cpu() { return api::guarded(this_cpu); }

}  // namespace cornerturn
