// Ranks that share memory: a rank stores to the blocks of another one, without a message.
//   1. the plan: a rank sends the strides of its blocks of dst to each near rank that has elements for it
//   2. a call: it sends the places of its blocks to these ranks, or that a block is in other memory. The blocks of a rank are all
//      in shared memory, or messages fill them all: so both sides know which messages there are
// Two orders make the stores safe, and each is a message that there must be anyway:
//   * before the stores: the owner's earlier accesses to its blocks, then its places, then the stores of the rank that received them
//   * after the stores: the stores, then the record of the rank that stored, then the verdict of all ranks, then the owner's loads
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "dist/messages.hpp"
#include "dist/route.hpp"

namespace cornerturn::distributed {

class near_ranks {
 public:
  // Effect  1. All ranks call it together, with equal problems. Without the functions of shared memory no rank is near
  // Errors  device_error: a message failed or is late
  near_ranks(const task& all, const dist::communicator& ranks, std::uint32_t plan, double seconds);

  // Returns the blocks of dst of a near rank that this rank has elements for; null: it is another rank
  [[nodiscard]] const stored_blocks* blocks_of(int rank) const;
  // Whether data of this rank, or for it, may need no message: of any rank, of one
  [[nodiscard]] bool any() const noexcept { return !targets_.empty() || !sources_.empty(); }
  [[nodiscard]] bool has(int rank) const;

  class call {
   public:
    // Returns the addresses here of a rank's blocks of dst; null: it gets messages
    [[nodiscard]] const std::vector<std::byte*>* blocks_of(int rank) const;
    // Whether a rank stores to the blocks of this rank, and sends no message
    [[nodiscard]] bool is_stored_by(int rank) const;

   private:
    friend class near_ranks;
    std::map<int, std::vector<std::byte*>> targets_;
    std::vector<int> sources_;
  };
  // Effect  2. All ranks call it together. dst: the blocks of this rank
  // Errors  device_error: a message failed or is late; a place has no address here
  [[nodiscard]] call exchanged(const dist::communicator& ranks, std::span<void* const> dst, std::uint32_t plan,
                               double seconds) const;

 private:
  struct bounds {
    std::int64_t first = 0;  // from the block's pointer to its first byte
    std::int64_t bytes = 0;  // from its first byte to its last one; 0: an empty block
  };
  [[nodiscard]] std::vector<dist::shared_place> places(const dist::communicator& ranks,
                                                       std::span<void* const> dst) const;

  std::map<int, stored_blocks> targets_;  // near ranks that this rank has elements for
  std::vector<int> sources_;              // near ranks that have elements for this rank
  std::vector<bounds> mine_;              // of each block of dst of this rank
};

}  // namespace cornerturn::distributed
