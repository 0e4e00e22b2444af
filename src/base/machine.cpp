#include "base/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "base/numbers.hpp"

namespace cornerturn::base {
namespace {

// Returns the number before the unit of "32768K\n" or "32M\n", in bytes; 0: it is none.
std::int64_t bytes_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return 0;
  const int shift = text.back() == 'K' ? 10 : text.back() == 'M' ? 20 : text.back() == 'G' ? 30 : 0;
  if (shift != 0) text.remove_suffix(1);
  std::int64_t units = 0;
  if (!read_number(text, units) || units <= 0 || units >= std::int64_t{1} << (50 - shift)) return 0;
  return units << shift;
}

// The caches of the first CPU. sysconf() says 0 for the L2 of Arm CPUs, and a multiple of the L3 on some virtual machines.
void read_caches(const std::string& folder, machine& found) {
  for (int index = 0; index < 16; ++index) {
    const std::string at = folder + "/index" + std::to_string(index) + '/';
    const std::string level = read_kernel_file((at + "level").c_str());
    if (level.empty()) return;
    if (read_kernel_file((at + "type").c_str()).starts_with("Instruction")) continue;
    std::int64_t& size = level[0] == '1' ? found.l1d_bytes : level[0] == '2' ? found.l2_bytes : found.l3_bytes;
    if (level[0] < '1' || level[0] > '3') continue;
    size = std::max(size, bytes_of(read_kernel_file((at + "size").c_str())));
  }
}

// The fallbacks are the smallest sizes of the last ten years. A value that is too small costs less than one too large.
void complete_caches(machine& found) {
  const auto complete = [](std::int64_t& bytes, [[maybe_unused]] int name, std::int64_t fallback) {
    if (bytes > 0) return;
    const long told = name < 0 ? 0 : sysconf(name);
    bytes = told > 0 ? told : fallback;
  };
#ifdef _SC_LEVEL1_DCACHE_SIZE
  complete(found.l1d_bytes, _SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  complete(found.l2_bytes, _SC_LEVEL2_CACHE_SIZE, 256 << 10);
  complete(found.l3_bytes, _SC_LEVEL3_CACHE_SIZE, 4 << 20);
#else
  complete(found.l1d_bytes, -1, 32 << 10);
  complete(found.l2_bytes, -1, 256 << 10);
  complete(found.l3_bytes, -1, 4 << 20);
#endif
  complete(found.page_bytes, _SC_PAGESIZE, 4096);
}

// The first CPU of /proc/cpuinfo.
class cpu_text {
 public:
  explicit cpu_text(std::string text) : text_(std::move(text)) {}

  // Returns the value of the line "name<tab>: value"; "" without it
  [[nodiscard]] std::string_view value(std::string_view name) const {
    for (std::string_view rest = text_; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.empty()) return {};  // the end of this CPU
      const auto colon = line.find(':');
      if (colon == std::string_view::npos || colon + 2 > line.size()) continue;
      if (line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) == name) return line.substr(colon + 2);
    }
    return {};
  }

 private:
  std::string text_;
};

// Returns 0x41 for "0x41", 65 for "65"; `otherwise` if it is no number.
std::uint64_t number_of(std::string_view text, std::uint64_t otherwise) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const bool in_hex = text.starts_with("0x");
  if (in_hex) text.remove_prefix(2);
  std::uint64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value, in_hex ? 16 : 10);
  return value;
}

std::string hex(std::uint64_t value) {
  char text[16];
  return {text, std::to_chars(text, text + sizeof text, value, 16).ptr};
}

// An Arm CPU has a number and no name in /proc/cpuinfo.
struct arm_part {
  std::uint64_t implementer, part, variant, revision;
};

arm_part arm_part_of(const cpu_text& info, const std::string& midr) {
  if (!midr.empty()) {
    const std::uint64_t bits = number_of(midr, 0);
    return {bits >> 24 & 0xff, bits >> 4 & 0xfff, bits >> 20 & 0xf, bits & 0xf};
  }
  return {number_of(info.value("CPU implementer"), 0), number_of(info.value("CPU part"), 0),
          number_of(info.value("CPU variant"), 0), number_of(info.value("CPU revision"), 0)};
}

std::string arm_name(const arm_part& one) {
  constexpr struct {
    std::uint64_t part;
    const char* name;
  } names[] = {{0xd08, "Cortex-A72"},  {0xd0b, "Cortex-A76"},  {0xd0c, "Neoverse-N1"}, {0xd40, "Neoverse-V1"},
               {0xd49, "Neoverse-N2"}, {0xd4f, "Neoverse-V2"}, {0xd84, "Neoverse-V3"}, {0xd8e, "Neoverse-N3"}};
  for (const auto& known : names) {
    if (one.implementer == 0x41 && one.part == known.part) return std::string("Arm ") + known.name;
  }
  return "Arm CPU, implementer 0x" + hex(one.implementer) + ", part 0x" + hex(one.part);
}

}  // namespace

const char* name(simd_target one) noexcept {
  switch (one) {
    case simd_target::neon:
      return "NEON";
    case simd_target::sse4:
      return "SSE4";
    case simd_target::avx2:
      return "AVX2";
    case simd_target::avx512:
      return "AVX-512";
    case simd_target::avx512_vbmi:
      return "AVX-512 VBMI";
  }
  return "unknown";
}

machine read_machine(const std::string& root) {
  machine found;
  const std::string cpu = root + "/sys/devices/system/cpu/cpu0";
  const cpu_text info(read_kernel_file((root + "/proc/cpuinfo").c_str(), 4096));
  const arm_part arm = arm_part_of(info, read_kernel_file((cpu + "/regs/identification/midr_el1").c_str()));
  found.amd = info.value("vendor_id") == "AuthenticAMD";
  found.cpu_model = info.value("model name");
  if (arm.implementer != 0) {
    if (found.cpu_model.empty()) found.cpu_model = arm_name(arm);
    found.part = hex(arm.implementer) + '/' + hex(arm.part) + '/' + hex(arm.variant) + '/' + hex(arm.revision);
  } else if (const auto family = info.value("cpu family"); !family.empty()) {
    found.part =
        std::string(family) + '/' + std::string(info.value("model")) + '/' + std::string(info.value("stepping"));
  }
  read_caches(cpu + "/cache", found);
  complete_caches(found);
  return found;
}

std::string identity(const machine& one) {
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes >> 10); };
  return (one.cpu_model.empty() ? "unknown CPU" : one.cpu_model) + " (" + (one.part.empty() ? "" : one.part + ", ") +
         name(one.simd) + ", caches of " + kib(one.l1d_bytes) + ", " + kib(one.l2_bytes) + " and " + kib(one.l3_bytes) +
         " KiB)";
}

}  // namespace cornerturn::base
