// Text from elsewhere, as text that is safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cornerturn::base {

// Effect  returns the bytes of the longest prefix that is valid UTF-8
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// Effect  returns the text in one line of valid UTF-8. Control characters (C0, DEL, C1), line and paragraph separators and the
//         controls of writing direction become \x1b or \u202e. Each byte that is no UTF-8 becomes \xff.
//         Every sentence of an error passes this function. So no name and no byte of a file can move the cursor of a terminal,
//         reverse a line or end the sentence
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cornerturn::base
