// The only way in which the command prints text: whatever a file, a name or a driver put into it, no terminal obeys it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace cornerturn::cli {

// Effect  writes the text. Line breaks stay; all else that base::printable escapes is escaped. run() in app.cpp reports a stream
//         that cannot be written
void print_text(std::FILE* to, std::string_view text);

template <class... Arguments>
void print_safe(std::FILE* to, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(to, fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
void print_safe(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace cornerturn::cli
