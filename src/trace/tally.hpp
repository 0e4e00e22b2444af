// Adds requests that the emulator tells to the model's counts.
#pragma once

#include "emulate/emulator.hpp"
#include "model/count.hpp"

namespace cornerturn::trace {

class tally {
 public:
  explicit tally(const model::memory_rules& rules, bool has_async_copy = true);

  // Adds `times` requests.
  void add(const emulated::request& one, std::int64_t times = 1);
  // For emulated::session: `context` is a tally.
  static void on_request(void* context, const emulated::request& one);

  model::traffic counts;
  std::int64_t atomics = 0;  // requests of atomic operations, which `counts` leaves out
  std::int64_t weight = 1;   // of each request that on_request adds

 private:
  void add_global(model::global_count& to, const model::warp_access& made, std::int64_t times) const;
  void add_shared(model::shared_count& to, const model::warp_access& made, std::int64_t times) const;

  model::memory_rules rules_;
  bool has_async_copy_;
};

}  // namespace cornerturn::trace
