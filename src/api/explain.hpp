// Text that plan.explain() and batch.explain() share.
#pragma once

#include <iosfwd>
#include <vector>

#include "kernels/kernel.hpp"

namespace cornerturn::detail {

// Effect  prints every offer, the fastest first: the prediction, the resource that limits it, and by how much it lost
void print_offers(std::ostream& out, const std::vector<kernels::offer>& all, const kernels::kernel* chosen,
                  bool with_reasons);

}  // namespace cornerturn::detail
