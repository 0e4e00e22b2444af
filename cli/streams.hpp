// Streams as files: "-", pipes and character devices. The bytes are held in memory, in a file without a name.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/files.hpp"

namespace cornerturn::cli {

// Effect  returns the descriptor that a path names: `dash` for "-", 1 for /dev/stdout, 3 for /dev/fd/3; -1: none
[[nodiscard]] int descriptor_named(const std::string& path, int dash);

// Effect  returns a new descriptor of an empty file in memory
// Errors  failure: its sentence begins with `path`
[[nodiscard]] int file_in_memory(const std::string& path);

using base::kind_of;

[[nodiscard]] inline bool is_stream(mode_t mode) noexcept {
  return (mode & S_IFMT) == S_IFIFO || (mode & S_IFMT) == S_IFCHR;
}

}  // namespace cornerturn::cli
