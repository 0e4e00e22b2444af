// Finds the lines of a program's text for return addresses, with addr2line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cornerturn::ladder {

class source_lines {
 public:
  // `object` is a loaded shared library; `base` is its address; `file` is the source file that matters to the reader.
  source_lines(std::filesystem::path object, const void* base, const std::filesystem::path& file);

  // Returns "FILE:LINE", or "FILE:LINE, CALLED:LINE" for an access in a function that FILE calls. Both are the innermost
  // lines outside of the emulator.
  std::string of(const void* from);

 private:
  std::filesystem::path object_;
  std::uint64_t base_;
  std::filesystem::path file_;
  std::map<const void*, std::string> known_;
};

// The rule of source_lines::of for the lines of one address, the innermost first.
[[nodiscard]] std::string told_lines(const std::vector<std::string>& lines, const std::filesystem::path& file);

}  // namespace cornerturn::ladder
