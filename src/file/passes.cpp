// 1. A box shrinks from the whole array until it fits in memory. Each step shrinks the axis that costs the least time. Then
//    pairs of axes exchange extents.
// 2. The time of a side is (bytes + requests * request_bytes) / bytes_per_second. A request is a contiguous run or a chunk.
// 3. Two passes: the first one transposes tiles that have long runs in src, and writes each tile at once. The second one
//    reads parts of many tiles, and writes long runs of dst. Tiles of several shapes are tried.
#include "file/passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "base/checked.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

using index = box_grid::index;

// A unit is large enough for a fast kernel and one request in flight, and small beside a box.
constexpr std::int64_t most_unit_bytes = 4 << 20;
// An array in memory: boxes stay in the caches of a core. Measured with a 512 MiB float32 matrix in page cache, CPU seconds of
// the command, user + system, on 2 threads of an AMD EPYC (4th generation, Linux 6.18, November 2026), to a file on tmpfs:
//   box     1 MiB    2 MiB    4 MiB    8 MiB    16 MiB    32 MiB    cp
//           0.38 s   0.36 s   0.34 s   0.33 s   0.32 s    0.31 s    0.24 s
// Boxes above 8 MiB cost more memory for each thread than they save time.
constexpr std::int64_t most_box_in_memory = 8 << 20;
constexpr std::int64_t least_box_in_memory = 1 << 20;
// Two cache lines: shorter runs inside a box slow down the transpose of a unit.
constexpr std::int64_t cache_run_bytes = 128;
// Two passes transfer twice as many bytes and need a scratch file, so they must save this much.
constexpr double worth_a_scratch_file = 0.8;

struct side {
  std::vector<int> fastest_first;  // of a linear store
  std::span<const std::int64_t> whole;
  store_layout layout;
  double request_bytes;
  double bytes_per_second;
};

std::span<const std::int64_t> extents_of(const permuted& what) {
  return {what.extents.data(), static_cast<std::size_t>(what.rank)};
}

std::vector<int> dst_order(const permuted& what) {
  std::vector<int> order(static_cast<std::size_t>(what.rank));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

std::vector<int> src_order(const permuted& what) {
  std::vector<int> order = dst_order(what);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return what.axes[static_cast<std::size_t>(a)] > what.axes[static_cast<std::size_t>(b)];
  });
  return order;
}

// 2
double seconds_of(const side& one, const index& box, std::int64_t element_bytes) {
  double bytes = static_cast<double>(element_bytes);
  for (const std::int64_t extent : one.whole) bytes *= static_cast<double>(extent);
  double requests = 0;
  if (one.layout.in_memory) return 0;
  if (one.layout.is == store_layout::kind::linear) {
    const std::span<const std::int64_t> extents(box.data(), one.whole.size());
    requests = bytes / static_cast<double>(run_elements(one.whole, extents, one.fastest_first) * element_bytes);
  } else {
    double chunk_bytes = static_cast<double>(element_bytes);
    double touched = 1;  // chunks
    index part{};
    for (std::size_t k = 0; k < one.whole.size(); ++k) {
      const std::int64_t chunk = std::min(one.layout.chunk[k], one.whole[k]);
      const bool whole_chunks = box[k] % chunk == 0 || box[k] == one.whole[k];
      const double boxes = static_cast<double>(one.whole[k]) / static_cast<double>(box[k]);
      touched *=
          boxes * static_cast<double>(base::ceil_div(box[k], chunk) + (whole_chunks || chunk % box[k] == 0 ? 0 : 1));
      chunk_bytes *= static_cast<double>(chunk);
      part[k] = std::min(box[k], chunk);
    }
    if (one.layout.is == store_layout::kind::chunks) {
      requests = touched;
      bytes = touched * chunk_bytes;
    } else {
      const auto rank = one.whole.size();
      double part_bytes = static_cast<double>(element_bytes);
      for (std::size_t k = 0; k < rank; ++k) part_bytes *= static_cast<double>(part[k]);
      const std::int64_t run = run_elements({one.layout.chunk.data(), rank}, {part.data(), rank}, one.fastest_first);
      requests = touched * part_bytes / static_cast<double>(run * element_bytes);
    }
  }
  return (bytes + requests * one.request_bytes) / one.bytes_per_second;
}

