#include "base/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "base/lazy.hpp"
#include "base/numbers.hpp"

namespace cornerturn::base {
namespace {

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

// Returns the kernel's size of the third level. sysconf returns a multiple of it on some virtual machines.
std::int64_t sysfs_l3_bytes() {
  const std::string size = read_kernel_file("/sys/devices/system/cpu/cpu0/cache/index3/size");  // "32768K\n"
  std::int64_t kib = 0;
  const std::size_t unit = size.find("K\n");
  if (unit == std::string::npos || !read_number(std::string_view(size).substr(0, unit), kib)) return 0;
  return kib > 0 && kib < std::int64_t{1} << 40 ? kib * 1024 : 0;
}

machine read_machine() {
  machine found;
  const std::string info = read_kernel_file("/proc/cpuinfo", 4096);
  for (std::string_view rest = info, line; !rest.empty(); rest.remove_prefix(std::min(line.size() + 1, rest.size()))) {
    line = rest.substr(0, rest.find('\n'));
    const auto value = [&line] {
      const auto colon = line.find(':');
      return colon == std::string_view::npos || colon + 2 > line.size() ? std::string_view() : line.substr(colon + 2);
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
  constinit static lazy<const machine> found;
  return found.get(read_machine);
}

}  // namespace cornerturn::base
