// Values that are made at their first use. No thread waits for another one that makes a value: with a static of a function a
// child of fork() would wait for ever for a thread that only its parent has.
#pragma once

#include <algorithm>
#include <atomic>

namespace cornerturn::base {

// Threads that come first at the same time make a value each, and one is kept. Never destroyed: late calls read it, too.
template <class T>
class lazy {
 public:
  template <class Make>
  T& get(const Make& make) {
    T* found = made_.load(std::memory_order_acquire);
    if (found != nullptr) return *found;
    T* const mine = new T(make());
    if (made_.compare_exchange_strong(found, mine, std::memory_order_acq_rel, std::memory_order_acquire)) return *mine;
    delete mine;
    return *found;
  }

 private:
  std::atomic<T*> made_{nullptr};
};

// A number of 0 or more, and a smaller one counts as 0. It needs no memory.
class lazy_number {
 public:
  template <class Read>
  int get(const Read& read) noexcept {
    int found = known_.load(std::memory_order_relaxed);
    if (found < 0) known_.store(found = std::max(0, read()), std::memory_order_relaxed);
    return found;
  }

 private:
  std::atomic<int> known_{-1};
};

}  // namespace cornerturn::base
