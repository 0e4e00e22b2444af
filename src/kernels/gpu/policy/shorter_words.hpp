#pragma once

#include <optional>
#include <string_view>

#include "kernels/family.hpp"

namespace cornerturn::gpu {

// Returns the family whose rows for shorter words may be faster than the row of the offer; no value: none.
//         is_large: the problem does not stay in L2
[[nodiscard]] std::optional<std::string_view> family_of_shorter_words(const kernels::offer& made,
                                                                      bool is_large) noexcept;

}  // namespace cornerturn::gpu
