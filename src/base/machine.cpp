#include "base/machine.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace cornerturn::base {
namespace {

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

// Returns the kernel's size of the third level. sysconf returns a multiple of it on some virtual machines.
std::int64_t sysfs_l3_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::string size;  // "32768K"
  std::int64_t kib = 0;
  if (!std::getline(file, size)) return 0;
  const auto [end, failed] = std::from_chars(size.data(), size.data() + size.size(), kib);
  return failed == std::errc() && std::string_view(end) == "K" ? kib * 1024 : 0;
}

machine read_machine() {
  machine found;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto value = [&line] {
      const auto colon = line.find(':');
      return colon == std::string::npos || colon + 2 > line.size() ? std::string() : line.substr(colon + 2);
    };
    if (line.starts_with("vendor_id")) found.amd = value() == "AuthenticAMD";
    if (line.starts_with("model name")) {
      found.cpu_model = value();
      break;
    }
  }
#ifdef _SC_LEVEL1_DCACHE_SIZE
  // The fallbacks are the smallest sizes of the last ten years. A value that is too small costs less than one too
  // large.
  found.l1d_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  found.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 256 << 10);
  found.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 4 << 20);
#endif
  if (const std::int64_t l3 = sysfs_l3_bytes(); l3 > 0) found.l3_bytes = l3;
  found.page_bytes = cache_bytes(_SC_PAGESIZE, 4096);
  return found;
}

}  // namespace

const machine& this_machine() {
  static const machine& found = *new machine(read_machine());  // never destroyed: calls at exit read it, too
  return found;
}

}  // namespace cornerturn::base
