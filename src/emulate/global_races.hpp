// Finds races through global memory: a store to a byte that another thread loads, if nothing orders the load first.
//   1. A block barrier orders all earlier accesses of the block before all later ones
//   2. A signal (publish_bit, raise_flag) publishes the accesses before the block's last barrier, the signalling thread's
//      own accesses, and everything that this thread has heard of
//   3. A thread that waits for the signal hears of all that. The other threads of its block hear of it at their next barrier
//   4. Looking at a flag (read_flag, claim_bit) orders nothing
// Flags order loads before stores only. A load of a byte that the launch stored earlier is a fault in any case, and so is a
// second store: see emulator.cpp. A raised flag covers a load whose register is unused so far, which a GPU's need not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cornerturn::emulated {

// When a thread accesses memory: after so many barriers of its block, and so many signals of its own.
struct moment {
  std::uint32_t block = 0;
  std::uint32_t epoch = 0;
  std::uint16_t thread = 0;
  std::uint16_t signals = 0;
};

// The accesses of other blocks that a thread, or all threads of a block, may rely on as finished.
class knowledge {
 public:
  [[nodiscard]] bool covers(const moment& when) const;
  void add(const knowledge& other);
  // Adds what a signal of this moment publishes of its own block.
  void add(const moment& signal);
  void clear() { epochs_.clear(), moments_.clear(); }

 private:
  void add_epoch(std::uint32_t block, std::uint32_t epoch);
  void add_moment(const moment& one);

  std::vector<std::pair<std::uint32_t, std::uint32_t>> epochs_;  // block, its first epoch that is not covered; sorted
  std::vector<moment> moments_;  // a thread's accesses up to this signal; one per thread
};

// The signals of one launch. A signal is a bit of a flag, or the whole flag if it counts.
class signal_board {
 public:
  void clear() { all_.clear(); }
  knowledge& of(const std::uint32_t* flag, std::uint32_t bits) { return all_[{flag, bits}]; }

 private:
  std::map<std::pair<const std::uint32_t*, std::uint32_t>, knowledge> all_;
};

// Who has loaded each byte of the watched range. Bytes are kept in granules of four.
class global_races {
 public:
  // Forgets all loads, and watches the bytes [begin, end). An empty range watches nothing.
  void watch(const void* begin, const void* end);
  void load(const void* address, int size, const moment& by);
  // Returns a load of one of these bytes that nothing orders before a store by `by`.
  [[nodiscard]] std::optional<moment> store(const void* address, int size, const moment& by, const knowledge& of_block,
                                            const knowledge& of_thread) const;

 private:
  static constexpr int granule_bytes = 4;
  struct mark {
    moment by;
    std::uint8_t bytes = 0;  // a bit for each byte of the granule; 0: unused
  };
  struct granule {
    mark marks[2];
  };
  template <class Visit>
  void for_each_granule(const void* address, int size, const Visit& visit) const;
  void add(std::size_t number, std::uint8_t bytes, const moment& by);

  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::vector<granule> granules_;
  std::unordered_map<std::size_t, std::vector<mark>> more_;  // of granules with more than two marks
};

}  // namespace cornerturn::emulated
