#include "base/printable.hpp"

#include <array>
#include <cstdint>

namespace cornerturn::base {
namespace {

struct character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// Unicode, table 3-7: no surrogates, nothing beyond U+10FFFF and no longer form than needed.
character first_of(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80                   ? 1
                            : lead >= 0xC2 && lead < 0xE0 ? 2
                            : (lead & 0xF0) == 0xE0       ? 3
                            : lead >= 0xF0 && lead < 0xF5 ? 4
                                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = bytes == 1 ? lead : lead & (0x7FU >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3FU);
  }
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  const bool is_too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  return is_surrogate || is_too_long || code > 0x10FFFF ? character{} : character{code, bytes};
}

bool is_control(std::uint32_t code) noexcept {
  struct range {
    std::uint32_t first, last;
  };
  static constexpr std::array<range, 8> ranges{{{0x00, 0x1F},
                                                {0x7F, 0x9F},
                                                {0x061C, 0x061C},
                                                {0x200E, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2066, 0x206F},
                                                {0xFEFF, 0xFEFF},
                                                {0xE0000, 0xE007F}}};
  for (const range& one : ranges) {
    if (code >= one.first && code <= one.last) return true;
  }
  return false;
}

void append_escape(std::string& out, char letter, std::uint32_t value, int digits) {
  out += '\\';
  out += letter;
  for (int k = digits - 1; k >= 0; --k) out += "0123456789abcdef"[value >> (4 * k) & 15];
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = first_of(text.substr(at)).bytes;
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const character next = first_of(text);
    if (next.bytes == 0) {
      append_escape(out, 'x', static_cast<unsigned char>(text[0]), 2);
    } else if (!is_control(next.code)) {
      out.append(text.substr(0, next.bytes));
    } else if (next.code < 0x80) {
      append_escape(out, 'x', next.code, 2);
    } else {
      append_escape(out, next.code < 0x10000 ? 'u' : 'U', next.code, next.code < 0x10000 ? 4 : 8);
    }
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return out;
}

}  // namespace cornerturn::base
