// A CPU plan that is executed often measures itself: its first calls run one of its likely offers each, and the fastest one stays.
//   1. each offer runs once, the cheapest prediction first
//   2. the fastest ones run again
//   3. the offer with the shortest time stays; from then on this costs a call one load
// A call is timed only if no other call of the plan runs meanwhile. All other calls run the cheapest offer, and if there are too many
// of them, the plan stops to measure. All state is atomic: no lock, no thread waits, and a child of fork() goes on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.hpp"
#include "plan/choose.hpp"

namespace cornerturn::running {

class self_measurement {
 public:
  // The time over the fastest row's, geometric mean and worst, of 117 random problems with the constants of a Zen 3 on another machine:
  // 1.104 and 3.82 without measurement. Offers of up to 1.33 times the cheapest: 1.074, 3.82; up to 2 times: 1.034, 3.82; up to 3
  // times: 1.007, 1.23 (Intel Xeon, model 207, one thread, 2026-11-27).
  static constexpr double most_time = 3;  // of an offer, relative to the cheapest one
  static constexpr int most_offers = 6;
  static constexpr int finalists = 2;              // offers that run again
  static constexpr std::uint64_t most_calls = 64;  // then the plan stops to measure, however few calls were alone
  static constexpr double least_gain = 0.98;  // another offer must take less than this share of the cheapest one's time

  // Requires  two offers or more, at most most_offers, the cheapest first
  explicit self_measurement(std::vector<kernels::offer> offers) noexcept;

  // Returns the offer that all later calls run; null: it is not known yet
  [[nodiscard]] const kernels::offer* settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  // Effect  calls run(offer) once. run may throw
  template <class Run>
  void call(const Run& run) {
    if (const kernels::offer* const known = settled()) return run(*known);
    turn mine(*this);
    if (!mine.is_timed()) return run(mine.offer());
    const std::int64_t begin = now();
    run(mine.offer());
    mine.took(now() - begin);
  }

  [[nodiscard]] std::span<const kernels::offer> offers() const noexcept { return offers_; }
  // Returns the shortest time of one of offers(), in ns; 0: it was not timed
  [[nodiscard]] std::int64_t time_of(const kernels::offer& one) const noexcept {
    return times_[number_of(one)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return static_cast<std::int64_t>(sizeof *this + offers_.capacity() * sizeof(kernels::offer));
  }

  // One call while the offer is not known.
  class turn {
   public:
    explicit turn(self_measurement& of) noexcept;
    ~turn() { of_.calls_.fetch_sub(1, std::memory_order_acq_rel); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    [[nodiscard]] const kernels::offer& offer() const noexcept { return *offer_; }
    [[nodiscard]] bool is_timed() const noexcept { return is_timed_; }
    // Effect  stores the time of the call, unless another call has begun since this one did
    // Requires  is_timed()
    void took(std::int64_t nanoseconds) noexcept;

   private:
    self_measurement& of_;
    const kernels::offer* offer_;
    std::uint64_t before_;  // calls that had begun
    bool is_timed_ = false;
  };

 private:
  [[nodiscard]] std::size_t number_of(const kernels::offer& one) const noexcept {
    return static_cast<std::size_t>(&one - offers_.data());
  }
  [[nodiscard]] std::int64_t now() const noexcept;
  [[nodiscard]] const kernels::offer* next_try() const noexcept;  // null: all are done
  void settle() noexcept;

  // calls_ has the calls that have not ended in its low bits, and above them the calls that have begun.
  static constexpr int begun_shift = 20;

  const std::vector<kernels::offer> offers_;
  std::atomic<const kernels::offer*> settled_{nullptr};
  std::atomic<std::uint64_t> calls_{0};
  std::array<std::atomic<std::int64_t>, most_offers> times_{};  // ns, the shortest one; 0: none
  std::array<std::atomic<int>, most_offers> tries_{};
};

// Returns the offers that a plan measures, the cheapest first. Fewer than two: there is nothing to measure
[[nodiscard]] std::vector<kernels::offer> likely_offers(const map::canonical& form, const planning::cpu_request& wanted,
                                                        const base::machine& machine);

}  // namespace cornerturn::running
