#include "base/printable.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {

error::error(enum status code, const std::string& sentence)
    : std::runtime_error(base::printable(sentence)), code_(code) {}

const char* name(status code) noexcept {
  switch (code) {
    case status::ok:
      return "ok";
    case status::invalid_argument:
      return "invalid_argument";
    case status::overflow:
      return "overflow";
    case status::overlap:
      return "overlap";
    case status::no_device:
      return "no_device";
    case status::out_of_memory:
      return "out_of_memory";
    case status::internal:
      return "internal";
    case status::device_error:
      return "device_error";
    case status::io_error:
      return "io_error";
  }
  return "unknown";
}

}  // namespace cornerturn
