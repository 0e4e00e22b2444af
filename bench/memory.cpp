// The pool: two anonymous mappings, cut into slots that are a page apart. Sources are filled with random bytes once;
// destinations are poisoned.
//
// Source bytes are (random & 0x9f) | 0x20: in every IEEE format they are finite and normal numbers. So a peer that
// multiplies by alpha = 1 is not slowed by denormals, and no signalling NaN changes. No source byte is the poison 0x5a.
#include "bench/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "base/numbers.hpp"
#include "bench/copies.hpp"
#include "bench/parallel.hpp"

namespace cornerturn::bench {

namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t huge_page = std::int64_t{2} << 20;
constexpr unsigned char poison_byte = 0x5a;

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

std::int64_t available_bytes() {
  const std::string text = base::read_kernel_file("/proc/meminfo");
  constexpr std::string_view key = "MemAvailable:";
  std::int64_t kib = 0;
  if (const std::size_t at = text.find(key); at != std::string::npos) {
    std::string_view rest = std::string_view(text).substr(at + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (base::read_number(rest.substr(0, rest.find(' ')), kib) && kib > 0) return kib * 1024;
  }
  return std::int64_t{4} << 30;
}

std::byte* map(std::int64_t bytes, bool huge) {
  void* base = ::mmap(nullptr, static_cast<std::size_t>(bytes + huge_page), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::runtime_error("the bench pool of " + std::to_string(bytes) + " bytes: no memory");
#ifdef MADV_HUGEPAGE
  ::madvise(base, static_cast<std::size_t>(bytes + huge_page), huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  return static_cast<std::byte*>(base);
}

std::byte* aligned(std::byte* base) {
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t unit = huge_page;
  return base + ((address + unit - 1) / unit * unit - address);
}

std::uint64_t random_word(std::uint64_t index) {  // splitmix64
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (z & 0x9f9f9f9f9f9f9f9fULL) | 0x2020202020202020ULL;
}

}  // namespace

memory::memory(bool huge, std::int64_t llc_bytes)
    : huge_(huge),
      rotation_bytes_(std::max(4 * llc_bytes, std::int64_t{1} << 30)),
      limit_(available_bytes() / 10 * 4) {}

memory::~memory() { release(); }

void memory::release() {
  if (src_ != nullptr) ::munmap(src_, static_cast<std::size_t>(capacity_ + huge_page));
  if (dst_ != nullptr) ::munmap(dst_, static_cast<std::size_t>(capacity_ + huge_page));
  src_ = nullptr;
  dst_ = nullptr;
}

memory::plan memory::plan_for(std::int64_t bytes) const {
  const std::int64_t unit = huge_ ? huge_page : page;
  const std::int64_t stride = round_up(bytes + guard_bytes, unit) + unit;
  // A small pair counts as some pages. Otherwise the pool would take all memory for a matrix of a few elements.
  const std::int64_t traffic = 2 * std::max(bytes, 4 * page);
  const std::int64_t wanted = (rotation_bytes_ + traffic - 1) / traffic + 1;
  const std::int64_t fitting = (limit_ / 2 - unit) / stride;
  if (fitting < 1) {
    throw std::runtime_error("a pair of 2 x " + std::to_string(bytes) +
                             " bytes does not fit in 40 % of the free memory (" + std::to_string(limit_) + " bytes)");
  }
  return {std::min(wanted, fitting), stride};
}

void memory::grow(std::int64_t bytes_each_side) {
  if (bytes_each_side <= capacity_) return;
  release();
  capacity_ = round_up(bytes_each_side, huge_page);
  src_ = map(capacity_, huge_);
  dst_ = map(capacity_, huge_);
  refill(aligned(src_), capacity_);
  fill_past_cache(aligned(dst_), capacity_, poison_byte);
}

void memory::reserve(const std::vector<std::int64_t>& sizes) {
  std::int64_t most = 0;
  for (const std::int64_t bytes : sizes) {
    const plan want = plan_for(bytes);
    most = std::max(most, want.count * want.stride + huge_page);
  }
  grow(most);
}

std::vector<buffer_pair> memory::pairs(std::int64_t bytes) {
  reserve({bytes});
  const plan want = plan_for(bytes);
  const std::int64_t first = huge_ ? huge_page : page;  // room for the guard before the first destination
  std::vector<buffer_pair> result;
  for (std::int64_t i = 0; i < want.count; ++i) {
    result.push_back({aligned(src_) + first + i * want.stride, aligned(dst_) + first + i * want.stride});
  }
  return result;
}

buffer_pair memory::pair(std::int64_t bytes) {
  const plan one = plan_for(bytes);
  grow(one.stride + huge_page);
  const std::int64_t first = huge_ ? huge_page : page;
  return {aligned(src_) + first, aligned(dst_) + first};
}

void memory::refill(std::byte* src, std::int64_t bytes) const {
  const auto first = static_cast<std::uint64_t>(src - aligned(src_)) / 8;  // slots start on a page
  const std::int64_t words = bytes / 8;
  parallel_ranges(words, 1 << 17, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t word = random_word(first + static_cast<std::uint64_t>(i));
      std::memcpy(src + i * 8, &word, 8);
    }
  });
  const std::uint64_t tail = random_word(first + static_cast<std::uint64_t>(words));
  std::memcpy(src + words * 8, &tail, static_cast<std::size_t>(bytes - words * 8));
}

void memory::poison(std::byte* dst, std::int64_t bytes) {
  std::memset(dst - guard_bytes, poison_byte, guard_bytes);
  std::memset(dst + bytes, poison_byte, guard_bytes);
  fill_past_cache(dst, bytes, poison_byte);
}

std::int64_t memory::poisoned_bytes(const std::byte* dst, std::int64_t bytes) {
  std::atomic<std::int64_t> all{0};
  parallel_ranges(bytes, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t count = 0;
    for (std::int64_t i = begin; i < end; ++i) count += dst[i] == std::byte{poison_byte} ? 1 : 0;
    all += count;
  });
  return all;
}

bool memory::guards_intact(const std::byte* dst, std::int64_t bytes) {
  for (std::int64_t i = 0; i < guard_bytes; ++i) {
    if (dst[-1 - i] != std::byte{poison_byte} || dst[bytes + i] != std::byte{poison_byte}) return false;
  }
  return true;
}

}  // namespace cornerturn::bench
