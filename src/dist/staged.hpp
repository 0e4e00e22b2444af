// The route between processes: boxes are stored to shared memory of the receiver, where there is any: near.hpp. Else they are packed
// into chunks by transposing copies, sent, and unpacked.
//   1. the plan: all pieces of all entries between two ranks, in one order that both know, fill chunks. Chunks for near ranks are
//      there, too: the call knows which memory it gets
//   2. a call: peers in rotated order. Receives are posted first; two chunks each way are in flight; the local boxes and the boxes
//      for shared memory are copied while messages are sent; a chunk is unpacked when it is complete
//   3. the ranks agree that all of them are done, or on the error of one. Then a rank may read its blocks of dst.
// No cycle of ranks can wait for itself: all ranks send and receive their chunks in the order of (round, number of the chunk), and
// the least message in this order that is not complete is posted on both sides.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cornerturn/plan.hpp"
#include "dist/messages.hpp"
#include "dist/near.hpp"
#include "dist/route.hpp"

namespace cornerturn::distributed {

class staged_plan final : public dist::detail::plan_state {
 public:
  // number: of the plan, on all ranks
  // Errors  out_of_memory: the chunks. device_error: a message failed or is late. As plan::plan
  staged_plan(task all, const dist::communicator& ranks, std::uint32_t number, const dist::options& how);

  void execute(std::span<const void* const> src, std::span<void* const> dst,
               std::span<void* const> streams) const override;
  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept override;

 private:
  struct local_copy {
    cornerturn::problem what;
    cornerturn::plan how;
    int threads = 0;
    [[nodiscard]] std::int64_t bytes() const noexcept { return how.bytes_moved() / 2; }
    // Returns the bytes that a copy without any transpose moves in the predicted time
    [[nodiscard]] double predicted() const;
    void execute(const void* src, void* dst) const { how.execute(src, dst); }
  };
  using local_plan = std::shared_ptr<const local_copy>;
  struct step {
    local_plan copy;
    std::size_t src = 0, dst = 0;                 // numbers of blocks; of a chunk's side: unused
    std::int64_t src_offset = 0, dst_offset = 0;  // bytes
  };
  struct chunk {
    int peer = 0;
    std::int64_t bytes = 0;
    std::vector<step> steps;
  };
  // Boxes for the blocks of a near rank; dst of a step is a number of that rank's blocks.
  struct stores {
    int peer = 0;
    std::vector<step> steps;
  };
  class planner;

  static void add_predicted(const std::vector<step>& steps, double& bytes);
  void transfer(std::span<const void* const> src, std::span<void* const> dst) const;

  task all_;
  dist::communicator ranks_;
  std::uint32_t number_;
  double seconds_;
  near_ranks near_;
  std::vector<step> local_;
  std::vector<stores> stores_;
  std::vector<chunk> sends_, receives_;
  std::vector<messages::memory> send_buffers_, receive_buffers_;
  mutable std::mutex one_call_;
  mutable bool broken_ = false;
};

}  // namespace cornerturn::distributed
