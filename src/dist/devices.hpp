// The route of several GPUs of this process: every destination has an address here.
//   1. the plan: an entry is a launch whose dst is the final address, or pieces that a launch transposes into a buffer of the
//      source GPU and a copy engine puts to their place
//   2. a call: each GPU has three streams. `kernels`: launches for other GPUs. `engine`: copies. `local`: launches that stay on the
//      GPU and join no other. Marks order them; peers come in rotated order, so that each link has one sender at a time.
// A launch that stores to a peer and a launch that stores locally slow each other down, so launches of one row are joined:
// run/launch.hpp. Beside copy engines, blocks of local launches run where no launch that packs has blocks left: `local` has a lower
// priority.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dist/route.hpp"
#include "dist/rows.hpp"
#include "kernels/gpu/device.hpp"
#include "run/launch.hpp"

namespace cornerturn::distributed {

class device_plan final : public dist::detail::plan_state {
 public:
  // Errors  device_error: kernels do not load; route::kernels without peer access. out_of_memory: no buffer, stream or mark
  device_plan(task all, std::vector<int> numbers, const dist::options& how);

  void execute(std::span<const void* const> src, std::span<void* const> dst,
               std::span<void* const> streams) const override;
  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept override;

 private:
  struct shape {
    running::work what;
    running::gpu_plan variants;
    std::vector<const kernels::kernel*> joints;  // the rows that join launches of the variants; null: there is none
  };
  using shapes = std::map<std::vector<std::int64_t>, std::shared_ptr<const shape>>;  // of one GPU
  struct launch {
    std::shared_ptr<const shape> how;
    std::size_t src = 0, dst = 0;  // numbers of blocks
    std::int64_t src_offset = 0,
                 dst_offset = 0;  // bytes; dst: of the block, also where the launch stores to the buffer
    bool is_local = true;
  };
  // A launch with the pointers of a call.
  struct bound_launch {
    running::gpu_variant made;  // of pointers that are less aligned than an element
    const running::gpu_variant* how = nullptr;
    const kernels::kernel* joint = nullptr;
    running::gpu_arrays arrays;
  };
  struct piece {
    launch packed;  // its dst is a half of the buffer
    row_copies rows;
    int device = 0;  // of dst
  };
  struct released {
    void operator()(void* memory) const noexcept { gpu::release(memory); }
  };
  // All that one rank starts.
  struct starter {
    explicit starter(int on);
    int device;
    gpu::queue kernels, engine, local;
    // `begin`: the caller's stream. `packed`, `sent`: the halves of the buffer. `end`: the rank's work
    gpu::mark begin, packed[2], sent[2], engine_end, local_end, end;
    [[nodiscard]] bool uses_engine() const noexcept { return !pieces.empty(); }
    [[nodiscard]] bool uses_local() const noexcept { return bytes_local > 0; }
    std::unique_ptr<void, released> buffer;
    std::vector<launch> launches;  // neighbours of one row are joined
    std::vector<piece> pieces;
    std::int64_t bytes_by_kernels = 0, bytes_by_engine = 0, bytes_local = 0;
    bool has_paths = true;  // to the memory of each GPU that it has elements for
  };
  struct call {
    std::span<const void* const> src;
    std::span<void* const> dst;
  };

  class planner;
  static void bind(const starter& one, const launch& all, const running::gpu_arrays& arrays, bound_launch& made);
  [[nodiscard]] running::gpu_arrays arrays_of(const launch& all, const call& now) const;
  // beside_engines: few blocks on a multiprocessor, which leave copy engines their full speed
  static void start(const starter& one, const launch& all, const running::gpu_arrays& arrays, bool beside_engines,
                    const gpu::queue& on);
  void start_launches(const starter& one, const call& now) const;
  void start_piece(const starter& one, std::size_t number, const call& now) const;

  // Returns a line, or nothing where a link has an unknown rate
  static std::string predicted(const starter& one);

  task all_;
  std::vector<int> numbers_;
  std::int64_t half_bytes_;  // of a buffer
  std::vector<std::unique_ptr<starter>> ranks_;
  mutable gpu::mark begun_, ended_;  // the work of all ranks' streams before a call; the call
  mutable std::mutex one_call_;
};

}  // namespace cornerturn::distributed
