#include "api/guard.hpp"

#include <string>

namespace cornerturn::api {
namespace {

// Never destroyed: a call may come out of a destructor at the end of the process.
struct prepared {
  error no_memory{status::out_of_memory, "out of memory"};
  error a_defect{status::internal,
                 "an unexpected failure inside the library. Please report it with the call's arguments"};
};

const prepared& errors() {
  static const prepared* const made = new prepared;
  return *made;
}

// While there is memory.
[[maybe_unused]] const prepared& made_at_load = errors();

}  // namespace

const error& no_memory() noexcept { return errors().no_memory; }
const error& a_defect() noexcept { return errors().a_defect; }

}  // namespace cornerturn::api
