// A canonical form in shorter words.
#pragma once

#include "map/canonical.hpp"

namespace cornerturn::map {

// Returns  the form in words of at most max_word_bytes: canonicalize() with that limit. For a problem that only moves
[[nodiscard]] canonical in_words(const canonical& form, std::int64_t max_word_bytes) noexcept;

}  // namespace cornerturn::map
