// Parses the Python literals of .npy headers: dict, list, tuple, str, int, bool, None.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::cli {

struct python_value {
  enum class kind { none, boolean, integer, string, tuple, list, dict };
  kind is = kind::none;
  bool truth = false;         // boolean
  std::int64_t number = 0;    // integer that fits 64 bits
  bool fits = true;           // false: an integer outside 64 bits
  std::string text;           // string, escapes resolved
  std::string_view source{};  // the text in the file, without surrounding space

  // tuple and list: the items. dict: key, value, key, value, ...
  std::vector<python_value> items{};
};

class literal_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Effect  returns the literal in `text`, which contains one literal and white space. `source` points into `text`.
// Errors  literal_error: the text found, the text wanted and the byte position; nesting deeper than 32
[[nodiscard]] python_value parse_literal(std::string_view text);

}  // namespace cornerturn::cli
