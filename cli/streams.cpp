#include "streams.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "text.hpp"

namespace cornerturn::cli {

int descriptor_named(const std::string& path, int dash) {
  if (path == "-") return dash;
  if (path == "/dev/stdin") return 0;
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int descriptor = -1;
    const char* const end = path.data() + path.size();
    const auto [next, fault] = std::from_chars(path.data() + folder.size(), end, descriptor);
    return fault == std::errc{} && next == end ? descriptor : -1;
  }
  return -1;
}

int file_in_memory(const std::string& path) {
  const int descriptor = memfd_create("cornerturn", MFD_CLOEXEC);
  if (descriptor < 0) throw failure(fmt::format("{}: no memory for the stream: {}", path, error_text(errno)));
  return descriptor;
}

}  // namespace cornerturn::cli
