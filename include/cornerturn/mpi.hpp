// dist::plan between the processes of an MPI communicator. Not part of cornerturn.hpp: it includes <mpi.h> of the program's own MPI,
// and the library is compiled without any. CMake: link cornerturn::cornerturn and MPI::MPI_CXX.
#pragma once

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cornerturn/dist.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::mpi {

class memory;

class communicator {
 public:
  // Effect  makes a communicator for dist::plan with the ranks of `ranks`, which it duplicates. All ranks call it together
  // Errors  device_error: MPI failed
  explicit communicator(MPI_Comm ranks) {
    const bool made =
        MPI_Comm_dup(ranks, &own_) == MPI_SUCCESS && MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
        MPI_Comm_rank(own_, &all_.rank) == MPI_SUCCESS && MPI_Comm_size(own_, &all_.size) == MPI_SUCCESS && find_host();
    if (!made) throw error(status::device_error, "MPI did not duplicate the communicator");
    all_.context = this;
    all_.send = send;
    all_.receive = receive;
    all_.wait_any = wait_any;
    all_.cancel = cancel;
    all_.is_near = is_near;
    all_.place_of = place_of;
    all_.address_of = address_of;
  }
  // Shape  all ranks destroy it together, after all memory and all plans that use it
  ~communicator() {
    int finalized = 0;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
    MPI_Comm_free(&host_);
    MPI_Comm_free(&own_);
  }
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  [[nodiscard]] const dist::communicator& get() const noexcept { return all_; }

 private:
  friend class memory;
  struct slot {
    MPI_Request request = MPI_REQUEST_NULL;
    bool sends = false;
    bool used = false;
  };
  struct window {
    MPI_Win all = MPI_WIN_NULL;
    std::vector<std::byte*> begins;  // here, by rank of host_
    std::int64_t bytes = 0;          // of this rank
  };

  bool find_host() {
    MPI_Group all = MPI_GROUP_NULL, near = MPI_GROUP_NULL;
    if (MPI_Comm_split_type(own_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(host_, MPI_ERRORS_RETURN) != MPI_SUCCESS || MPI_Comm_group(own_, &all) != MPI_SUCCESS ||
        MPI_Comm_group(host_, &near) != MPI_SUCCESS) {
      return false;
    }
    std::vector<int> ranks;
    for (int rank = 0; rank < all_.size; ++rank) ranks.push_back(rank);
    near_.resize(ranks.size());
    const bool found = MPI_Group_translate_ranks(all, all_.size, ranks.data(), near, near_.data()) == MPI_SUCCESS;
    MPI_Group_free(&all);
    MPI_Group_free(&near);
    return found;
  }
  static bool is_near(void* context, int rank) {
    return self(context).near_[static_cast<std::size_t>(rank)] != MPI_UNDEFINED;
  }
  static dist::shared_place place_of(void* context, const void* block, std::int64_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    for (const auto& [number, one] : self(context).windows_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(one.begins[self(context).mine()]);
      const auto size = static_cast<std::uintptr_t>(one.bytes), wanted = static_cast<std::uintptr_t>(bytes);
      if (at < begin || at - begin > size || size - (at - begin) < wanted) continue;
      return {number, static_cast<std::int64_t>(at - begin)};
    }
    return {};
  }
  static void* address_of(void* context, int rank, dist::shared_place place) {
    const auto found = self(context).windows_.find(place.window);
    if (found == self(context).windows_.end()) return nullptr;
    const int near = self(context).near_[static_cast<std::size_t>(rank)];
    return found->second.begins[static_cast<std::size_t>(near)] + place.offset;
  }
  // Orders accesses to shared memory: the sender's accesses, then the message, then the receiver's accesses.
  void order_accesses() {
    for (const auto& [number, one] : windows_) MPI_Win_sync(one.all);
  }
  [[nodiscard]] std::size_t mine() const {
    return static_cast<std::size_t>(near_[static_cast<std::size_t>(all_.rank)]);
  }

  slot& free_slot(std::int64_t* number) {
    std::size_t at = 0;
    while (at < slots_.size() && slots_[at].used) ++at;
    if (at == slots_.size()) slots_.emplace_back();
    slots_[at] = {MPI_REQUEST_NULL, false, true};
    *number = static_cast<std::int64_t>(at);
    return slots_[at];
  }
  static communicator& self(void* context) { return *static_cast<communicator*>(context); }

  static bool send(void* context, const void* data, std::int64_t bytes, int to, int tag, std::int64_t* request) {
    if (bytes > INT_MAX) return false;
    self(context).order_accesses();  // stores to a block of another rank, before the record that tells of them
    slot& one = self(context).free_slot(request);
    one.sends = true;
    return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, self(context).own_, &one.request) == MPI_SUCCESS;
  }
  static bool receive(void* context, void* data, std::int64_t bytes, int from, int tag, std::int64_t* request) {
    if (bytes > INT_MAX) return false;
    slot& one = self(context).free_slot(request);
    return MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, self(context).own_, &one.request) ==
           MPI_SUCCESS;
  }
  // Other processes may need this core: the thread yields between two tests.
  static bool wait_any(void* context, const std::int64_t* requests, int count, double seconds, int* done) {
    std::vector<slot>& slots = self(context).slots_;
    const auto begin = std::chrono::steady_clock::now();
    for (*done = -1;;) {
      for (int k = 0; k < count; ++k) {
        slot& one = slots[static_cast<std::size_t>(requests[k])];
        int complete = 0;
        if (MPI_Test(&one.request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (complete == 0) continue;
        one.used = false;
        self(context).order_accesses();  // loads of a block of this rank, after the verdict that ends the stores
        *done = k;
        return true;
      }
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) return true;
      std::this_thread::yield();
    }
  }
  // A receive can be cancelled, but for one that has begun, whose rank may be gone. A message that is being sent cannot: MPI may still
  // read its bytes.
  static bool cancel(void* context, std::int64_t request) {
    slot& one = self(context).slots_[static_cast<std::size_t>(request)];
    one.used = false;
    int done = 0;
    if (!one.sends && MPI_Cancel(&one.request) == MPI_SUCCESS) {
      const auto begin = std::chrono::steady_clock::now();
      while (MPI_Test(&one.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) break;
        std::this_thread::yield();
      }
    }
    if (done == 0) MPI_Request_free(&one.request);
    return done != 0;
  }

  MPI_Comm own_ = MPI_COMM_NULL, host_ = MPI_COMM_NULL;
  std::vector<int> near_;  // the number in host_ of each rank
  std::map<std::int64_t, window> windows_;
  std::int64_t last_window_ = 0;  // equal on all ranks
  std::vector<slot> slots_;
  dist::communicator all_;
};

// Memory of this rank that the other ranks of its host can access. A plan stores to blocks of dst in such memory directly, and packs
// and sends nothing.
class memory {
 public:
  // Effect  allocates `bytes` for this rank; other ranks may want another number of bytes, also 0. Pages become resident when they
  //         are first used. All ranks call it together, in one order
  // Errors  invalid_argument, on all ranks: bytes is negative. out_of_memory, on all ranks of a host: MPI did not allocate the memory
  memory(communicator& ranks, std::int64_t bytes) : ranks_(ranks), number_(++ranks.last_window_) {
    // A rank's fault is every rank's, or the others would wait for it.
    std::int64_t least = bytes;
    const bool told = MPI_Allreduce(&bytes, &least, 1, MPI_INT64_T, MPI_MIN, ranks.own_) == MPI_SUCCESS;
    if (told && least < 0) {
      throw error(status::invalid_argument, "a rank wants " + std::to_string(least) + " bytes, wanted 0 or more");
    }
    communicator::window made;
    made.bytes = bytes;
    // Ranks get pages of their own, so the memory of a rank is near the rank that stores to it first.
    MPI_Info how = MPI_INFO_NULL;
    MPI_Info_create(&how);
    MPI_Info_set(how, "alloc_shared_noncontig", "true");
    void* begin = nullptr;
    const bool allocated = told && MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, how, ranks.host_, &begin,
                                                           &made.all) == MPI_SUCCESS;
    MPI_Info_free(&how);
    if (!allocated) {
      throw error(status::out_of_memory, "MPI did not allocate " + std::to_string(bytes) + " bytes of shared memory");
    }
    int size = 0;
    MPI_Comm_size(ranks.host_, &size);
    for (int rank = 0; rank < size; ++rank) {
      MPI_Aint their_bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(made.all, rank, &their_bytes, &unit, &begin);
      made.begins.push_back(static_cast<std::byte*>(begin));
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, made.all);  // the epoch of MPI_Win_sync
    data_ = made.begins[ranks.mine()];
    ranks.windows_.emplace(number_, std::move(made));
  }
  // Shape  all ranks destroy it together, after all calls that use it, and before the communicator
  ~memory() {
    int finalized = 0;
    const auto found = ranks_.windows_.find(number_);
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) {
      MPI_Win_unlock_all(found->second.all);
      MPI_Win_free(&found->second.all);
    }
    ranks_.windows_.erase(found);
  }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  communicator& ranks_;
  std::int64_t number_;
  void* data_ = nullptr;
};

}  // namespace cornerturn::mpi
