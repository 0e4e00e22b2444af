// A communicator whose ranks are threads of this process. A message is copied from the sender's memory when it is received.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "cornerturn/dist.hpp"

namespace cornerturn::testing {

class thread_ranks {
 public:
  explicit thread_ranks(int size) : size_(size) {
    for (int rank = 0; rank < size; ++rank) ends_.push_back({this, rank});
  }

  [[nodiscard]] dist::communicator of(int rank) {
    dist::communicator made;
    made.context = &ends_[static_cast<std::size_t>(rank)];
    made.rank = rank;
    made.size = size_;
    made.send = [](void* context, const void* data, std::int64_t bytes, int to, int tag, std::int64_t* request) {
      const end& mine = *static_cast<end*>(context);
      return mine.all->start({const_cast<void*>(data), bytes, mine.rank, to, tag, true}, request);
    };
    made.receive = [](void* context, void* data, std::int64_t bytes, int from, int tag, std::int64_t* request) {
      const end& mine = *static_cast<end*>(context);
      return mine.all->start({data, bytes, from, mine.rank, tag, false}, request);
    };
    made.wait_any = [](void* context, const std::int64_t* requests, int count, double seconds, int* done) {
      return static_cast<end*>(context)->all->wait_any(requests, count, seconds, done);
    };
    made.cancel = [](void* context, std::int64_t request) {
      static_cast<end*>(context)->all->cancel(request);
      return true;
    };
    return made;
  }

  // Runs body(rank) on a thread for each rank.
  void run(const std::function<void(int rank)>& body) const {
    std::vector<std::thread> all;
    for (int rank = 0; rank < size_; ++rank) all.emplace_back([&body, rank] { body(rank); });
    for (std::thread& one : all) one.join();
  }

  [[nodiscard]] std::int64_t longest() const { return longest_; }

 private:
  struct end {
    thread_ranks* all;
    int rank;
  };
  struct message {
    void* data;
    std::int64_t bytes;
    int from, to, tag;
    bool sends;
    std::int64_t request = 0;
    bool done = false;
  };

  bool start(message one, std::int64_t* request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    one.request = *request = ++last_;
    longest_ = std::max(longest_, one.bytes);
    for (message& other : all_) {
      if (other.done || other.sends == one.sends || other.from != one.from || other.to != one.to ||
          other.tag != one.tag)
        continue;
      if (other.bytes != one.bytes) return false;
      std::memcpy(one.sends ? other.data : one.data, one.sends ? one.data : other.data,
                  static_cast<std::size_t>(one.bytes));
      other.done = one.done = true;
      break;
    }
    all_.push_back(one);
    changed_.notify_all();
    return true;
  }

  bool wait_any(const std::int64_t* requests, int count, double seconds, int* done) {
    std::unique_lock<std::mutex> lock(mutex_);
    *done = -1;
    const auto any = [&] {
      for (int k = 0; k < count; ++k) {
        for (auto one = all_.begin(); one != all_.end(); ++one) {
          if (one->request != requests[k] || !one->done) continue;
          all_.erase(one);
          *done = k;
          return true;
        }
      }
      return false;
    };
    static_cast<void>(changed_.wait_for(lock, std::chrono::duration<double>(seconds), any));
    return true;
  }

  void cancel(std::int64_t request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.remove_if([request](const message& one) { return one.request == request; });
  }

  int size_;
  std::vector<end> ends_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<message> all_;  // in the order of their calls
  std::int64_t last_ = 0, longest_ = 0;
};

}  // namespace cornerturn::testing
