// The one error vocabulary: a status code and a sentence that names the argument, the value found and the value wanted.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace cornerturn {

enum class status : int {
  ok = 0,
  invalid_argument = 1,  // the problem, the axes or a pointer is wrong; the sentence says which
  overflow = 2,          // a product of extents, strides and bytes leaves 63 bits
  overlap = 3,           // src and dst share bytes, or two elements of dst do
  no_device = 4,         // the backend is absent from this build or this machine
  out_of_memory = 5,     // a plan or its scratch could not be allocated
  internal = 6,          // a defect of the library; please report it
  device_error = 7,      // the GPU's driver refused a launch; the sentence has its words
};

// Effect  The literal name of a status: "invalid_argument", "overlap", ...
[[nodiscard]] const char* name(status code) noexcept;

// What every throwing call throws.
class error : public std::runtime_error {
 public:
  error(status code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] status code() const noexcept { return code_; }

 private:
  status code_;
};

}  // namespace cornerturn
#pragma GCC visibility pop
