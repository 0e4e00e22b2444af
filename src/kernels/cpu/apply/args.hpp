// The arguments of the family apply: arithmetic, conversion, or two destinations.
#pragma once

#include "kernels/cpu/blocking.hpp"
#include "kernels/op.hpp"

namespace cornerturn::kernels::cpu::apply {

struct args : blocking {
  std::int64_t dst_word_bytes = 1;
  op math{};
};

struct strips_args : args {
  std::int64_t lines = 2;  // lines of a dst run that are written together
};

}  // namespace cornerturn::kernels::cpu::apply
