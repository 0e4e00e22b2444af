// /proc/self/cgroup has a line for each hierarchy: "0::/a/b" for version 2, "4:cpu,cpuacct:/a/b" for version 1. The quota of
// a group binds the groups inside it, so all folders from /a/b up to the mount count. A container often sees its own group
// as the mount itself, while the line names the path on the host: folders that do not exist are skipped.
#include "base/quota.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/files.hpp"

namespace cornerturn::base {
namespace {

constexpr std::int64_t unlimited = std::int64_t{1} << 62;

std::string first_line(const std::string& path) {
  const std::string text = read_kernel_file(path.c_str(), 4096);
  return text.substr(0, text.find('\n'));
}

// Returns the number that `text` begins with, 0 for any other text such as "max" or "-1".
std::int64_t number(std::string_view text) noexcept {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max<std::int64_t>(value, 0);
}

// A part of a CPU counts as none: a thread more than whole CPUs would be stopped for a part of each period.
int whole_cpus(std::int64_t quota, std::int64_t period) noexcept {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(quota / period, 1, 1 << 20));
}

int quota_of(const std::string& folder) {
  if (const std::string line = first_line(folder + "/cpu.max"); !line.empty()) {  // "200000 100000"
    return whole_cpus(number(line),
                      number(std::string_view(line).substr(std::min(line.find(' '), line.size() - 1) + 1)));
  }
  return whole_cpus(number(first_line(folder + "/cpu.cfs_quota_us")),
                    number(first_line(folder + "/cpu.cfs_period_us")));
}

int smaller(int a, int b) noexcept { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// Returns the number behind a name at the begin of a line, 0 without such a line.
std::int64_t field(const std::string& text, const std::string& name) {
  const std::size_t at = text.starts_with(name + " ") ? 0 : text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : number(std::string_view(text).substr(text.find(' ', at) + 1));
}

// The kernel takes inactive pages of files back before it refuses memory, so they count as free.
std::int64_t memory_left_in(const std::string& folder) {
  const bool second = !first_line(folder + "/memory.max").empty();
  const std::string limit = first_line(folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  if (number(limit) == 0) return unlimited;  // "max", or no group
  const std::int64_t used = number(first_line(folder + (second ? "/memory.current" : "/memory.usage_in_bytes")));
  const std::int64_t files =
      field(read_kernel_file((folder + "/memory.stat").c_str()), second ? "inactive_file" : "total_inactive_file");
  return std::max<std::int64_t>(number(limit) - std::max<std::int64_t>(used - files, 0), 0);
}

// Calls visit(folder) for the group at `path` and all groups around it.
template <class Visit>
void each_up_to(const std::string& mount, std::string path, const Visit& visit) {
  visit(mount);
  for (; path.size() > 1; path.erase(std::max<std::size_t>(path.rfind('/'), 0))) visit(mount + path);
}

bool has_word(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Calls visit(folder) for each control group of this process that may limit what `controller` counts.
template <class Visit>
void each_group(const std::string& root, const char* controller, const Visit& visit) {
  std::string groups = read_kernel_file((root + "/proc/self/cgroup").c_str());
  for (std::string line; !groups.empty(); groups.erase(0, std::min(line.size() + 1, groups.size()))) {
    line = groups.substr(0, groups.find('\n'));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      each_up_to(root + "/sys/fs/cgroup", path, visit);
    } else if (has_word(controllers, controller)) {
      each_up_to(root + "/sys/fs/cgroup/" + controllers, path, visit);
      if (controllers != controller) each_up_to(root + "/sys/fs/cgroup/" + controller, path, visit);
    }
  }
}

}  // namespace

int cpu_quota(const std::string& root) {
  int found = 0;
  each_group(root, "cpu", [&](const std::string& folder) { found = smaller(found, quota_of(folder)); });
  return found;
}

std::int64_t available_memory(const std::string& root) {
  const std::string machine = read_kernel_file((root + "/proc/meminfo").c_str());
  std::int64_t found = unlimited;
  const std::size_t at = machine.find("MemAvailable:");
  if (at != std::string::npos) {
    std::string_view rest = std::string_view(machine).substr(at + 13);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    found = number(rest) * 1024;
  }
  each_group(root, "memory", [&](const std::string& folder) { found = std::min(found, memory_left_in(folder)); });
  return found;
}

}  // namespace cornerturn::base
