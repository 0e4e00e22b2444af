// A communicator whose ranks are threads of this process. A message is copied from the sender's memory when it is received. Ranks of
// one host, so many neighbours, share the memory that share() names.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "cornerturn/dist.hpp"
#include "dist/messages.hpp"

namespace cornerturn::testing {

class thread_ranks {
 public:
  // ranks_of_a_host: 0: the functions of shared memory are null
  explicit thread_ranks(int size, int ranks_of_a_host = 0) : size_(size), ranks_of_a_host_(ranks_of_a_host) {
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
    if (ranks_of_a_host_ == 0) return made;
    made.is_near = [](void* context, int other) {
      const end& mine = *static_cast<end*>(context);
      return other / mine.all->ranks_of_a_host_ == mine.rank / mine.all->ranks_of_a_host_;
    };
    made.place_of = [](void* context, const void* block, std::int64_t bytes) {
      const auto* const at = static_cast<const std::byte*>(block);
      const std::vector<part>& all = static_cast<end*>(context)->all->shared_;
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (std::less<>()(at, all[k].begin) || std::less<>()(all[k].begin + all[k].bytes, at + bytes)) continue;
        return dist::shared_place{static_cast<std::int64_t>(k), at - all[k].begin};
      }
      return dist::shared_place{};
    };
    made.address_of = [](void* context, int other, dist::shared_place place) -> void* {
      const end& mine = *static_cast<end*>(context);
      ++mine.all->addresses_;
      if (other / mine.all->ranks_of_a_host_ != mine.rank / mine.all->ranks_of_a_host_) return nullptr;
      if (place.window == mine.all->lost_) return nullptr;
      return mine.all->shared_[static_cast<std::size_t>(place.window)].begin + place.offset;
    };
    return made;
  }

  // Before the ranks run.
  void share(std::vector<std::byte>& memory) {
    shared_.push_back({memory.data(), static_cast<std::int64_t>(memory.size())});
  }
  // A window without an address on other ranks.
  void lose(std::int64_t window) { lost_ = window; }

  // Runs body(rank) on a thread for each rank.
  void run(const std::function<void(int rank)>& body) const {
    std::vector<std::thread> all;
    for (int rank = 0; rank < size_; ++rank) all.emplace_back([&body, rank] { body(rank); });
    for (std::thread& one : all) one.join();
  }

  [[nodiscard]] std::int64_t longest() const { return longest_; }
  // Messages of a kind of any plan, and addresses of blocks that ranks asked for
  [[nodiscard]] int sent(distributed::message_kind kind) const {
    const auto found = sent_.find(kind);
    return found == sent_.end() ? 0 : found->second;
  }
  [[nodiscard]] int addresses() const { return addresses_; }

 private:
  struct end {
    thread_ranks* all;
    int rank;
  };
  struct part {
    std::byte* begin;
    std::int64_t bytes;
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
    if (one.sends) ++sent_[one.tag % 8];
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

  // As with MPI, a message that was sent arrives.
  void cancel(std::int64_t request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.remove_if([request](const message& one) { return one.request == request && (one.done || !one.sends); });
    for (message& one : all_) {
      if (one.request != request) continue;
      const auto* const data = static_cast<const std::byte*>(one.data);
      one.data = sent_bytes_.emplace_back(data, data + one.bytes).data();
    }
  }

  int size_, ranks_of_a_host_;
  std::vector<part> shared_;
  std::int64_t lost_ = -1;
  std::atomic<int> addresses_ = 0;
  std::map<int, int> sent_;
  std::list<std::vector<std::byte>> sent_bytes_;
  std::vector<end> ends_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<message> all_;  // in the order of their calls
  std::int64_t last_ = 0, longest_ = 0;
};

}  // namespace cornerturn::testing
