// A plan says HOW a problem moves on one device: chosen once, immutable, executed any number of times by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

enum class device : int {
  automatic = 0,  // a GPU when the pointers live there, else the CPU
  cpu = 1,
  cuda = 2,
  hip = 3,
};

// How parallel work is started. `run` must call body(argument, task) once for each task in [0, tasks), on any threads,
// and return when all have returned. A null `run` means the library's own OpenMP team.
struct executor {
  void (*run)(void* context, int tasks, void (*body)(void* argument, int task), void* argument) = nullptr;
  void* context = nullptr;
};

// What execute is handed beyond src and dst. A pointer that the problem has no use for is null.
struct operands {
  const void* src = nullptr;
  void* dst = nullptr;
  const void* second = nullptr;         // math.second is source; null is allowed where beta is 0
  void* second_dst = nullptr;           // math.second is destination
  const float* scale = nullptr;         // math.scaled: one number, where dst lives
  std::span<std::byte> workspace = {};  // of a problem in place: see below
};

struct plan_options {
  device on = device::automatic;
  int threads = 0;  // CPU: at most this many tasks at a time; 0 means all of this process that OpenMP may use
  executor parallel{};
  const char* kernel = nullptr;  // force one row of kernels.inc by its name; for tests and measurements
};

namespace detail {
class plan_state;
}

class plan {
 public:
  // Effect  checks the problem, brings it to canonical form and picks the kernel
  // Errors  invalid_argument, overflow, overlap (two elements of dst share a byte): the sentence names the axis.
  //         invalid_argument: in_place is set and the permutation is none of those that problem.hpp lists.
  //         no_device: options.on names a backend that is absent, or there is no such device; the sentence says why
  //         device_error: the kernels do not load on this GPU
  // Cost    microseconds; no access to the data
  explicit plan(const problem& what, const plan_options& options = {});

  // Effect  moves the data: see problem
  // Alias   the bytes that src and dst span may not overlap; of a problem in place, src is dst
  // Shape   src and dst both lie in host memory, or both where one GPU can reach them; which decides where it runs
  // Stream  a GPU's: the move is ordered in it and the call does not wait; null is the default stream. It may be under
  //         capture, where the plan was made, or has run, on this device before.
  //         Ignored on the CPU, where the call returns when the data has moved
  // Errors  invalid_argument: a null pointer with a non-empty problem; one pointer is the host's alone and the other a
  //         GPU's, or another GPU's, or not of options.on. overlap. device_error: the driver refused the launch
  //         In place: invalid_argument: src is not dst. out_of_memory: no memory for the workspace
  // Cost    bytes_moved() of traffic; a CPU thread allocates its tile buffer, some 100 KiB, at its first large move.
  //         In place: as many passes as explain() says; workspace_bytes() are allocated for the time of the call, on a
  //         GPU in the order of the stream (cudaMallocAsync), so that nothing waits and a capture takes it along
  void execute(const void* src, void* dst, void* stream = nullptr) const;

  // Effect  as above, with a workspace of the caller's: nothing is allocated for it. It may be larger than needed
  // Shape   it lies where the data does, at any address
  // Alias   it shares no byte with src or dst, nor with the workspace of a call that runs at the same time
  // Errors  as above; invalid_argument: it has too few bytes: the sentence says how many are wanted; or the move runs
  //         on a GPU that cannot reach it
  void execute(const void* src, void* dst, std::span<std::byte> workspace, void* stream = nullptr) const;

  // Effect  as above, with a second array and a scale
  // Alias   dst and second_dst share no byte with another array, but a second source with the strides of dst may be dst
  // Errors  as above; invalid_argument: second, second_dst or scale is null and wanted, or given and not
  void execute(const operands& all, void* stream = nullptr) const;

  // Effect  why this kernel: the problem, its canonical form, the line of the decision list that fired, the blocking
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] const char* kernel() const noexcept;        // its name in kernels.inc
  [[nodiscard]] int threads() const noexcept;               // tasks that execute starts
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;  // read once + written once
  // 0 but for rectangles in place. On the CPU a twentieth of one, or what the caches hold, and a few rows; on a GPU at
  // most a twentieth, or 16 MiB, and 255 bytes. Where either may be meant: the larger one, if a GPU is in use by then
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept;

 private:
  std::shared_ptr<const detail::plan_state> state_;
};

}  // namespace cornerturn
#pragma GCC visibility pop
