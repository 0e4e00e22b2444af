// A recursive-descent parser with one function for each kind of literal. A depth limit bounds the stack.
#include "python_literal.hpp"

#include <fmt/format.h>

#include <charconv>

namespace cornerturn::cli {
namespace {

constexpr int max_depth = 32;  // nested dtypes of numpy have depths below ten

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6)), byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12)), byte(0x80 | ((code >> 6) & 0x3F)), byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18)), byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F)), byte(0x80 | (code & 0x3F));
  }
}

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  python_value whole() {
    python_value value = any(0);
    skip_space();
    if (at_ < text_.size()) fail("the end of the header");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    const std::string found =
        at_ >= text_.size() ? std::string("the end")
        : static_cast<unsigned char>(text_[at_]) < 0x20 || static_cast<unsigned char>(text_[at_]) >= 0x7F
            ? fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text_[at_]))
            : fmt::format("\"{}\"", text_[at_]);
    throw literal_error(fmt::format("found {} at byte {} of the header text, wanted {}", found, at_, wanted));
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  python_value any(int depth) {
    if (depth > max_depth) {
      throw literal_error(fmt::format("found literals nested deeper than {}, wanted at most that", max_depth));
    }
    skip_space();
    const std::size_t begin = at_;
    python_value value;
    const char c = peek();
    if (c == '{') {
      value = dict(depth);
    } else if (c == '[') {
      value = sequence(depth, python_value::kind::list, ']');
    } else if (c == '(') {
      value = sequence(depth, python_value::kind::tuple, ')');
    } else if (c == '\'' || c == '"') {
      value = string(false);
    } else if (is_digit(c) || c == '-' || c == '+') {
      value = integer();
    } else if (is_letter(c)) {
      value = word();
    } else {
      fail("a Python literal");
    }
    value.source = text_.substr(begin, at_ - begin);
    return value;
  }

  python_value dict(int depth) {
    python_value value;
    value.is = python_value::kind::dict;
    ++at_;
    while (!take('}')) {
      value.items.push_back(any(depth + 1));
      if (!take(':')) fail("\":\" after a dict key");
      value.items.push_back(any(depth + 1));
      if (!take(',')) {
        if (take('}')) break;
        fail("\",\" or \"}\" after a dict value");
      }
    }
    return value;
  }

  python_value sequence(int depth, python_value::kind is, char close) {
    python_value value;
    value.is = is;
    ++at_;
    bool comma = true;
    while (!take(close)) {
      if (!comma) fail(close == ')' ? "\",\" or \")\"" : "\",\" or \"]\"");
      value.items.push_back(any(depth + 1));
      comma = take(',');
    }
    // (3) is the integer 3; (3,) is a tuple.
    if (is == python_value::kind::tuple && value.items.size() == 1 && !comma) {
      python_value inner = std::move(value.items.front());
      return inner;
    }
    return value;
  }

  python_value integer() {
    python_value value;
    value.is = python_value::kind::integer;
    const std::size_t begin = at_;
    if (peek() == '-' || peek() == '+') ++at_;
    if (!is_digit(peek())) fail("a digit");
    while (is_digit(peek())) ++at_;
    std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    value.fits = fault == std::errc{};
    static_cast<void>(end);
    if (peek() == 'L' || peek() == 'l') ++at_;  // Python 2 wrote long integers as 3L
    if (peek() == '.' || is_letter(peek())) fail("an integer");
    return value;
  }

  python_value word() {
    const std::size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    python_value value;
    if (name == "True" || name == "False") {
      value.is = python_value::kind::boolean;
      value.truth = name == "True";
    } else if (name == "None") {
      value.is = python_value::kind::none;
    } else if ((name == "u" || name == "b" || name == "U" || name == "B") && (peek() == '\'' || peek() == '"')) {
      value = string(false);
    } else if ((name == "r" || name == "R") && (peek() == '\'' || peek() == '"')) {
      value = string(true);
    } else {
      at_ = begin;
      fail("a Python literal");
    }
    return value;
  }

  python_value string(bool raw) {
    python_value value;
    value.is = python_value::kind::string;
    const char quote = text_[at_++];
    while (true) {
      if (at_ >= text_.size()) fail("the closing quote of a string");
      const char c = text_[at_];
      if (c == quote) break;
      if (c == '\n') fail("the closing quote of a string");
      ++at_;
      if (c == '\\') {
        if (raw) {
          value.text.push_back(c);
          if (at_ < text_.size()) value.text.push_back(text_[at_++]);
        } else {
          escape(value.text);
        }
      } else {
        value.text.push_back(c);
      }
    }
    ++at_;
    return value;
  }

  void escape(std::string& out) {
    const char c = peek();
    if (c == '\0') fail("an escape sequence");
    ++at_;
    switch (c) {
      case 'n':
        out.push_back('\n');
        return;
      case 't':
        out.push_back('\t');
        return;
      case 'r':
        out.push_back('\r');
        return;
      case '\\':
      case '\'':
      case '"':
        out.push_back(c);
        return;
      case 'x':
        append_utf8(out, hex(2));
        return;
      case 'u':
        append_utf8(out, hex(4));
        return;
      case 'U':
        append_utf8(out, hex(8));
        return;
      default:  // as in Python, an unknown escape is kept with its backslash
        out.push_back('\\');
        out.push_back(c);
        return;
    }
  }

  std::uint32_t hex(int digits) {
    std::uint32_t code = 0;
    for (int k = 0; k < digits; ++k, ++at_) {
      const char c = peek();
      const bool lower = c >= 'a' && c <= 'f';
      const bool upper = c >= 'A' && c <= 'F';
      if (!is_digit(c) && !lower && !upper) fail("a hexadecimal digit");
      code = code * 16 + static_cast<std::uint32_t>(is_digit(c) ? c - '0' : lower ? c - 'a' + 10 : c - 'A' + 10);
    }
    if (code > 0x10FFFF) fail("a Unicode code point");
    return code;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

python_value parse_literal(std::string_view text) { return parser(text).whole(); }

}  // namespace cornerturn::cli
