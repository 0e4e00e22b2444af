// Streams as files: "-", pipes and character devices. The bytes are held in memory, in a file without a name.
#pragma once

#include <sys/stat.h>

#include <string>

namespace cornerturn::cli {

// Effect  returns the descriptor that a path names: `dash` for "-", 1 for /dev/stdout, 3 for /dev/fd/3; -1: none
[[nodiscard]] int descriptor_named(const std::string& path, int dash);

// Effect  returns a new descriptor of an empty file in memory
// Errors  failure: its sentence begins with `path`
[[nodiscard]] int file_in_memory(const std::string& path);

// Effect  returns what a mode is, for sentences: "a directory", "a block device"
[[nodiscard]] const char* kind_of(mode_t mode) noexcept;

[[nodiscard]] inline bool is_stream(mode_t mode) noexcept {
  return (mode & S_IFMT) == S_IFIFO || (mode & S_IFMT) == S_IFCHR;
}

}  // namespace cornerturn::cli
