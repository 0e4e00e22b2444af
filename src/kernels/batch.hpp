// A batch on a GPU. A shape is all items of one problem at one alignment. Each row of the kind `batch` answers with an offer for a
// shape. A row that wins some shapes makes their launches: it fills tables, which a launch reads from device memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/gpu/policy/grid.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

// Facts of a shape; kernels::facts has its problem.
struct batch_facts {
  std::int64_t items = 0;      // of the shape
  std::int64_t all_items = 0;  // of the batch
  // A row may skip an offer that would not be cheaper than this.
  double beaten = std::numeric_limits<double>::infinity();
};

// An item is as large as a launch of its own if it fills a GPU: no batch row accepts it. A copy of 32 MiB takes 15 us (H200,
// 2026-11-22).
inline constexpr std::int64_t most_item_bytes = 32 << 20;

struct batch_shape {
  std::vector<gpu::item_addresses> items;
  map::byte_span src_span{};  // of the elements, in bytes from index 0
  // Of the offer that won.
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  std::vector<std::byte> args;

  template <class Args>
  [[nodiscard]] const Args& as() const noexcept {
    return *std::launder(reinterpret_cast<const Args*>(args.data()));
  }
};

struct batch_launch {
  const kernel* row = nullptr;
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  std::int64_t shapes = 0;
  std::int64_t items = 0;
  // The arguments begin with `tables` pointers. Here they are offsets in the bytes of the tables.
  int tables = 0;
  std::uint32_t args_bytes = 0;
  alignas(16) std::array<std::byte, 64> args;

  template <class Args>
  Args& emplace(int pointers) noexcept {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= sizeof args && alignof(Args) <= 16);
    tables = pointers;
    args_bytes = sizeof(Args);
    return *new (args.data()) Args{};
  }
  template <class Args>
  [[nodiscard]] const Args& as() const noexcept {
    return *std::launder(reinterpret_cast<const Args*>(args.data()));
  }
};

struct batch_tables {
  std::vector<std::byte> bytes;  // for the device's memory, at a multiple of 16 bytes
  std::vector<batch_launch> launches;

  // Returns the offset of the new entries, as a pointer for the arguments of a launch
  template <class T>
  const T* append(const std::vector<T>& all) {
    static_assert(sizeof(T) % 16 == 0 && std::is_trivially_copyable_v<T>);
    const std::size_t at = bytes.size();
    bytes.resize(at + all.size() * sizeof(T));
    if (!all.empty()) std::memcpy(bytes.data() + at, all.data(), all.size() * sizeof(T));
    return reinterpret_cast<const T*>(at);
  }
};

// Effect  calls start with the arguments of a launch, for tables at `at` in device memory
template <class Start>
decltype(auto) with_tables(const batch_launch& one, const void* at, const Start& start) {
  auto args = one.args;
  for (int k = 0; k < one.tables; ++k) {
    std::byte* const pointer = args.data() + static_cast<std::size_t>(k) * sizeof(std::uintptr_t);
    std::uintptr_t address = 0;
    std::memcpy(&address, pointer, sizeof address);
    address += reinterpret_cast<std::uintptr_t>(at);
    std::memcpy(pointer, &address, sizeof address);
  }
  return start(static_cast<const void*>(args.data()));
}

}  // namespace cornerturn::kernels
