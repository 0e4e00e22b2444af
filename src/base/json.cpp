#include "base/json.hpp"

#include <charconv>
#include <cmath>

namespace cornerturn::base {
namespace {

constexpr int deepest = 16;

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  json_value all() {
    json_value made = value(0);
    skip_space();
    if (at_ != text_.size()) fail("the end of the file");
    return made;
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    const std::string found = at_ < text_.size() ? '"' + std::string(1, text_[at_]) + '"' : "its end";
    throw json_error("has " + found + " at byte " + std::to_string(at_) + ", wanted " + wanted);
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  // Takes a character if it is the next one.
  bool take(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string string() {
    std::string made;
    if (!take('"')) fail("a string");
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (std::string_view("\"\\/").find(text_[at_]) == std::string_view::npos) made += '\\';
      }
      made += text_[at_];
    }
    if (at_++ == text_.size()) fail("the end of a string");
    return made;
  }

  json_value number() {
    json_value made;
    made.is = json_value::kind::number;
    const char* const begin = text_.data() + at_;
    const auto [end, fault] = std::from_chars(begin, text_.data() + text_.size(), made.number);
    if (fault != std::errc{} || !std::isfinite(made.number)) fail("a value");
    at_ += static_cast<std::size_t>(end - begin);
    return made;
  }

  // Calls one() for each entry up to `end`.
  template <class One>
  void list(char end, const One& one) {
    if (take(end)) return;
    do one();
    while (take(','));
    if (!take(end)) fail(end == '}' ? "\",\" or \"}\"" : "\",\" or \"]\"");
  }

  json_value value(int depth) {
    if (depth > deepest) fail("values that are nested less deep");
    json_value made;
    if (take('{')) {
      made.is = json_value::kind::object;
      list('}', [&] {
        made.names.push_back(string());
        if (!take(':')) fail("\":\"");
        made.items.push_back(value(depth + 1));
      });
    } else if (take('[')) {
      made.is = json_value::kind::array;
      list(']', [&] { made.items.push_back(value(depth + 1)); });
    } else if (at_ < text_.size() && text_[at_] == '"') {
      made.is = json_value::kind::text;
      made.text = string();
    } else if (take_word("true")) {
      made.is = json_value::kind::boolean;
      made.number = 1;
    } else if (take_word("false")) {
      made.is = json_value::kind::boolean;
    } else if (!take_word("null")) {
      return number();
    }
    return made;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const json_value* json_value::find(std::string_view name) const noexcept {
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == name) return &items[k];
  }
  return nullptr;
}

json_value read_json(std::string_view text) { return reader(text).all(); }

}  // namespace cornerturn::base
