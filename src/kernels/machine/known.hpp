// The machines that the planner knows: the files of this folder, which CMake compiles in, and the user's.
//   1. CORNERTURN_MACHINE_FILE, or else cornerturn/machine-*.json in $XDG_CONFIG_HOME (~/.config), is read at the first plan
//   2. load_machine() adds a file, and all plans of later calls see it
//   3. a plan uses the constants of the nearest machine; of two that are equally near, the one that was read later
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/machine/file.hpp"

namespace cornerturn::kernels {

using machines = std::vector<std::shared_ptr<const machine_file>>;

// Returns the machines in the order in which they were read. The list never changes and is never freed: an added file makes a new
//         list
// Cost    the first call reads the files: 0.5 ms (Intel Xeon, model 207, 2026-11-27)
[[nodiscard]] const machines& known_machines();

// Returns the sentences about files of step 1 that were ignored
[[nodiscard]] const std::vector<std::string>& machine_faults();

// Effect  adds a file; a machine of an equal name and kind is replaced
// Errors  std::runtime_error, base::file_error: the sentence lacks the name of the file
void add_machine(const std::string& file);

// Effect  forgets the files of add_machine(), and reads the files of step 1 again; for tests
void read_machines_again();

// How far a CPU is from a measured one: the vendor, L2, the vector length and L3 count. 0: they are equal.
[[nodiscard]] double distance(const base::machine& here, const base::machine& measured) noexcept;
// How far a GPU is from another one: the multiprocessors, the copy rate of one, shared memory, L2 and the architecture count.
[[nodiscard]] double distance(const gpu_traits& a, const gpu_traits& b) noexcept;

// Returns the GPU that a file describes.
[[nodiscard]] gpu::device_info gpu_of(const machine_file& one);

// Returns the nearest machine with constants.
[[nodiscard]] const machine_file& nearest(const base::machine& to);
[[nodiscard]] const machine_file& nearest(const gpu_traits& to);

}  // namespace cornerturn::kernels
