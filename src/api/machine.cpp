// machine.hpp: names, descriptions and files of machines.
#include "api/machine.hpp"

#include <algorithm>
#include <stdexcept>

#include "api/guard.hpp"
#include "api/tuned.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "kernels/kernel.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn {
namespace api {

named_machine find_machine(const std::string& name, int threads) {
  named_machine made;
  if (name == "cpu" || (name.empty() && gpu::device_count() == 0)) {
    made.cpu = kernels::this_machine();
    made.threads = base::threads_of_call(threads);
    return made;
  }
  if (name.empty()) {
    made.gpu = gpu::info(std::max(gpu::current_device(), 0));
    return made;
  }
  std::string known = "cpu";
  for (const auto& one : kernels::known_machines()) {
    known += ", " + one->name;
    if (name != one->name) continue;
    if (one->is_gpu) {
      made.gpu = kernels::gpu_of(*one);
      return made;
    }
    made.cpu = one->on;
    made.threads = base::threads_of_call(std::max(threads, 1));
    made.title = "machine    " + name + ": " + base::identity(made.cpu) + '\n';
    return made;
  }
  throw error(status::invalid_argument, "machine is \"" + name + "\", wanted one of: " + known);
}

}  // namespace api

namespace {

machine_info info_of(const kernels::machine_file& one) {
  return {one.name, one.what, one.date, one.origin, one.is_gpu, one.has_constants};
}

const kernels::machine_file& file_of(const api::named_machine& on) {
  return on.gpu ? kernels::nearest(on.gpu->traits) : kernels::nearest(on.cpu);
}

std::string text_of(const std::string& machine) {
  const api::named_machine on = api::find_machine(machine, 1);
  kernels::machine_file made = file_of(on);
  if (on.gpu) {
    const double rate = made.of_gpu.device.copy_bytes_per_us;
    made.of_gpu = gpu::scaled(made.of_gpu, on.gpu->traits);
    made.of_gpu.device = on.gpu->traits;
    if (made.of_gpu.device.copy_bytes_per_us == 0) made.of_gpu.device.copy_bytes_per_us = rate;
    made.what = on.gpu->name;
  } else {
    made.on = on.cpu;
    made.what = on.cpu.cpu_model;
  }
  return kernels::text_of(made);
}

void load(const std::string& file) {
  try {
    kernels::add_machine(file);
  } catch (const std::runtime_error& fault) {  // of base::file_error, too
    throw error(status::invalid_argument, "the machine file " + file + ' ' + fault.what());
  }
  api::new_generation();
}

}  // namespace

std::vector<machine_info> machines() {
  return api::guarded([] {
    std::vector<machine_info> all;
    for (const auto& one : kernels::known_machines()) all.push_back(info_of(*one));
    return all;
  });
}

machine_info machine_in_use(const std::string& machine) {
  return api::guarded([&] { return info_of(file_of(api::find_machine(machine, 1))); });
}

std::string machine_text(const std::string& machine) {
  return api::guarded([&] { return text_of(machine); });
}

void load_machine(const std::string& file) {
  api::guarded([&] { load(file); });
}

std::vector<std::string> ignored_machine_files() {
  return api::guarded([] { return kernels::machine_faults(); });
}

}  // namespace cornerturn
