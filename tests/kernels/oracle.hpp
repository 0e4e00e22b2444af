// The tools of every test that compares bytes: memory that shows a wrong read or write, and the walk of a problem by
// its definition.
//
//   src   spans exactly what the problem spans; it ends at an unreadable page, starts behind one, or is on
//         the heap at any misalignment (where AddressSanitizer sees both ends). No byte of it is `poison`
//   dst   `poison` everywhere, 256 more bytes on either side. After a run all of it is compared: elements, gaps
//         and guards
//
// The walk uses the original problem. It shares no code with map/, which is tested too.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "cornerturn/problem.hpp"

namespace cornerturn::testing {

inline constexpr std::byte poison{0xa5};

// Calls visit(src_element, dst_element) once for each index, last axis fastest.
template <class Visit>
void walk(const problem& what, const Visit& visit) {
  for (int k = 0; k < what.rank; ++k) {
    if (what.axes[k].extent == 0) return;
  }
  std::array<std::int64_t, max_rank> index{};
  for (;;) {
    std::int64_t src = 0, dst = 0;
    for (int k = 0; k < what.rank; ++k) {
      src += index[k] * what.axes[k].src_stride;
      dst += index[k] * what.axes[k].dst_stride;
    }
    if (what.rank == 0) return visit(src, dst);
    const axis& inner = what.axes[what.rank - 1];
    for (std::int64_t i = 0; i < inner.extent; ++i) visit(src + i * inner.src_stride, dst + i * inner.dst_stride);
    int k = what.rank - 2;
    for (; k >= 0; --k) {
      if (++index[k] < what.axes[k].extent) break;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

// Copies each element to its place. Known sizes are single loads and stores: sanitizers and qemu spend most of their
// time here.
inline void move_by_definition(const problem& what, const std::byte* from, std::byte* to) {
  const auto elements_of_size = [&](auto size) {
    walk(what, [&](std::int64_t s, std::int64_t d) {
      std::memcpy(to + d * what.element_bytes, from + s * what.element_bytes, size);
    });
  };
  switch (what.element_bytes) {
    case 1:
      return elements_of_size(std::integral_constant<std::size_t, 1>{});
    case 2:
      return elements_of_size(std::integral_constant<std::size_t, 2>{});
    case 4:
      return elements_of_size(std::integral_constant<std::size_t, 4>{});
    case 8:
      return elements_of_size(std::integral_constant<std::size_t, 8>{});
    case 16:
      return elements_of_size(std::integral_constant<std::size_t, 16>{});
    default:
      return elements_of_size(static_cast<std::size_t>(what.element_bytes));
  }
}

inline std::int64_t elements_of(const problem& what) {
  std::int64_t total = 1;
  for (int k = 0; k < what.rank; ++k) total *= what.axes[k].extent;
  return total;
}

struct byte_range {
  std::int64_t lo = 0, hi = 0;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(hi - lo); }
};

inline byte_range range_of(const problem& what, std::int64_t axis::*stride) {
  byte_range range{0, 1};
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    if (one.extent == 0) return {};
    const std::int64_t reach = (one.extent - 1) * (one.*stride);
    (reach < 0 ? range.lo : range.hi) += reach;
  }
  return {range.lo * what.element_bytes, range.hi * what.element_bytes};
}

inline std::string to_text(const problem& what) {
  std::string text = "{.element_bytes = " + std::to_string(what.element_bytes) +
                     ", .rank = " + std::to_string(what.rank) + ", .axes = {{";
  for (int k = 0; k < what.rank; ++k) {
    const axis& one = what.axes[k];
    text += std::string(k > 0 ? ", " : "") + "{" + std::to_string(one.extent) + ", " + std::to_string(one.src_stride) +
            ", " + std::to_string(one.dst_stride) + "}";
  }
  return text + "}}}";
}

// Bytes that repeat only after gigabytes at one alignment: 8 of them are a bijection of their position. None is
// `poison`.
inline const std::byte* pattern(std::size_t bytes) {
  static std::vector<std::uint64_t> words;
  std::size_t word = words.size();
  if (8 * word < bytes) words.resize((bytes + 7) / 8);
  for (; word < words.size(); ++word) {
    std::uint64_t x = word + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    for (int at = 0; at < 64; at += 8) {
      if (((x >> at) & 0xff) == static_cast<std::uint64_t>(poison)) x ^= std::uint64_t{0xa5 ^ 0x5a} << at;
    }
    words[word] = x;
  }
  return reinterpret_cast<const std::byte*>(words.data());
}

enum class placement { heap, before_wall, behind_wall };

// Readable memory between two unreadable pages.
class walled {
 public:
  std::byte* before_wall(std::size_t bytes) { return grow(bytes), memory_ + page() + room_ - bytes; }
  std::byte* behind_wall(std::size_t bytes) { return grow(bytes), memory_ + page(); }
  walled() = default;
  walled(const walled&) = delete;
  walled& operator=(const walled&) = delete;
  ~walled() { release(); }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  void release() {
    if (memory_ != nullptr) munmap(memory_, room_ + 2 * page());
  }
  void grow(std::size_t bytes) {
    if (memory_ != nullptr && bytes <= room_) return;
    release();
    room_ = (std::max(bytes, 2 * room_) / page() + 1) * page();
    void* all = mmap(nullptr, room_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(all);
    if (mprotect(memory_ + page(), room_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  std::byte* memory_ = nullptr;
  std::size_t room_ = 0;
};

struct freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using heap_memory = std::unique_ptr<std::byte, freed>;

inline heap_memory lines(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, std::max<std::size_t>(bytes, 1)) != 0) throw std::bad_alloc();
  return heap_memory(static_cast<std::byte*>(memory));
}

// The memory of one problem on both sides, and the expected contents of dst.
class workbench {
 public:
  // Misalignments are bytes from a cache line to the lowest byte of a side. The misalignment of src applies on the heap
  // only.
  workbench(const problem& what, placement where, std::size_t src_misalignment, std::size_t dst_misalignment)
      : src_range_(range_of(what, &axis::src_stride)),
        dst_range_(range_of(what, &axis::dst_stride)),
        dst_begin_(guard_bytes + dst_misalignment),
        dst_bytes_(dst_begin_ + dst_range_.size() + guard_bytes) {
    static walled fence;
    const std::size_t bytes = src_range_.size();
    if (where == placement::heap) {
      src_heap_ = lines(src_misalignment + bytes);
      src_ = src_heap_.get() + src_misalignment;
    } else {
      src_ = where == placement::before_wall ? fence.before_wall(bytes) : fence.behind_wall(bytes);
    }
    if (bytes > 0) std::memcpy(src_, pattern(bytes), bytes);
    dst_ = lines(dst_bytes_);
    wanted_ = lines(dst_bytes_);
    std::memset(wanted_.get(), static_cast<int>(poison), dst_bytes_);
    move_by_definition(what, src(), wanted_.get() + dst_begin_ - dst_range_.lo);
    clear();
  }

  [[nodiscard]] const std::byte* src() const { return src_ - src_range_.lo; }
  [[nodiscard]] std::byte* dst() { return dst_.get() + dst_begin_ - dst_range_.lo; }

  void clear() { std::memset(dst_.get(), static_cast<int>(poison), dst_bytes_); }

  // "" when dst is correct, else the first wrong byte.
  [[nodiscard]] std::string difference() const { return difference(dst_.get()); }

  // Adds the bytes written since clear(), or since the previous part, to a sum of parts, and clears dst. Returns ""
  // unless a byte was written before. It works by blocks, because most blocks were not written and the tests spend
  // their time here.
  [[nodiscard]] std::string add_part() {
    constexpr std::size_t block = 64;
    if (sum_ == nullptr) {
      sum_ = lines(dst_bytes_);
      std::memset(sum_.get(), static_cast<int>(poison), dst_bytes_);
    }
    std::array<std::byte, block> untouched;
    untouched.fill(poison);
    std::string fault;
    for (std::size_t begin = 0; begin < dst_bytes_; begin += block) {
      const std::size_t bytes = std::min(block, dst_bytes_ - begin);
      std::byte* const found = dst_.get() + begin;
      std::byte* const sum = sum_.get() + begin;
      if (std::memcmp(found, untouched.data(), bytes) == 0) continue;
      if (std::memcmp(sum, untouched.data(), bytes) == 0) {
        std::memcpy(sum, found, bytes);
      } else {
        for (std::size_t k = 0; k < bytes; ++k) {
          if (found[k] == poison) continue;
          if (sum[k] != poison && fault.empty())
            fault = "byte " + place(begin + k) + " of dst was written by two ranges of units";
          sum[k] = found[k];
        }
      }
      std::memcpy(found, untouched.data(), bytes);
    }
    return fault;
  }
  [[nodiscard]] std::string difference_of_sum() {
    const heap_memory sum = std::move(sum_);
    return sum == nullptr ? difference(wanted_empty().get()) : difference(sum.get());
  }

 private:
  static constexpr std::size_t guard_bytes = 256;

  [[nodiscard]] heap_memory wanted_empty() const {
    heap_memory empty = lines(dst_bytes_);
    std::memset(empty.get(), static_cast<int>(poison), dst_bytes_);
    return empty;
  }
  [[nodiscard]] std::string place(std::size_t k) const {
    return std::to_string(static_cast<std::int64_t>(k) - static_cast<std::int64_t>(dst_begin_) + dst_range_.lo);
  }
  [[nodiscard]] std::string difference(const std::byte* found) const {
    if (std::memcmp(found, wanted_.get(), dst_bytes_) == 0) return "";
    std::size_t k = 0;
    while (found[k] == wanted_.get()[k]) ++k;
    const char* kind = wanted_.get()[k] == poison ? " (a gap or guard was written)"
                       : found[k] == poison       ? " (never written)"
                                                  : "";
    return "byte " + place(k) + " of dst is " + std::to_string(static_cast<int>(found[k])) + ", wanted " +
           std::to_string(static_cast<int>(wanted_.get()[k])) + kind;
  }

  byte_range src_range_;
  byte_range dst_range_;
  std::size_t dst_begin_;
  std::size_t dst_bytes_;
  heap_memory src_heap_;
  std::byte* src_ = nullptr;
  heap_memory dst_;
  heap_memory wanted_;
  heap_memory sum_;
};

}  // namespace cornerturn::testing
