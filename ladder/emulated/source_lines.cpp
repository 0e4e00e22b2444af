#include "ladder/emulated/source_lines.hpp"

#include <algorithm>
#include <sstream>

#include "ladder/emulated/process.hpp"

namespace cornerturn::ladder {
namespace {

std::string file_of(const std::string& line) { return line.substr(0, line.rfind(':')); }
std::string name_of(const std::string& line) { return line.substr(line.rfind('/') + 1); }

// Lines of the emulator, of CuTe and of functions that every rung uses do not tell where a rung goes wrong.
bool is_inner(const std::string& line) {
  const auto is_in = [&](const char* folder) { return line.find(folder) != std::string::npos; };
  return is_in("/src/emulate/") || is_in("/emulated/") || is_in("/include/cute/") || line[0] == '?';
}
bool is_shared(const std::string& line) {
  const std::string name = name_of(file_of(line));
  return is_inner(line) || name == "move.cuh" || name == "rung.hpp";
}

}  // namespace

source_lines::source_lines(std::filesystem::path object, const void* base, const std::filesystem::path& file)
    : object_(std::move(object)), base_(reinterpret_cast<std::uint64_t>(base)), file_(file) {}

std::string told_lines(const std::vector<std::string>& lines, const std::filesystem::path& file) {
  auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return file_of(line) == file; });
  if (found == lines.end()) found = std::find_if_not(lines.begin(), lines.end(), is_shared);
  if (found == lines.end()) found = std::find_if_not(lines.begin(), lines.end(), is_inner);
  if (found == lines.end()) return lines.empty() ? "?" : name_of(lines.front());
  if (found == lines.begin() || is_inner(found[-1])) return name_of(*found);
  return name_of(*found) + ", " + name_of(found[-1]);
}

std::string source_lines::of(const void* from) {
  std::string& told = known_[from];
  if (!told.empty()) return told;
  std::ostringstream address;  // of the call, which is before the return address
  address << std::hex << reinterpret_cast<std::uint64_t>(from) - base_ - 1;
  std::istringstream printed(run_program({"addr2line", "-i", "-e", object_.string(), address.str()}).printed);
  std::vector<std::string> lines;
  for (std::string line; std::getline(printed, line);) {
    lines.push_back(line.substr(0, line.find(" (discriminator")));
  }
  return told = told_lines(lines, file_);
}

}  // namespace cornerturn::ladder
