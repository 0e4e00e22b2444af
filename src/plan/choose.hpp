// Which kernel moves a canonical problem, and how the work is cut: one numbered list, see choose.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/machine.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning {

struct request {
  int threads = 1;                // upper bound
  std::string_view kernel;        // force this row; empty: let the list decide
  std::int64_t beside_bytes = 0;  // written by the same call besides dst: the cache would have to hold them too
};

struct choice {
  const kernels::kernel* kernel = nullptr;  // null: the forced row cannot move this problem
  kernels::job work;
  int threads = 1;
  int line = 0;  // of the decision list
  const char* reason = "";
};

// How strips-inl.hpp walks the rows and cols of a job whose dst has words of so many bytes.
void cut_strips(kernels::job& work, std::int64_t word_bytes, const cpu_tuning& tuned) noexcept;

[[nodiscard]] choice choose(const map::canonical& form, const request& wanted, const base::machine& machine) noexcept;

}  // namespace cornerturn::planning
