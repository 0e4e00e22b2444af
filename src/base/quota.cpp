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

int smallest_up_to(const std::string& mount, std::string path) {
  int found = quota_of(mount);
  for (; path.size() > 1; path.erase(std::max<std::size_t>(path.rfind('/'), 0)))
    found = smaller(found, quota_of(mount + path));
  return found;
}

bool has_word(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

int cpu_quota(const std::string& root) {
  int found = 0;
  std::string groups = read_kernel_file((root + "/proc/self/cgroup").c_str());
  for (std::string line; !groups.empty(); groups.erase(0, std::min(line.size() + 1, groups.size()))) {
    line = groups.substr(0, groups.find('\n'));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      found = smaller(found, smallest_up_to(root + "/sys/fs/cgroup", path));
    } else if (has_word(controllers, "cpu")) {
      found = smaller(found, smallest_up_to(root + "/sys/fs/cgroup/" + controllers, path));
      if (controllers != "cpu") found = smaller(found, smallest_up_to(root + "/sys/fs/cgroup/cpu", path));
    }
  }
  return found;
}

}  // namespace cornerturn::base
