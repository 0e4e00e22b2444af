// Which kernel moves a problem: every row of the list is asked for an offer, and the cheapest offer wins.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/machine.hpp"
#include "kernels/family.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"

namespace cornerturn::planning {

// The rows that are asked: CPU rows if the target has a CPU, else GPU rows.
struct request {
  kernels::row_kind kind = kernels::row_kind::move;
  std::string_view kernel = {};  // this row only; empty: all but the oracles of the tests
  std::string_view family = {};  // of this family only; empty: of all
};

// Effect  asks one row
// Returns false if the row is not of the kind and family wanted, or does not accept the problem; then `made` is unspecified
[[nodiscard]] bool offer_of(const kernels::kernel& row, const kernels::facts& known, const kernels::target& on,
                            const request& wanted, kernels::offer& made) noexcept;

// Returns  the cheapest offer; the earlier row wins a tie. Its row is null where no row accepts the problem
[[nodiscard]] kernels::offer choose(const kernels::facts& known, const kernels::target& on,
                                    const request& wanted) noexcept;

// Returns all offers, cheapest first
[[nodiscard]] std::vector<kernels::offer> offers(const kernels::facts& known, const kernels::target& on,
                                                 const request& wanted);

// No address space has more: 56 bits with five levels of page tables. A problem that spans more is checked, planned and explained,
// but no pointer can be valid for it. Only rows that neither add nor multiply strides are asked about it, so that all others may
// compute with 64 bits.
inline constexpr std::int64_t widest_span_bytes = std::int64_t{1} << 56;
[[nodiscard]] bool fits_address_space(const map::canonical& form) noexcept;

// On the CPU.
struct cpu_request {
  int threads = 1;                    // upper bound
  std::string_view kernel = {};       // force this row
  std::int64_t beside_bytes = 0;      // written by the same call besides dst: the cache would have to hold them too
  const kernels::op* math = nullptr;  // of a problem that computes
  const map::in_place_form* in_place = nullptr;  // of a problem in place whose elements are swapped
  const kernels::item_cycles* cycles =
      nullptr;  // of a step in place whose items follow cycles; then the form is unused
};
[[nodiscard]] kernels::offer choose(const map::canonical& form, const cpu_request& wanted,
                                    const base::machine& machine) noexcept;
// Returns all offers, cheapest first
[[nodiscard]] std::vector<kernels::offer> offers(const map::canonical& form, const cpu_request& wanted,
                                                 const base::machine& machine);

// The target of a GPU.
[[nodiscard]] kernels::target target_of(const kernels::gpu_traits& device) noexcept;

}  // namespace cornerturn::planning
