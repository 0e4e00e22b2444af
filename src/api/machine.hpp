// The machine that offer_options::machine names: a GPU, or a CPU.
#pragma once

#include <optional>
#include <string>

#include "base/machine.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::api {

struct named_machine {
  std::optional<gpu::device_info> gpu{};
  base::machine cpu{};
  int threads = 1;
  std::string title{};  // of a CPU that may be another one than this computer's; else empty
};

// Effect  finds "cpu", a machine file by its name, or with "" the current GPU, else this computer's CPU
// Errors  invalid_argument: no machine has the name; the sentence lists them
[[nodiscard]] named_machine find_machine(const std::string& name, int threads);

}  // namespace cornerturn::api
