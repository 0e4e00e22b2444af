// Reads JSON (RFC 8259): the machine files of kernels/machine.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::base {

struct json_value {
  enum class kind { null, boolean, number, text, array, object };
  kind is = kind::null;
  double number = 0;  // of a boolean: 0 or 1
  std::string text{};
  std::vector<json_value> items{};   // of an array or an object, in the order of the file
  std::vector<std::string> names{};  // of an object: one for each item

  // Returns null: this is no object, or has no such member.
  [[nodiscard]] const json_value* find(std::string_view name) const noexcept;
};

// A sentence without the name of the file: "has \"}\" at byte 12, wanted a value".
class json_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Effect  reads a whole text as one value. Escapes of strings are kept as they are, but \" \\ and \/
// Errors  json_error
[[nodiscard]] json_value read_json(std::string_view text);

}  // namespace cornerturn::base
