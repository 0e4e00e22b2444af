#include "model/count.hpp"

#include <map>
#include <numeric>
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

// Adds the accesses of one tile to one side, multiplied by `times`.
void add_tile(traffic& sum, const program& kernel, side where, const tile_part& tile, std::int64_t times,
              const memory_rules& rules) {
  for (const instruction& what : kernel.instructions) {
    if (side_of(what.what) != where) continue;
    const auto warps = static_cast<int>(base::ceil_div(static_cast<std::int64_t>(what.lanes.size()), rules.lanes));
    for (int warp = 0; warp < warps; ++warp) {
      const warp_access access = access_of(kernel, what, warp, tile, rules);
      if (access.active == 0) continue;
      if (where == side::shared) {
        shared_count& to = shared_of(sum, what.what);
        const bank_cycles made = shared_cycles(access, rules);
        to.requests += times;
        to.cycles += made.taken * times;
        to.conflicts += made.conflicts * times;
      } else {
        global_count& to = global_of(sum, what.what);
        to.requests += times;
        to.lines += lines(access, rules.line_bytes) * times;
        to.bytes += used_bytes(access) * times;
      }
    }
  }
}

// Tiles of one kind along one axis. A kind is the part inside the matrix and the tile number modulo `period`. Tiles
// whose numbers differ by a period start at equal offsets within a line.
struct some_tiles {
  int inside;
  std::int64_t first;  // the number of one of the tiles
  std::int64_t count;
};

std::vector<some_tiles> tiles_along(std::int64_t extent, int tile, std::int64_t period) {
  std::vector<some_tiles> kinds;
  const std::int64_t full = extent / tile;
  for (std::int64_t r = 0; r < period && r < full; ++r) {
    kinds.push_back({tile, r, base::ceil_div(full - r, period)});
  }
  if (extent % tile != 0) kinds.push_back({static_cast<int>(extent % tile), full % period, 1});
  return kinds;
}

}  // namespace

double global_count::lines_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(lines) / static_cast<double>(requests);
}
double global_count::useful() const {
  return lines == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(lines * line_bytes);
}
double shared_count::conflicts_per_request() const {
  return requests == 0 ? 0 : static_cast<double>(conflicts) / static_cast<double>(requests);
}

warp_access access_of(const program& kernel, const instruction& what, int warp, const tile_part& tile,
                      const memory_rules& rules) {
  warp_access access;
  access.lane_bytes = what.lane_bytes;
  access.stores = what.what == operation::shared_store || what.what == operation::async_store;
  const side where = side_of(what.what);
  const auto first = static_cast<std::size_t>(warp) * static_cast<std::size_t>(rules.lanes);
  for (int k = 0; k < rules.lanes && first + static_cast<std::size_t>(k) < what.lanes.size(); ++k) {
    const lane& one = what.lanes[first + static_cast<std::size_t>(k)];
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

traffic count(const program& kernel, const extents& shape, const memory_rules& rules) {
  traffic sum;
  for (global_count* one : {&sum.load, &sum.store, &sum.async_load}) one->line_bytes = rules.line_bytes;
  const std::int64_t word = kernel.word_bytes, line = rules.line_bytes;
  const std::int64_t src_pitch = shape.cols * word;
  const std::int64_t dst_pitch = kernel.turns ? shape.rows * word : src_pitch;
  // Byte offsets from one tile to the next and from one matrix to the next, modulo a line. The counts only depend on
  // these numbers, and their products do not overflow.
  const std::int64_t src_down = kernel.tile_rows * (src_pitch % line) % line;
  const std::int64_t src_right = kernel.tile_cols * word % line;
  const std::int64_t dst_down = kernel.turns ? kernel.tile_rows * word % line : src_down;
  const std::int64_t dst_right = kernel.turns ? kernel.tile_cols * (dst_pitch % line) % line : src_right;
  const std::int64_t matrix = shape.rows % line * (shape.cols % line) % line * word % line;
  const auto period = [line](std::int64_t a, std::int64_t b) { return line / std::gcd(line, std::gcd(a, b)); };
  const auto rows = tiles_along(shape.rows, kernel.tile_rows, period(src_down, dst_down));
  const auto cols = tiles_along(shape.cols, kernel.tile_cols, period(src_right, dst_right));
  using kind = std::pair<std::pair<int, int>,
                         std::int64_t>;  // rows and cols inside the matrix, byte offset of the tile modulo a line
  std::map<kind, std::int64_t> src, dst, shared;
  for (const some_tiles& m : tiles_along(shape.batch, 1, period(matrix, matrix))) {
    for (const some_tiles& r : rows) {
      for (const some_tiles& c : cols) {
        const std::pair inside{r.inside, c.inside};
        const std::int64_t times = m.count * r.count * c.count;
        const std::int64_t before = m.first * matrix;
        src[{inside, (before + r.first * src_down + c.first * src_right) % line}] += times;
        dst[{inside, (before + r.first * dst_down + c.first * dst_right) % line}] += times;
        shared[{inside, 0}] += times;
      }
    }
  }
  const auto add = [&](const auto& tiles, side where, std::int64_t pitch) {
    for (const auto& [key, times] : tiles) {
      add_tile(sum, kernel, where, {key.first.first, key.first.second, key.second, pitch}, times, rules);
    }
  };
  add(src, side::src, src_pitch);
  add(dst, side::dst, dst_pitch);
  add(shared, side::shared, 0);
  return sum;
}

}  // namespace cornerturn::model
