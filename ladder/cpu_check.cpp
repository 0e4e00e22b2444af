#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "cpu.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::int64_t guard_bytes = 256;
constexpr unsigned char guard = 0xc3;

// A hash of the element's index. Its low bytes are unique for elements of 4 bytes and more.
std::uint64_t pattern(std::int64_t i) { return static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u ^ i >> 7; }

// dst starts `off` elements after a multiple of 64 bytes. Both sides have `padding` elements after each row; the
// padding of dst must stay unchanged.
std::string fault_of(const cpu_rung& rung, std::int64_t rows, std::int64_t cols, std::int64_t padding,
                     std::int64_t off) {
  const std::int64_t word = rung.word_bytes, src_ld = cols + padding, dst_ld = rows + padding;
  std::vector<unsigned char> src(static_cast<std::size_t>(rows * src_ld * word));
  for (std::int64_t i = 0; i < rows * src_ld; ++i) {
    const std::uint64_t value = pattern(i);
    std::memcpy(&src[static_cast<std::size_t>(i * word)], &value, static_cast<std::size_t>(word));
  }
  const std::int64_t bytes = cols * dst_ld * word;
  std::vector<unsigned char> room(static_cast<std::size_t>(bytes + 3 * guard_bytes), guard);
  unsigned char* dst = room.data() + guard_bytes;
  dst += (64 - reinterpret_cast<std::uintptr_t>(dst) % 64) % 64 + off * word;
  std::vector<unsigned char> wanted = room;
  unsigned char* const right = wanted.data() + (dst - room.data());
  for (std::int64_t col = 0; col < cols; ++col) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t value = pattern(row * src_ld + col);
      std::memcpy(right + (col * dst_ld + row) * word, &value, static_cast<std::size_t>(word));
    }
  }
  rung.run(src.data(), dst, {rows, cols, src_ld, dst_ld});
  if (room == wanted) return {};
  std::size_t at = 0;
  while (room[at] == wanted[at]) ++at;
  const auto byte = static_cast<std::int64_t>(at) - (dst - room.data());
  return "byte " + std::to_string(byte) + " of " + std::to_string(bytes) + " of dst is wrong";
}

}  // namespace

int check_cpu_rungs(std::ostream& out, std::span<const cpu_rung> rungs) {
  constexpr std::int64_t extents[] = {1, 7, 16, 63, 64, 65, 130};
  int cases = 0, failures = 0;
  for (const cpu_rung& rung : rungs) {
    for (const std::int64_t rows : extents) {
      for (const std::int64_t cols : extents) {
        for (const std::int64_t padding : {0, 3, 64}) {
          const std::int64_t off = (rows + cols + padding) % 3;
          ++cases;
          const std::string fault = fault_of(rung, rows, cols, padding, off);
          if (fault.empty()) continue;
          ++failures;
          out << rung.name << " b" << rung.word_bytes << ' ' << rows << 'x' << cols << " padded by " << padding << ": "
              << fault << '\n';
        }
      }
    }
  }
  out << cases << " cases, " << failures << " failures\n";
  return failures;
}

}  // namespace cornerturn::ladder
