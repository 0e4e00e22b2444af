// A plan holds the kernel chosen for a problem. Any thread may execute it any number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

enum class device : int {
  automatic = 0,  // a GPU if the pointers are in its memory, else the CPU
  cpu = 1,
  cuda = 2,
  hip = 3,
};

// Starts parallel work. `run` must call body(argument, task) once for each task in [0, tasks), on any threads and in any
// order. It returns after all these calls. There are more tasks than threads: a free thread should take the next task.
// A null `run` selects the library's own threads.
struct executor {
  void (*run)(void* context, int tasks, void (*body)(void* argument, int task), void* argument) = nullptr;
  void* context = nullptr;
  // On the CPU, out of place, but not by batches: asked before each part of a call (16 MiB read and written, or one unit), by each
  // thread that copies. After true the call copies no further part and returns as usual; dst is then unspecified. Null: the call
  // is not cancelled
  bool (*is_cancelled)(void* context) = nullptr;
};

// Effect  returns an executor that runs tasks on the library's own threads, at most `threads` at a time, for a program's own
//         loops. 0: as plan_options::threads. No body may throw
[[nodiscard]] executor default_executor(int threads = 0) noexcept;

// All arrays of one execute call. A pointer that the problem does not use is null.
struct operands {
  const void* src = nullptr;
  void* dst = nullptr;
  const void* second = nullptr;         // for math.second source; may be null if beta is 0
  void* second_dst = nullptr;           // for math.second destination
  const float* scale = nullptr;         // for math.scaled: one number, in the memory of dst's device
  std::span<std::byte> workspace = {};  // for a problem in place: see plan::execute
};

struct plan_options {
  cornerturn::device device = cornerturn::device::automatic;
  // CPU, at most; 0: one for each core of the affinity mask, within the CPU quota and OMP_NUM_THREADS. More than 1024 are 1024.
  int threads = 0;
  executor parallel{};
  const char* kernel = nullptr;  // forces this kernel of kernel_list(); for tests and measurements
  // CPU, out of place, without arithmetic, from 1 MiB on: the first calls of the plan, up to 8, run the likely kernels in turn, and
  // later calls the fastest one of them. All kernels produce equal bytes. A call that overlaps another call of the plan is not timed,
  // and after 64 calls none is. With `parallel` or `kernel`, and after tune(), nothing is measured. CORNERTURN_MEASURE=1 in the
  // environment: true for all plans
  bool measure = false;
};

namespace detail {
class plan_state;
}

class plan {
 public:
  // Effect  checks the problem, brings it to canonical form and picks the kernel
  // Errors  invalid_argument, overflow, overlap (two elements of dst share a byte): the sentence names the axis
  //         invalid_argument: in_place is set, but problem.hpp does not list the permutation
  //         no_device: options.device names an absent backend, or the machine has no such device; the sentence says why
  //         device_error: the kernels do not load on this GPU
  // Cost    microseconds; no access to the data
  explicit plan(const problem& what, const plan_options& options = {});

  // Effect  executes the problem: see problem.hpp
  // Shape   src and dst are both in host memory, or one GPU can access both. The memory selects the device
  // Alias   src and dst share no byte: their address ranges are apart, or one stride of src or dst shows that their elements
  //         are, as of real and imaginary parts, or of even and odd rows. For a problem in place, src is dst
  // Stream  GPU: the copy is ordered in the stream and the call is asynchronous; null is the default stream. The stream
  //         may be under capture if the plan was made or executed on this device before
  //         CPU: null; the call returns after the copy, and does not wait for the work of a stream
  // Errors  invalid_argument: a null pointer with a non-empty problem; a stream, but the memory selects the CPU; pageable
  //         host memory on one side and GPU memory on the other; memory of two GPUs; memory that options.device cannot
  //         access. overlap. device_error: the driver refused the launch. In place: invalid_argument: src is not dst.
  //         out_of_memory: no memory for the workspace
  // Cost    bytes_moved() of traffic; a CPU thread allocates its tile buffer, about 100 KiB, in its first large copy
  //         In place: explain() prints the number of passes. The call allocates workspace_bytes() and releases them; on
  //         a GPU in stream order (cudaMallocAsync), so the call is asynchronous and can be captured
  void execute(const void* src, void* dst, void* stream = nullptr) const;

