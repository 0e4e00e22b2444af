// dist::plan between the processes of an MPI communicator. Not part of cornerturn.hpp: it includes <mpi.h> of the program's own MPI,
// and the library is compiled without any. CMake: link cornerturn::cornerturn and MPI::MPI_CXX.
#pragma once

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdint>
#include <thread>
#include <vector>

#include "cornerturn/dist.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::mpi {

class communicator {
 public:
  // Effect  makes a communicator for dist::plan with the ranks of `ranks`, which it duplicates. All ranks call it together
  // Errors  device_error: MPI failed
  explicit communicator(MPI_Comm ranks) {
    const bool made = MPI_Comm_dup(ranks, &own_) == MPI_SUCCESS &&
                      MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
                      MPI_Comm_rank(own_, &all_.rank) == MPI_SUCCESS && MPI_Comm_size(own_, &all_.size) == MPI_SUCCESS;
    if (!made) throw error(status::device_error, "MPI did not duplicate the communicator");
    all_.context = this;
    all_.send = send;
    all_.receive = receive;
    all_.wait_any = wait_any;
    all_.cancel = cancel;
  }
  // Shape  all ranks destroy it together, after all plans that use it
  ~communicator() {
    int finalized = 0;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) MPI_Comm_free(&own_);
  }
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  [[nodiscard]] const dist::communicator& get() const noexcept { return all_; }

 private:
  struct slot {
    MPI_Request request = MPI_REQUEST_NULL;
    bool sends = false;
    bool used = false;
  };

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
        *done = k;
        return true;
      }
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) return true;
      std::this_thread::yield();
    }
  }
  // A receive can be cancelled. A message that is being sent cannot: MPI may still read its bytes.
  static bool cancel(void* context, std::int64_t request) {
    slot& one = self(context).slots_[static_cast<std::size_t>(request)];
    one.used = false;
    if (one.sends) {
      MPI_Request_free(&one.request);
      return false;
    }
    return MPI_Cancel(&one.request) == MPI_SUCCESS && MPI_Wait(&one.request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  }

  MPI_Comm own_ = MPI_COMM_NULL;
  std::vector<slot> slots_;
  dist::communicator all_;
};

}  // namespace cornerturn::mpi
