// Errors: a status code and a sentence that names the argument, the value found and the value wanted.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace cornerturn {

enum class status : int {
  ok = 0,
  invalid_argument = 1,  // the problem, the axes or a pointer is wrong; the sentence says which
  overflow = 2,          // a product of extents, strides and bytes exceeds 63 bits
  overlap = 3,           // src and dst share bytes, or two elements of dst share bytes
  no_device = 4,         // this build or this machine lacks the backend
  out_of_memory = 5,     // no memory for a plan or its workspace
  internal = 6,          // a defect of the library; please report it
  device_error = 7,      // the GPU driver refused a launch; the sentence quotes its message
  io_error = 8,          // a file or a store failed; the sentence quotes the system's message
};

// Effect  returns the literal name of a status: "invalid_argument", "overlap", ...
[[nodiscard]] const char* name(status code) noexcept;

// The only exception type that this library throws. The sentence is one line of UTF-8: control characters of a file's name are
// escaped.
class error : public std::runtime_error {
 public:
  error(status code, const std::string& sentence);
  [[nodiscard]] status code() const noexcept { return code_; }

 private:
  status code_;
};

}  // namespace cornerturn
#pragma GCC visibility pop
