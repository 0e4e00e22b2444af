// 1. Cut the output into boxes that have long runs on both sides  2. read the box of each side into a buffer, unless it is in memory
// 3. compare, in tiles of the axes that are fastest on each side.
#include "verify.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <random>

#include "workers.hpp"

namespace cornerturn::cli {
namespace {

using numbers = std::vector<std::int64_t>;

constexpr std::int64_t tile = 64;  // extent of a tile along both fast axes, so that both sides stay in cache
constexpr std::int64_t box_in_memory = 4 << 20;
constexpr std::int64_t least_samples = 64;  // boxes of a sample, but for a tiny one
constexpr std::int64_t least_sample_bytes = 64 << 10;

// A packed array. All axes are in the order of the output's shape.
struct side {
  byte_source& data;
  std::vector<std::size_t> fastest_first;
  numbers steps;  // bytes between neighbours
};

side side_of(byte_source& data, const npy_header& header, std::span<const int> axes) {
  side made{data, {}, numbers(header.shape.size())};
  std::vector<std::size_t> position(header.shape.size());  // in the output, for each axis of the header
  for (std::size_t k = 0; k < axes.size(); ++k) position[static_cast<std::size_t>(axes[k])] = k;
  std::int64_t step = header.itemsize;
  for (std::size_t n = 0; n < position.size(); ++n) {
    const std::size_t k = header.fortran_order ? n : position.size() - 1 - n;
    made.fastest_first.push_back(position[k]);
    made.steps[position[k]] = step;
    step *= header.shape[k];
  }
  return made;
}

// 1. The side with the shorter runs grows by half along its fastest axis that is not whole yet.
numbers choose_box(const numbers& shape, std::span<const side> sides, std::int64_t elements) {
  numbers box(shape.size(), 1);
  const auto run = [&](const side& one) {  // elements, and the axis that makes it longer
    std::int64_t length = 1;
    for (const std::size_t k : one.fastest_first) {
      length *= box[k];
      if (box[k] < shape[k]) return std::pair(length, k);
    }
    return std::pair(length, shape.size());
  };
  std::int64_t volume = 1;
  std::vector<bool> is_full(shape.size() + 1);
  is_full[shape.size()] = true;
  while (true) {
    std::size_t axis = shape.size();
    std::int64_t shortest = 0;
    for (const side& one : sides) {
      const auto [length, next] = run(one);
      if (is_full[next] || (axis < shape.size() && length >= shortest)) continue;
      axis = next;
      shortest = length;
    }
    if (axis == shape.size()) return box;
    const std::int64_t others = volume / box[axis];
    const std::int64_t extent = std::min({box[axis] + box[axis] / 2 + 1, shape[axis], elements / others});
    if (extent <= box[axis]) {
      is_full[axis] = true;
    } else {
      box[axis] = extent;
      volume = others * extent;
    }
  }
}

struct box {
  numbers first;
  numbers extents;
};

// The bytes of a box, with the steps of its axes.
struct part {
  const std::byte* data = nullptr;
  numbers steps;
};

// 2. Runs contain the fastest axes up to the first one that the box has only a part of.
part read_box(const side& from, const numbers& shape, const box& at, std::int64_t itemsize,
              std::vector<std::byte>& buffer) {
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) offset += at.first[k] * from.steps[k];
  if (from.data.memory() != nullptr) return {static_cast<const std::byte*>(from.data.memory()) + offset, from.steps};
  part made{nullptr, numbers(shape.size())};
  std::int64_t bytes = itemsize, run = itemsize;
  std::size_t inner = 0;  // axes of a run
  bool is_run = true;
  for (const std::size_t k : from.fastest_first) {
    made.steps[k] = bytes;
    bytes *= at.extents[k];
    if (!is_run) continue;
    run = bytes;
    ++inner;
    is_run = at.extents[k] == shape[k];
  }
  buffer.resize(static_cast<std::size_t>(bytes));
  made.data = buffer.data();
  for (std::int64_t done = 0; done < bytes; done += run) {
    std::int64_t left = done / run, place = offset;
    for (std::size_t n = inner; n < from.fastest_first.size(); ++n) {
      const std::size_t k = from.fastest_first[n];
      place += left % at.extents[k] * from.steps[k];
      left /= at.extents[k];
    }
    from.data.read(place, buffer.data() + done, static_cast<std::size_t>(run));
  }
  return made;
}

template <class Word>
bool differ(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step, std::int64_t count) {
  bool found = false;
  for (std::int64_t k = 0; k < count; ++k) {
    Word one, other;
    std::memcpy(&one, a + k * a_step, sizeof one);
    std::memcpy(&other, b + k * b_step, sizeof other);
    found |= one != other;
  }
  return found;
}

bool differ(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step, std::int64_t count,
            std::int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return differ<std::uint8_t>(a, a_step, b, b_step, count);
    case 2:
      return differ<std::uint16_t>(a, a_step, b, b_step, count);
    case 4:
      return differ<std::uint32_t>(a, a_step, b, b_step, count);
    case 8:
      return differ<std::uint64_t>(a, a_step, b, b_step, count);
    default:
      for (std::int64_t k = 0; k < count; ++k) {
        if (std::memcmp(a + k * a_step, b + k * b_step, static_cast<std::size_t>(itemsize)) != 0) return true;
      }
      return false;
  }
}

