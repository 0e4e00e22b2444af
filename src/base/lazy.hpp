// A value that is made at its first use.
#pragma once

#include <atomic>

namespace cornerturn::base {

// Threads that come first at the same time make a value each, and one is kept: no thread waits. With a static of a function a
// child of fork() would wait for ever if a thread of its parent was making the value. Never destroyed: late calls read it, too.
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

}  // namespace cornerturn::base
