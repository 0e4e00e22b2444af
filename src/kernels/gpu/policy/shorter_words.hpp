#pragma once

#include "kernels/family.hpp"

namespace cornerturn::gpu {

// True if a row of the offer's family for shorter words may be faster than the row of the offer
[[nodiscard]] bool shorter_words_may_win(const kernels::offer& made) noexcept;

}  // namespace cornerturn::gpu
