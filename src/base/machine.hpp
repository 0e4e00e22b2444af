// The caches and the vendor of this machine's CPU, read once.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::base {

struct machine {
  std::string cpu_model;  // "AMD EPYC", "" when unknown
  bool amd = false;       // selects a tuning row
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
  std::int64_t page_bytes = 0;
};

[[nodiscard]] const machine& this_machine();

}  // namespace cornerturn::base
