// Slots begin at multiples of 2 MiB, as separate large allocations would. A gap of 2 MiB before each slot holds the guards.
#include "bench/cuda/pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "bench/cuda/call.hpp"
#include "bench/cuda/fill.hpp"

namespace cornerturn::bench::cuda {

namespace {

constexpr std::int64_t unit = std::int64_t{2} << 20;
constexpr std::int64_t least_pairs = 3;
constexpr std::int64_t shift_room = std::int64_t{1} << 30;

std::int64_t slot(std::int64_t bytes) { return (bytes + unit - 1) / unit * unit + unit; }
std::int64_t slots_of_pair(const bench_case& what) {
  return slot(device_pool::source_bytes(what)) + slot(what.buffer_bytes());
}

}  // namespace

device_pool::device_pool(std::int64_t l2_bytes, cudaStream_t on) : l2_bytes_(l2_bytes), on_(on) {
  std::size_t free_bytes = 0, all = 0;
  must(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
  limit_ = static_cast<std::int64_t>(free_bytes) / 10 * 9;
}

device_pool::~device_pool() { release(); }

void device_pool::release() {
  cudaFree(arena_);
  cudaFree(spacer_);
  arena_ = spacer_ = nullptr;
}

std::int64_t device_pool::wanted_pairs(const bench_case& what) const {
  if (what.hot) return 1;
  const std::int64_t traffic = std::max<std::int64_t>(2 * what.bytes(), 1);
  return std::max(least_pairs, (rotation_bytes() + traffic - 1) / traffic + 1);
}

void device_pool::reserve(const std::vector<bench_case>& cases) {
  std::int64_t most = unit;
  for (const bench_case& one : cases) {
    const std::int64_t each = slots_of_pair(one);
    if (each + 2 * unit + shift_room > limit_) continue;
    const std::int64_t fitting = (limit_ - 2 * unit - shift_room) / each;
    most = std::max(most, std::min(wanted_pairs(one), fitting) * each);
  }
  capacity_ = most + 2 * unit + shift_room;
  move(0);
}

void device_pool::move(int placement) {
  release();
  // A spacer in front makes the arena use other pages than the pages that were just freed. If there is no room for a spacer,
  // the arena may get the same pages.
  const std::int64_t spare = std::max<std::int64_t>(limit_ - capacity_, 0);
  const std::int64_t wish = placement * (std::int64_t{1700} << 20) + placement * placement * unit;
  const std::int64_t spacer = spare == 0 ? 0 : wish % spare / unit * unit;
  if (spacer > 0 && cudaMalloc(&spacer_, static_cast<std::size_t>(spacer)) != cudaSuccess) {
    spacer_ = nullptr;
    cudaGetLastError();
  }
  shift_ = placement * 37 * unit % (shift_room / unit * unit);
  must(cudaMalloc(&arena_, static_cast<std::size_t>(capacity_)), "cudaMalloc of the pool");
}

std::vector<buffer_pair> device_pool::pairs(const bench_case& what) {
  const std::int64_t each = slots_of_pair(what);
  const auto address = reinterpret_cast<std::uintptr_t>(arena_);
  const auto skip = static_cast<std::int64_t>((unit - static_cast<std::int64_t>(address % unit)) % unit);
  const std::int64_t room = capacity_ - shift_room - 2 * unit;
  const std::int64_t count = std::min(wanted_pairs(what), room / each);
  if (arena_ == nullptr || count < 1) {
    throw std::runtime_error("a pair of 2 x " + std::to_string(what.bytes()) + " bytes does not fit on the device");
  }
  std::vector<buffer_pair> result;
  std::byte* at = static_cast<std::byte*>(arena_) + skip + shift_ + unit;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t src_bytes = source_bytes(what);
    result.push_back({at, at + slot(src_bytes)});
    fill_random(at, src_bytes, source_seed(static_cast<std::size_t>(i)), on_);
    at += each;
  }
  return result;
}

}  // namespace cornerturn::bench::cuda
