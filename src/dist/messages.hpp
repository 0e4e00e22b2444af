// Messages in flight, and the agreement of all ranks on one sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cornerturn/dist.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::distributed {

enum message_kind : int { record_kind = 1, verdict_kind = 2, data_kind = 3, strides_kind = 4, places_kind = 5 };

// A plan's messages have tags of its own, so that none that a failed call leaves over arrives at another plan. Each MPI allows tags
// up to 32,767.
constexpr int tag_of(message_kind kind, std::uint32_t plan) { return static_cast<int>(plan % 4000) * 8 + kind; }

// A rank or a message did not come in time: the consequence of another rank's fault, if one has told of a fault.
class late : public error {
 public:
  using error::error;
};

// The messages of one rank that are not complete. It owns their memory: a message that cannot be abandoned keeps it for ever.
class messages {
 public:
  using memory = std::shared_ptr<std::byte[]>;
  struct one {
    std::int64_t request = 0;
    memory bytes;
    int peer = 0;
    bool sent = false;
    std::int64_t number = 0;  // of the caller
  };

  // plan: the number that its agreement returned; 0: an agreement
  messages(const dist::communicator& ranks, std::uint32_t plan) : ranks_(ranks), plan_(plan) {}
  ~messages();
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;

  // Errors  device_error: the transport failed
  void send(memory bytes, std::int64_t count, int to, message_kind kind, std::int64_t number = 0);
  void receive(memory bytes, std::int64_t count, int from, message_kind kind, std::int64_t number = 0);
  // Returns the next complete message
  // Errors  device_error: the transport failed, or (as late) no message is complete after `seconds`
  [[nodiscard]] one wait(double seconds);
  // Returns a complete message, if there is one
  // Errors  device_error: the transport failed
  [[nodiscard]] std::optional<one> poll();
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

 private:
  [[nodiscard]] std::optional<one> next(double seconds);

  const dist::communicator& ranks_;
  std::uint32_t plan_;
  std::vector<one> all_;
  std::vector<std::int64_t> requests_;  // of all_
};

// A rank's part of an agreement. Equal problems have equal numbers.
struct record {
  std::uint64_t version = 0, array = 0, src = 0, dst = 0, options = 0;
  std::int32_t ranks = 0;
  std::uint32_t plan = 0;    // its number; 0: it has none yet
  status code = status::ok;  // else `sentence` has the reason
  bool is_late = false;      // the reason is another rank
  char sentence[400] = {};
  void fail(const error& reason) noexcept;
};

// Effect  rank 0 compares all records, and every rank learns the result
// Returns the number of the plan, equal on all ranks: the record's, or one that rank 0 gave to no plan before
// Errors  on every rank with one sentence: the error of the first rank that has one; invalid_argument: a rank's numbers are not rank
//         0's. device_error: a rank did not answer; a message is of an earlier agreement, which failed
std::uint32_t agree(const dist::communicator& ranks, const record& mine, double seconds);

}  // namespace cornerturn::distributed
