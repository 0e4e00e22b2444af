#include "verify.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "workers.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::int64_t tile = 64;  // extent of a tile along both fast axes, so that both sides stay in cache

struct walk_axis {
  std::int64_t extent = 1;
  std::int64_t in_step = 0;  // bytes
  std::int64_t out_step = 0;
  std::size_t position = 0;  // in the output's shape
};

std::vector<std::int64_t> byte_steps(const npy_header& header) {
  std::vector<std::int64_t> steps(header.shape.size());
  std::int64_t step = header.itemsize;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const std::size_t k = header.fortran_order ? n : steps.size() - 1 - n;
    steps[k] = step;
    step *= header.shape[k];
  }
  return steps;
}

bool equal(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  switch (bytes) {  // constant sizes compile to one comparison
    case 1:
      return *a == *b;
    case 2:
      return std::memcmp(a, b, 2) == 0;
    case 4:
      return std::memcmp(a, b, 4) == 0;
    case 8:
      return std::memcmp(a, b, 8) == 0;
    case 16:
      return std::memcmp(a, b, 16) == 0;
    default:
      return std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0;
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> find_difference(const npy_header& in, const std::byte* in_data,
                                                         const npy_header& out, const std::byte* out_data,
                                                         std::span<const int> axes, int threads,
                                                         const std::function<void(std::int64_t)>& progress) {
  if (in.data_bytes == 0) return std::nullopt;
  const std::vector<std::int64_t> in_steps = byte_steps(in);
  const std::vector<std::int64_t> out_steps = byte_steps(out);
  std::vector<walk_axis> rest;
  for (std::size_t k = 0; k < out.shape.size(); ++k) {
    rest.push_back({out.shape[k], in_steps[static_cast<std::size_t>(axes[k])], out_steps[k], k});
  }
  // The two inner loops are tiled: the fastest axis of the output, and the fastest remaining axis of the input.
  const auto take_fastest = [&rest](auto step) {
    auto found = rest.end();
    for (auto at = rest.begin(); at != rest.end(); ++at) {
      if (at->extent > 1 && (found == rest.end() || step(*at) < step(*found))) found = at;
    }
    walk_axis taken;
    if (found != rest.end()) {
      taken = *found;
      rest.erase(found);
    }
    return taken;
  };
  const walk_axis fast = take_fastest([](const walk_axis& one) { return one.out_step; });
  const walk_axis slow = take_fastest([](const walk_axis& one) { return one.in_step; });

  std::int64_t outer = 1;
  for (const walk_axis& one : rest) outer *= one.extent;
  const std::int64_t row_tiles = (slow.extent + tile - 1) / tile;
  std::atomic<std::int64_t> compared{0};
  std::atomic<bool> stop{false};
  std::mutex guard;
  std::optional<std::vector<std::int64_t>> difference;

  const auto compare = [&](std::int64_t task) {
    if (stop.load()) return;
    const std::byte* a = in_data;
    const std::byte* b = out_data;
    std::vector<std::int64_t> index(out.shape.size(), 0);
    std::int64_t left = task / row_tiles;
    for (std::size_t k = rest.size(); k-- > 0;) {
      const std::int64_t i = left % rest[k].extent;
      left /= rest[k].extent;
      a += i * rest[k].in_step;
      b += i * rest[k].out_step;
      index[rest[k].position] = i;
    }
    const std::int64_t first = task % row_tiles * tile;
    const std::int64_t last = std::min(first + tile, slow.extent);
    for (std::int64_t column = 0; column < fast.extent; column += tile) {
      for (std::int64_t i = first; i < last; ++i) {
        for (std::int64_t j = column; j < std::min(column + tile, fast.extent); ++j) {
          if (equal(a + i * slow.in_step + j * fast.in_step, b + i * slow.out_step + j * fast.out_step, in.itemsize)) {
            continue;
          }
          const std::lock_guard lock(guard);
          if (slow.extent > 1) index[slow.position] = i;
          if (fast.extent > 1) index[fast.position] = j;
          difference = index;
          stop.store(true);
          return;
        }
      }
    }
    compared += (last - first) * fast.extent * in.itemsize;
  };
  run_tasks(
      threads, outer * row_tiles, [&]() -> worker { return compare; }, [&] { progress(compared.load()); });
  return difference;
}

}  // namespace cornerturn::cli
