// The .npy header, versions 1.0, 2.0 and 3.0: what stands before the data, read strictly and written as numpy writes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::cli {

struct npy_header {
  int major = 1;
  int minor = 0;
  std::string descr;           // the dtype as it stands in the file, quotes included: '<f4', [('x', '<i2'), ...]
  std::int64_t itemsize = 0;   // bytes of one element, 0 for '|S0' and the like
  bool fortran_order = false;  // axis 0 is the fastest
  std::vector<std::int64_t> shape{};
  std::int64_t data_offset = 0;  // where the data starts in the file
  std::int64_t data_bytes = 0;   // product of shape * itemsize
};

// A sentence without the file's name: the field, what was found, what was wanted.
class npy_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Effect  the header of a file of file_bytes bytes that begins with `front`. `front` may be the whole file or any
//         beginning of it that holds the header.
// Errors  npy_error: not an .npy file; unknown version; header truncated, malformed, without a key or with one too
//         many; object or unknown dtype; negative extent; sizes beyond 63 bits; data shorter or longer than the header
//         says
[[nodiscard]] npy_header parse_npy_header(std::span<const std::byte> front, std::int64_t file_bytes);

// Effect  the bytes that stand before the data: magic, version, length, dict, padding to a multiple of 64, newline.
//         The version is the header's own, or 2.0 where 1.0 cannot hold the length. data_offset is not looked at.
[[nodiscard]] std::string npy_header_bytes(const npy_header& header);

// Effect  bytes of one element of a dtype given as `descr` text
// Errors  npy_error
[[nodiscard]] std::int64_t npy_itemsize(std::string_view descr);

// Effect  '<f4' -> <f4, a structured dtype stays as it is: for people to read
[[nodiscard]] std::string npy_dtype_name(std::string_view descr);

}  // namespace cornerturn::cli
