#include "model/count.hpp"

#include <bit>
#include <map>
#include <utility>

#include "base/checked.hpp"

namespace cornerturn::model {
namespace {

enum class side { src, dst, shared };

side side_of(operation what) {
  if (what == operation::global_load || what == operation::async_load) return side::src;
  return what == operation::global_store ? side::dst : side::shared;
}

bool active(const instruction& what, const lane& one, const tile_part& tile) {
  if (what.when == guard::none) return true;
  const bool whole = one.row < tile.rows && one.col + what.piece <= tile.cols;
  if (what.when == guard::whole) return whole;
  if (what.when == guard::cut) return !whole && one.row < tile.rows && one.col + what.index < tile.cols;
  return one.row < tile.rows && one.col < tile.cols;
}

global_count& global_of(traffic& all, operation what) {
  if (what == operation::global_store) return all.store;
  return what == operation::global_load ? all.load : all.async_load;
}

shared_count& shared_of(traffic& all, operation what) {
  if (what == operation::shared_load) return all.shared_load;
  return what == operation::shared_store ? all.shared_store : all.async_store;
}

// Adds what one tile asks of one side, `times`.
void add_tile(traffic& sum, const program& kernel, side where, const tile_part& tile, std::int64_t times) {
  for (const instruction& what : kernel.instructions) {
    if (side_of(what.what) != where) continue;
    const int warps = static_cast<int>(what.lanes.size()) / warp_lanes;
    for (int warp = 0; warp < warps; ++warp) {
      const warp_access access = access_of(kernel, what, warp, tile);
      if (access.active == 0) continue;
      if (where == side::shared) {
        shared_count& to = shared_of(sum, what.what);
        const wavefronts turns = shared_wavefronts(access);
        to.requests += times;
        to.wavefronts += turns.taken * times;
        to.conflicts += turns.conflicts * times;
      } else {
        global_count& to = global_of(sum, what.what);
        to.requests += times;
        to.sectors += sectors(access) * times;
        to.bytes += std::int64_t{std::popcount(access.active)} * what.lane_bytes * times;
      }
    }
  }
}

// The tiles along one axis, by what distinguishes them: how much of them is inside, and their number modulo 32. A step
// of 32 tiles or matrices is a multiple of a sector whatever its size.
struct some_tiles {
  int inside;
  std::int64_t first;  // one of them
  std::int64_t count;
};

std::vector<some_tiles> tiles_along(std::int64_t extent, int tile) {
  std::vector<some_tiles> kinds;
  const std::int64_t full = extent / tile;
  for (std::int64_t r = 0; r < sector_bytes && r < full; ++r) {
    kinds.push_back({tile, r, base::ceil_div(full - r, sector_bytes)});
  }
  if (extent % tile != 0) kinds.push_back({static_cast<int>(extent % tile), full, 1});
  return kinds;
}

}  // namespace

double global_count::sectors_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
}
double global_count::useful() const {
  return sectors == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(sectors * sector_bytes);
}
double shared_count::conflicts_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(conflicts) / static_cast<double>(requests);
}

warp_access access_of(const program& kernel, const instruction& what, int warp, const tile_part& tile) {
  warp_access access;
  access.lane_bytes = what.lane_bytes;
  access.stores = what.what == operation::shared_store || what.what == operation::async_store;
  const side where = side_of(what.what);
  for (int k = 0; k < warp_lanes; ++k) {
    const lane& one = what.lanes[static_cast<std::size_t>(warp * warp_lanes + k)];
    if (!active(what, one, tile)) continue;
    const int col = one.col + what.index;
    const bool by_rows = where == side::src || !kernel.turns;
    const std::int64_t line = by_rows ? one.row : col;
    const std::int64_t in_line = by_rows ? col : one.row;
    access.set(k,
               where == side::shared ? one.shared : tile.begin + line * tile.pitch_bytes + in_line * kernel.word_bytes);
  }
  return access;
}

traffic count(const program& kernel, const extents& shape) {
  traffic sum;
  const std::int64_t word = kernel.word_bytes;
  const std::int64_t src_pitch = shape.cols * word;
  const std::int64_t dst_pitch = kernel.turns ? shape.rows * word : src_pitch;
  using kind = std::pair<std::pair<int, int>, std::int64_t>;  // rows and cols inside, begin modulo a sector
  std::map<kind, std::int64_t> src, dst, shared;
  const auto rows = tiles_along(shape.rows, kernel.tile_rows);
  const auto cols = tiles_along(shape.cols, kernel.tile_cols);
  // Each product is taken of numbers modulo 32, which is all that matters and cannot overflow.
  const std::int64_t matrix = shape.rows % sector_bytes * (shape.cols % sector_bytes) * word % sector_bytes;
  for (const some_tiles& m : tiles_along(shape.batch, 1)) {
    for (const some_tiles& r : rows) {
      for (const some_tiles& c : cols) {
        const std::pair inside{r.inside, c.inside};
        const std::int64_t times = m.count * r.count * c.count;
        const std::int64_t row = r.first % sector_bytes * kernel.tile_rows;
        const std::int64_t col = c.first % sector_bytes * kernel.tile_cols;
        const std::int64_t before = m.first % sector_bytes * matrix;
        src[{inside, (before + row * (src_pitch % sector_bytes) + col * word) % sector_bytes}] += times;
        const std::int64_t in_dst = kernel.turns ? col * (dst_pitch % sector_bytes) + row * word
                                                 : row * (dst_pitch % sector_bytes) + col * word;
        dst[{inside, (before + in_dst) % sector_bytes}] += times;
        shared[{inside, 0}] += times;
      }
    }
  }
  const auto add = [&](const auto& tiles, side where, std::int64_t pitch) {
    for (const auto& [key, times] : tiles) {
      add_tile(sum, kernel, where, {key.first.first, key.first.second, key.second, pitch}, times);
    }
  };
  add(src, side::src, src_pitch);
  add(dst, side::dst, dst_pitch);
  add(shared, side::shared, 0);
  return sum;
}

}  // namespace cornerturn::model