double together(const disk_speed& disk, double reads, double writes) {
  return disk.shared ? reads + writes : std::max(reads, writes);
}

std::int64_t volume(std::span<const std::int64_t> box, std::int64_t element_bytes) {
  for (const std::int64_t extent : box) element_bytes *= extent;
  return element_bytes;
}

// 1. Extents begin with `box` and stay multiples of `grain`. Nothing if no box fits.
std::optional<index> shrink_box(index box, std::span<const std::int64_t> from, std::int64_t element_bytes,
                                std::int64_t most_bytes, const index& grain, std::span<const side> sides) {
  const std::size_t rank = from.size();
  const auto bytes = [&] { return volume({box.data(), rank}, element_bytes); };
  const auto seconds = [&] {
    double sum = 0;
    for (const side& one : sides) sum += seconds_of(one, box, element_bytes);
    return sum;
  };
  while (bytes() > most_bytes) {
    const double before = seconds();
    double best = std::numeric_limits<double>::max();
    std::size_t best_axis = rank;
    std::int64_t best_extent = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      if (box[k] <= grain[k]) continue;
      const std::int64_t extent = box[k];
      box[k] = std::max(grain[k], (extent - 1 - extent / 8) / grain[k] * grain[k]);
      // Short axes shrink by larger steps, so the cost counts per halving.
      const double cost = (seconds() - before) / std::log2(static_cast<double>(extent) / static_cast<double>(box[k]));
      if (cost < best) {
        best = cost;
        best_axis = k;
        best_extent = box[k];
      }
      box[k] = extent;
    }
    if (best_axis == rank) return std::nullopt;
    box[best_axis] = best_extent;
  }
  // A shrunk axis never grew again: exchange extents between two axes as long as it pays.
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t grown = 0; grown < rank && !is_better; ++grown) {
      for (std::size_t cut = 0; cut < rank && !is_better; ++cut) {
        const index kept = box;
        const double before = seconds();
        box[grown] =
            std::min(from[grown], (box[grown] + box[grown] / 8 + 1 + grain[grown] - 1) / grain[grown] * grain[grown]);
        const std::int64_t others = bytes() / box[cut];
        box[cut] = std::min(box[cut], most_bytes / others / grain[cut] * grain[cut]);
        is_better = grown != cut && box[grown] > kept[grown] && box[cut] >= grain[cut] && seconds() < before * 0.9999;
        if (!is_better) box = kept;
      }
    }
  }
  // Boxes of one size, and multiples of 64 elements: whole cache lines. Equal boxes leave memory unused, so that one part fewer
  // may fit along some axis.
  const auto in_parts = [&](std::size_t k, std::int64_t parts) {
    const std::int64_t equal = base::ceil_div(from[k], parts);
    const std::int64_t step = grain[k] > 1 || equal < 128 ? grain[k] : 64;
    return std::min(base::ceil_div(equal, step) * step, from[k]);
  };
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t most = box[k], parts = base::ceil_div(from[k], most);
    box[k] = in_parts(k, parts);
    if (bytes() > most_bytes)
      box[k] = std::min(most, base::ceil_div(base::ceil_div(from[k], parts), grain[k]) * grain[k]);
  }
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::int64_t kept = box[k], parts = base::ceil_div(from[k], kept);
      if (parts == 1) continue;
      const double before = seconds();
      box[k] = in_parts(k, parts - 1);
      const bool fits = bytes() <= most_bytes && box[k] > kept && seconds() <= before;
      if (!fits) box[k] = kept;
      is_better = is_better || fits;
    }
  }
  return box;
}

// A step that cuts a whole axis loses its long runs at once and pays only after many steps. So boxes that begin with a part of the fastest
// axes are tried too, and boxes that begin with a part of the second ones.
std::optional<index> choose_box(std::span<const std::int64_t> from, std::int64_t element_bytes, std::int64_t most_bytes,
                                const index& grain, std::span<const side> sides) {
  constexpr std::int64_t most_parts = 8;
  const auto seconds = [&](const index& box) {
    double sum = 0;
    for (const side& one : sides) sum += seconds_of(one, box, element_bytes);
    return sum;
  };
  index whole{};
  std::copy(from.begin(), from.end(), whole.begin());
  std::optional<index> best = shrink_box(whole, from, element_bytes, most_bytes, grain, sides);
  for (std::size_t depth = 0; depth < std::min<std::size_t>(2, from.size()); ++depth) {
    for (std::int64_t parts = 2; parts <= most_parts; ++parts) {
      index begin = whole;
      for (const side& one : sides) {
        if (one.fastest_first.size() <= depth) continue;
        const auto k = static_cast<std::size_t>(one.fastest_first[depth]);
        begin[k] = std::min(from[k], base::ceil_div(base::ceil_div(from[k], parts), grain[k]) * grain[k]);
      }
      const std::optional<index> box = shrink_box(begin, from, element_bytes, most_bytes, grain, sides);
      if (box && (!best || seconds(*box) < seconds(*best) * 0.9999)) best = box;
    }
  }
  return best;
}