// 3. Returns the index in the box of an element that differs. `fast` is the output's fastest axis and `slow` the input's.
std::optional<numbers> compare(const part& a, const part& b, const numbers& extents, std::int64_t itemsize) {
  const auto fastest = [&](const numbers& steps, std::size_t but) {
    std::size_t found = extents.size();
    for (std::size_t k = 0; k < extents.size(); ++k) {
      if (k != but && extents[k] > 1 && (found == extents.size() || steps[k] < steps[found])) found = k;
    }
    return found;
  };
  const std::size_t fast = fastest(b.steps, extents.size()), slow = fastest(a.steps, fast);
  const auto of = [&](const numbers& all, std::size_t axis, std::int64_t none) {
    return axis < extents.size() ? all[axis] : none;
  };
  const std::int64_t rows = of(extents, slow, 1), columns = of(extents, fast, 1);
  std::int64_t planes = 1;
  for (const std::int64_t extent : extents) planes *= extent;
  planes /= rows * columns;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    numbers index(extents.size());
    std::int64_t left = plane, a_offset = 0, b_offset = 0;
    for (std::size_t k = extents.size(); k-- > 0;) {
      if (k == fast || k == slow) continue;
      index[k] = left % extents[k];
      left /= extents[k];
      a_offset += index[k] * a.steps[k];
      b_offset += index[k] * b.steps[k];
    }
    for (std::int64_t i = 0; i < rows; i += tile) {
      for (std::int64_t j = 0; j < columns; j += tile) {
        for (std::int64_t row = i; row < std::min(i + tile, rows); ++row) {
          const auto row_of = [&](const part& one, std::int64_t plane_offset, std::int64_t column) {
            return one.data + plane_offset + row * of(one.steps, slow, 0) + column * of(one.steps, fast, 0);
          };
          const auto is_wrong = [&](std::int64_t column, std::int64_t count) {
            return differ(row_of(a, a_offset, column), of(a.steps, fast, 0), row_of(b, b_offset, column),
                          of(b.steps, fast, 0), count, itemsize);
          };
          if (!is_wrong(j, std::min(tile, columns - j))) continue;
          std::int64_t column = j;
          while (!is_wrong(column, 1)) ++column;
          if (slow < extents.size()) index[slow] = row;
          if (fast < extents.size()) index[fast] = column;
          return index;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int64_t>> find_difference(const npy_header& in, byte_source& in_data,
                                                         const npy_header& out, byte_source& out_data,
                                                         std::span<const int> axes, const compare_options& how) {
  if (in.data_bytes == 0) return std::nullopt;
  std::vector<int> same(axes.size());
  for (std::size_t k = 0; k < same.size(); ++k) same[k] = static_cast<int>(k);
  const std::vector<side> sides{side_of(in_data, in, axes), side_of(out_data, out, same)};
  const auto buffers =
      std::count_if(sides.begin(), sides.end(), [](const side& one) { return one.data.memory() == nullptr; });
  std::int64_t box_bytes = buffers == 0 ? box_in_memory : how.memory_bytes / (buffers * how.threads);
  const bool is_sample = how.sample_bytes > 0 && how.sample_bytes < in.data_bytes;
  if (is_sample) box_bytes = std::min(box_bytes, std::max(how.sample_bytes / least_samples, least_sample_bytes));
  const numbers extents = choose_box(out.shape, sides, std::max<std::int64_t>(box_bytes / in.itemsize, 1));
  std::int64_t boxes = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) boxes *= (out.shape[k] + extents[k] - 1) / extents[k];

  std::int64_t tasks = boxes;
  if (is_sample) tasks = std::clamp<std::int64_t>(how.sample_bytes / (in.data_bytes / boxes), 1, boxes);
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::int64_t> places(static_cast<std::size_t>(is_sample ? tasks : 0));
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(places.size()); ++k) {
    const auto begin = [&](std::int64_t n) { return boxes / tasks * n + boxes % tasks * n / tasks; };
    places[static_cast<std::size_t>(k)] =
        std::uniform_int_distribution<std::int64_t>(begin(k), begin(k + 1) - 1)(random);
  }

  std::atomic<std::int64_t> compared{0};
  std::atomic<bool> stop{false};
  std::mutex guard;
  std::optional<numbers> difference;
  const auto work = [&](std::int64_t task, std::vector<std::vector<std::byte>>& memory) {
    if (stop.load()) return;
    if (is_sample) task = places[static_cast<std::size_t>(task)];
    box at{numbers(extents.size()), extents};
    std::int64_t bytes = in.itemsize;
    for (std::size_t k = extents.size(); k-- > 0;) {
      const std::int64_t parts = (out.shape[k] + extents[k] - 1) / extents[k];
      at.first[k] = task % parts * extents[k];
      at.extents[k] = std::min(extents[k], out.shape[k] - at.first[k]);
      task /= parts;
      bytes *= at.extents[k];
    }
    const part a = read_box(sides[0], out.shape, at, in.itemsize, memory[0]);
    const part b = read_box(sides[1], out.shape, at, in.itemsize, memory[1]);
    if (std::optional<numbers> found = compare(a, b, at.extents, in.itemsize)) {
      for (std::size_t k = 0; k < found->size(); ++k) (*found)[k] += at.first[k];
      const std::lock_guard lock(guard);
      difference = std::move(found);
      stop.store(true);
    }
    compared += bytes;
  };
  const auto make_worker = [&]() -> worker {
    return [&work, memory = std::vector<std::vector<std::byte>>(2)](std::int64_t task) mutable { work(task, memory); };
  };
  run_tasks(how.threads, tasks, make_worker, [&] {
    if (how.progress) how.progress(compared.load());
  });
  return difference;
}

}  // namespace cornerturn::cli
