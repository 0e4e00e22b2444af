// Which kernel moves a problem: every row of the list is asked for an offer, and the cheapest offer wins.
#pragma once

#include <string_view>

#include "kernels/family.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::planning {

struct wish {
  std::string_view backend = "cuda";
  kernels::row_kind kind = kernels::row_kind::move;
  std::string_view kernel = {};  // force this row; empty: the cheapest of all
  std::string_view family = {};  // of this family only; empty: of all
};

// Effect  calls take(offer) for each row that can move the problem, in the order of the list
template <class Take>
void ask(const kernels::facts& known, const kernels::target& on, const wish& wanted, const Take& take) {
  kernels::offer made;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.kind != wanted.kind || row.offer == nullptr || row.backend != wanted.backend) continue;
    if (!wanted.kernel.empty() && wanted.kernel != row.name) continue;
    if (!wanted.family.empty() && wanted.family != row.family) continue;
    made.row = &row;
    if (row.offer(known, on, row, made)) take(static_cast<const kernels::offer&>(made));
  }
}

// Returns  the cheapest offer; the earlier row of two equal ones. Its row is null where no row can move the problem
[[nodiscard]] kernels::offer choose(const kernels::facts& known, const kernels::target& on,
                                    const wish& wanted) noexcept;

// The target of a GPU.
[[nodiscard]] kernels::target target_of(int arch, int multiprocessors, std::int64_t shared_bytes) noexcept;

}  // namespace cornerturn::planning
