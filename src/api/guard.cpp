#include "api/guard.hpp"

#include <string>

#include "base/lazy.hpp"

namespace cornerturn::api {
namespace {

struct prepared {
  error no_memory{status::out_of_memory, "out of memory"};
  error a_defect{status::internal,
                 "an unexpected failure inside the library. Please report it with the call's arguments"};
};

const prepared& errors() {
  constinit static base::lazy<const prepared> made;
  return made.get([] { return prepared{}; });
}

// While there is memory.
[[maybe_unused]] const prepared& made_at_load = errors();

}  // namespace

const error& no_memory() noexcept { return errors().no_memory; }
const error& a_defect() noexcept { return errors().a_defect; }

}  // namespace cornerturn::api