[[noreturn]] void too_small(std::int64_t memory, std::int64_t wanted) {
  throw error(status::invalid_argument, "the buffers may have " + std::to_string(memory) + " bytes, wanted at least " +
                                            std::to_string(wanted) + " for this array");
}

index grain_of(const permuted& what, const store_layout& dst) {
  index grain{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(what.rank); ++k) {
    const bool chunked = dst.is == store_layout::kind::chunks;
    grain[k] = chunked ? std::min(dst.chunk[k], what.extents[k]) : 1;
  }
  return grain;
}

// A contiguous part of the box: the axes behind the split axis are whole, and those in front of it have one index.
index write_unit_of(const pass& one, const index& grain, std::int64_t unit_bytes) {
  const auto rank = static_cast<std::size_t>(one.what.rank);
  index unit{};
  std::copy_n(one.box.begin(), rank, unit.begin());
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t inner = volume({one.box.data() + k + 1, rank - k - 1}, one.what.element_bytes);
    unit[k] = std::clamp(unit_bytes / inner / grain[k] * grain[k], std::min(grain[k], one.box[k]), one.box[k]);
    if (unit[k] > 1) break;
  }
  return unit;
}

std::optional<pass> plan_pass(const permuted& what, const resources& with, std::optional<index> box = std::nullopt) {
  pass made;
  made.what = what;
  made.src = with.src;
  made.dst = with.dst;
  made.threads = with.threads;
  const std::span<const std::int64_t> whole = extents_of(what);
  const std::int64_t total = bytes_of(what);
  const side src{src_order(what), whole, with.src, static_cast<double>(with.disk.read_request_bytes),
                 with.disk.read_bytes_per_second};
  const side dst{dst_order(what), whole, with.dst, static_cast<double>(with.disk.write_request_bytes),
                 with.disk.write_bytes_per_second};
  const index grain = grain_of(what, with.dst);
  const std::int64_t unit_bytes =
      std::max(std::min(with.memory_bytes / (8 * with.threads), most_unit_bytes), what.element_bytes);
  const int units = with.src.is == store_layout::kind::tiles ? 2 : 1;  // parts of tiles are staged
  std::int64_t box_bytes = 0;
  if (with.src.in_memory) {
    made.slots = made.threads;
    box_bytes = std::min(with.memory_bytes / made.slots,
                         std::clamp(total / (4 * with.threads), least_box_in_memory, most_box_in_memory));
  } else {
    box_bytes = (with.memory_bytes - made.threads * units * unit_bytes) / made.slots;
  }
  if (!box) {
    side memory = src;  // the kernel reads lines of a mapped array
    memory.layout = {};
    memory.request_bytes = 1 << 10;
    const std::array<side, 2> sides{with.src.in_memory ? memory : src, dst};
    box = choose_box(whole, what.element_bytes, box_bytes, grain, sides);
  }
  if (!box || volume({box->data(), whole.size()}, what.element_bytes) > box_bytes) return std::nullopt;
  made.box = *box;
  const std::span<const std::int64_t> box_extents(made.box.data(), whole.size());
  made.summary.box_bytes = volume(box_extents, what.element_bytes);
  if (with.src.in_memory) {
    made.read_unit = made.box;
    made.write_unit = made.box;
  } else {
    index one{};
    one.fill(1);
    side in_box{dst.fastest_first, box_extents, {}, cache_run_bytes, with.disk.read_bytes_per_second};
    const std::array<side, 2> sides{src, in_box};
    const auto unit = choose_box(box_extents, what.element_bytes, unit_bytes, one, sides);
    if (!unit) return std::nullopt;
    made.read_unit = *unit;
    made.write_unit = write_unit_of(made, grain, most_unit_bytes);
  }
  made.memory_bytes =
      made.slots * made.summary.box_bytes + (with.src.in_memory ? 0 : made.threads * units * unit_bytes);
  made.summary.extents.assign(whole.begin(), whole.end());
  made.summary.axes.assign(what.axes.begin(), what.axes.begin() + what.rank);
  made.summary.element_bytes = what.element_bytes;
  made.summary.box.assign(box_extents.begin(), box_extents.end());
  made.summary.boxes = box_grid(whole, box_extents).count();
  const auto run_bytes = [&](const side& its) {
    return run_elements(whole, box_extents, its.fastest_first) * what.element_bytes;
  };
  made.summary.read_run_bytes = run_bytes(src);
  made.summary.write_run_bytes = run_bytes(dst);
  made.summary.bytes = total;
  made.summary.seconds =
      together(with.disk, seconds_of(src, made.box, what.element_bytes), seconds_of(dst, made.box, what.element_bytes));
  // No write overlaps the first read, and no read the last write. A copy of 1.5 GiB took 4.4 s with 7 boxes, and 3.7 s with 28
  // (virtual disk, Linux 6.18, 2026-11-27).
  if (!with.src.in_memory) made.summary.seconds *= 1 + 1 / static_cast<double>(made.summary.boxes);
  return made;
}

