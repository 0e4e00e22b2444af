// For any file, parse_npy_header returns a header or a sentence. An accepted header, written and parsed again, gives an
// equal header.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn::cli;
  // The first eight bytes are the claimed size of the file, so that sizes beyond the memory of a test are covered too.
  std::int64_t extra = 0;
  if (size < sizeof extra) return 0;
  std::memcpy(&extra, data, sizeof extra);
  const std::span<const std::byte> front{reinterpret_cast<const std::byte*>(data) + sizeof extra, size - sizeof extra};
  const auto length = static_cast<std::int64_t>(front.size());
  const std::int64_t file_bytes = extra < 0 || extra > INT64_MAX - length ? length : length + extra;
  npy_header header;
  try {
    header = parse_npy_header(front, file_bytes);
  } catch (const npy_error& fault) {
    if (std::strlen(fault.what()) == 0) std::abort();
    return 0;
  }
  if (header.itemsize < 0 || header.data_bytes < 0 || header.data_offset + header.data_bytes != file_bytes)
    std::abort();
  const std::string text = npy_header_bytes(header);
  const auto bytes = static_cast<std::int64_t>(text.size());
  if (bytes % 64 != 0 || text.back() != '\n') std::abort();
  if (header.data_bytes > INT64_MAX - bytes) return 0;
  const npy_header again =
      parse_npy_header({reinterpret_cast<const std::byte*>(text.data()), text.size()}, bytes + header.data_bytes);
  if (again.shape != header.shape || again.descr != header.descr || again.fortran_order != header.fortran_order ||
      again.itemsize != header.itemsize) {
    std::abort();
  }
  return 0;
}
