// The .npy header, versions 1.0, 2.0 and 3.0. The reader accepts valid headers only; the writer writes as numpy does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::cli {

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

struct npy_header {
  int major = 1;
  int minor = 0;
  std::string descr;           // the dtype text of the file, including quotes: '<f4', [('x', '<i2'), ...]
  std::int64_t itemsize = 0;   // bytes of one element, 0 for '|S0' and the like
  bool fortran_order = false;  // axis 0 is the fastest
  std::vector<std::int64_t> shape{};
  std::int64_t data_offset = 0;  // offset of the data in the file
  std::int64_t data_bytes = 0;   // product of shape * itemsize
};

// A sentence without the file's name: the field, the value found and the value wanted.
class npy_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Effect  returns the header of a file of file_bytes bytes. `front` is the whole file, or the part that contains the
//         header.
// Errors  npy_error: not an .npy file; unknown version; header truncated or malformed; a key is missing or unknown;
//         object or unknown dtype; negative extent; sizes above 63 bits; the data size contradicts the header
[[nodiscard]] npy_header parse_npy_header(std::span<const std::byte> front, std::int64_t file_bytes);

// Effect  returns the bytes of the .npy file that begins so, or nothing if `front` ends within the header.
//         0: no valid .npy file begins so
[[nodiscard]] std::optional<std::int64_t> npy_file_bytes(std::span<const std::byte> front);

// Effect  returns the bytes before the data: magic, version, length, dict, padding to a multiple of 64, newline.
//         The version is header.major, or 2.0 if 1.0 cannot hold the length. data_offset is ignored.
[[nodiscard]] std::string npy_header_bytes(const npy_header& header);

// Effect  returns the bytes of one element of the dtype `descr`
// Errors  npy_error
[[nodiscard]] std::int64_t npy_itemsize(std::string_view descr);

// Effect  returns the dtype as UTF-8: '<f4' -> <f4; a structured dtype as the header has it
[[nodiscard]] std::string npy_dtype_name(const npy_header& header);

}  // namespace cornerturn::cli