// 3
permuted copied(const permuted& what) {
  permuted made = what;
  std::iota(made.axes.begin(), made.axes.begin() + made.rank, 0);
  return made;
}

std::optional<route> plan_two(const permuted& what, const resources& with) {
  std::optional<route> best;
  for (double favour = 1.0 / 16; favour <= 1 << 12; favour *= 4) {
    resources first = with;
    first.disk.read_request_bytes = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(with.disk.read_request_bytes) * favour));
    const std::optional<pass> shape = plan_pass(what, first);
    if (!shape) continue;
    first = with;
    first.dst.is = store_layout::kind::tiles;
    first.dst.chunk = shape->box;
    std::optional<pass> one = plan_pass(what, first, shape->box);
    resources second = with;
    second.src = first.dst;
    std::optional<pass> two = plan_pass(copied(what), second);
    if (!one || !two) continue;
    // Each tile is one request.
    one->summary.write_run_bytes = one->summary.box_bytes;
    const std::size_t rank = static_cast<std::size_t>(what.rank);
    index part{};
    for (std::size_t k = 0; k < rank; ++k) part[k] = std::min(two->box[k], shape->box[k]);
    two->summary.read_run_bytes =
        run_elements({shape->box.data(), rank}, {part.data(), rank}, dst_order(what)) * what.element_bytes;
    const double seconds = one->summary.seconds + two->summary.seconds;
    if (best && best->passes[0].summary.seconds + best->passes[1].summary.seconds <= seconds) continue;
    best = route{{*std::move(one), *std::move(two)}, shape->box};
  }
  return best;
}

}  // namespace

std::int64_t run_elements(std::span<const std::int64_t> whole, std::span<const std::int64_t> box,
                          std::span<const int> fastest_first) noexcept {
  std::int64_t run = 1;
  for (const int k : fastest_first) {
    run *= box[static_cast<std::size_t>(k)];
    if (box[static_cast<std::size_t>(k)] != whole[static_cast<std::size_t>(k)]) break;
  }
  return run;
}

route plan_one_pass(const permuted& what, const resources& with) {
  if (bytes_of(what) == 0) return {};
  std::optional<pass> one = plan_pass(what, with);
  if (!one) {
    const index grain = grain_of(what, with.dst);
    const std::int64_t least = volume({grain.data(), static_cast<std::size_t>(what.rank)}, what.element_bytes);
    too_small(with.memory_bytes, 3 * least + 2 * with.threads * what.element_bytes);
  }
  return {{*std::move(one)}, {}};
}

route plan_route(const permuted& what, const resources& with) {
  route one = plan_one_pass(what, with);
  if (one.passes.empty() || with.src.in_memory) return one;
  std::optional<route> two = plan_two(what, with);
  if (!two) return one;
  const double seconds = two->passes[0].summary.seconds + two->passes[1].summary.seconds;
  return seconds < worth_a_scratch_file * one.passes[0].summary.seconds ? *std::move(two) : one;
}

}  // namespace cornerturn::files