  // Effect  executes with the caller's workspace and allocates none. A larger workspace than needed is allowed
  // Shape   the workspace is in the memory of the data's device, at any address
  // Alias   the workspace shares no byte with src, dst or the workspace of a concurrent call
  // Errors  as execute without a workspace. invalid_argument: the workspace is too small (the sentence names the size
  //         wanted), or the GPU of the call cannot access it
  void execute(const void* src, void* dst, std::span<std::byte> workspace, void* stream = nullptr) const;

  // Effect  executes with a second array, a scale and a workspace
  // Alias   dst and second_dst share no byte with another array, but a second source with dst's strides may be dst
  // Errors  as execute; invalid_argument: second, second_dst or scale is null but needed, or not null but unused
  void execute(const operands& all, void* stream = nullptr) const;

  // Effect  returns a text: the problem, its canonical form, all offers with their predicted times, and the blocking
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] const char* kernel() const noexcept;  // of kernel_list(); plan_options::measure may replace it once
  [[nodiscard]] int threads() const noexcept;         // most threads that execute uses
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;  // read once + written once
  // Returns the bytes that execute() needs there. automatic: on each device that the plan can run on, which need not be present
  // Errors  invalid_argument: `where` is no enumerator
  // Cost    microseconds. 0 except in place. CPU: for a rectangle at most a twentieth of it or the size of the caches, and a
  //         few rows; for many small squares at most half of an L2 cache a thread. GPU: for a rectangle a twentieth or 64 MiB, and 255 bytes
  [[nodiscard]] std::int64_t workspace_bytes(device where = device::automatic) const;

 private:
  std::shared_ptr<const detail::plan_state> state_;
};

// Counts of a GPU kernel, each relative to a copy of the same bytes. All 0 on a CPU.
struct offer_counts {
  double traffic = 0;         // bytes of DRAM
  double wasted_sectors = 0;  // 32-byte sectors of DRAM that are read or written for a part of their bytes
  double requests = 0;        // of warps to global memory
  double wavefronts = 0;      // of shared memory: more than one for a request with bank conflicts
  double instructions = 0;
  friend bool operator==(const offer_counts&, const offer_counts&) = default;
};

// The offer of one kernel for a problem: the planner takes the cheapest.
struct plan_offer {
  const char* kernel = "";  // its row; never freed
  double time = 0;          // predicted; 1 is the time of a copy of the same bytes
  const char* bound = "";   // its limit: "DRAM", "requests", "shared memory", "instructions", "latency" or "nothing"
  const char* reason = "";  // one sentence
  offer_counts counts{};    // the prediction is the sum of each times a constant of the kernel
};

struct offer_options {
  // "cpu": this computer's CPU; one of machines(), such as "zen4" or "H200"; "": the current GPU, or this computer's CPU without one
  std::string machine{};
  int alignment = 16;  // GPU: of both pointers, in bytes: a power of two up to 16
  int threads = 0;     // CPU: as in plan_options; 0 is one thread for a CPU of machines()
};

// Effect  predicts the time of each kernel that accepts the problem, cheapest first. A rectangle in place has no offers:
//         it runs several kernels
// Errors  as plan::plan. invalid_argument: machine is not "cpu" and no machine that is known (the sentence lists the machines),
//         or alignment is no power of two up to 16
// Cost    microseconds; the machine need not be present
[[nodiscard]] std::vector<plan_offer> offers(const problem& what, const offer_options& options = {});

// Effect  returns the text of plan::explain() for that machine
// Errors  as offers()
[[nodiscard]] std::string explain(const problem& what, const offer_options& options);

}  // namespace cornerturn
#pragma GCC visibility pop
