// Numbers as text, and text as numbers, in no locale: a program that calls setlocale() or std::locale::global() changes nothing.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace cornerturn::base {

// Effect  returns the number with at most so many significant digits, as printf's %g does: "0.00125", "1e-09"
[[nodiscard]] inline std::string decimal(double value, int digits = 6) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

// Effect  returns the number with so many digits behind the point, at least `width` characters long
[[nodiscard]] inline std::string fixed(double value, int places, std::size_t width = 0) {
  char text[400];  // the largest double has 309 digits before the point
  const auto done = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, places);
  std::string made(text, done.ptr);
  if (made.size() < width) made.insert(0, width - made.size(), ' ');
  return made;
}

// Effect  reads a whole text as a number. Returns false, and leaves `number` alone, if the text is anything else
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& number) noexcept {
  Number read{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (fault != std::errc{} || end != text.data() + text.size()) return false;
  number = read;
  return true;
}

}  // namespace cornerturn::base
