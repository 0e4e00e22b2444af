// The steps of one case:
//   1. draw an element size, and a size in bytes (log-uniform)
//   2. draw extents and axes of the kind
//   3. draw padding and base offsets
//   4. extents are whole numbers, so the size may be outside of the range: then draw again
//
// The code uses only integers, IEEE products and square roots, whose results are equal on all platforms. std::exp and the
// distributions of <random> differ between libraries.
#include "bench/random_cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace cornerturn::bench {

namespace {

constexpr std::int64_t least_size = 64;
constexpr std::int64_t most_view_buffer = 8;  // of memory that a view spans, for each byte of the largest case

class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // In [0, end), end <= 2^31. The bias is below 2^-32.
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(((next() >> 32) * static_cast<std::uint64_t>(end)) >> 32);
  }
  std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
  bool one_of(std::int64_t many) { return below(many) == 0; }

  // A log-uniform number in [first, last]: first * (last / first)^u. The power is a product of repeated square roots.
  std::int64_t log_uniform(std::int64_t first, std::int64_t last) {
    if (last <= first) return first;
    const std::uint64_t u = next();
    double root = static_cast<double>(last + 1) / static_cast<double>(first), product = static_cast<double>(first);
    for (int bit = 63; bit >= 32; --bit) {
      root = std::sqrt(root);
      if (((u >> bit) & 1U) != 0) product *= root;
    }
    return std::clamp(static_cast<std::int64_t>(product), first, last);
  }

  // A log-uniform extent in [first, last]. As in real arrays, a quarter of the extents each is: any number, a multiple of 8, a
  // multiple of 64, a power of two.
  std::int64_t extent(std::int64_t first, std::int64_t last) {
    const std::int64_t any = log_uniform(first, last);
    std::int64_t unit = 1;
    switch (below(4)) {
      case 0:
        while (unit <= any / 2) unit *= 2;
        break;
      case 1:
        unit = 64;
        break;
      case 2:
        unit = 8;
        break;
      default:
        break;
    }
    const std::int64_t rounded = any / unit * unit;
    return rounded < first ? any : rounded;
  }

  template <class List>
  void shuffle(List& list) {
    for (std::size_t k = list.size(); k > 1; --k) {
      std::swap(list[k - 1], list[static_cast<std::size_t>(below(static_cast<std::int64_t>(k)))]);
    }
  }

 private:
  std::uint64_t state_;
};

std::int64_t root_of(std::int64_t value) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(static_cast<double>(value))));
}

// The largest number whose `power`-th power is at most value^2. Made of products, because std::pow rounds differently between
// libraries.
std::int64_t root_of_square(std::int64_t value, int power) {
  const double square = static_cast<double>(value) * static_cast<double>(value);
  std::int64_t first = 1, last = value;
  while (first < last) {
    const std::int64_t middle = first + (last - first + 1) / 2;
    double product = 1;
    for (int k = 0; k < power; ++k) product *= static_cast<double>(middle);
    (product <= square ? first : last) = product <= square ? middle : middle - 1;
  }
  return first;
}

// Extents whose product is about `elements`, in random order. Each extent is at most the square of the geometric mean of the
// extents that are left. With a wider range the first extent would take nearly everything, and all others would be 2.
std::vector<std::int64_t> split(generator& random, std::int64_t elements, int rank) {
  std::vector<std::int64_t> extents;
  std::int64_t left = elements;
  for (int k = 1; k < rank; ++k) {
    const std::int64_t most = std::max<std::int64_t>(2, root_of_square(left, rank - k + 1));
    extents.push_back(random.extent(2, most));
    left = std::max<std::int64_t>(1, left / extents.back());
  }
  extents.push_back(left);
  random.shuffle(extents);
  return extents;
}

// Step 2: the make_ functions fill extents and axes. is_of_kind() refuses results that are not of the kind, and they are drawn
// again.

void make_matrix(generator& random, bench_case& one, std::int64_t elements) {
  const std::int64_t batch = random.one_of(4) ? random.log_uniform(2, 16) : 1;
  const std::int64_t each = elements / batch, least = std::min<std::int64_t>(65, root_of(each));
  const std::int64_t rows = random.extent(least, each / least);
  one.extents = {rows, each / rows};
  one.axes = {1, 0};
  if (batch == 1) return;
  one.extents.insert(one.extents.begin(), batch);
  one.axes = {0, 2, 1};
}

void make_skinny(generator& random, bench_case& one, std::int64_t elements) {
  const std::int64_t side = random.log_uniform(2, 64);
  one.extents = {side, elements / side};
  one.axes = {1, 0};
  if (random.one_of(2)) std::swap(one.extents[0], one.extents[1]);
}

void permute(generator& random, bench_case& one, std::int64_t moved) {
  one.axes.resize(one.extents.size());
  std::iota(one.axes.begin(), one.axes.end(), 0);
  std::vector<int> outer(one.axes.begin(), one.axes.begin() + moved);
  random.shuffle(outer);
  std::copy(outer.begin(), outer.end(), one.axes.begin());
}

void make_rank(generator& random, bench_case& one, std::int64_t elements) {
  const auto rank = static_cast<int>(random.between(3, 7));
  one.extents = split(random, elements, rank);
  permute(random, one, rank);
}

void make_copy(generator& random, bench_case& one, std::int64_t elements) {
  const auto rank = static_cast<int>(random.between(2, 5));
  const std::int64_t most = std::max<std::int64_t>(2, 65536 / one.element_bytes);
  const std::int64_t run = random.extent(2, std::min(most, elements / 4));
  one.extents = rank == 2 ? std::vector{elements / run} : split(random, elements / run, rank - 1);
  one.extents.push_back(run);
  permute(random, one, rank - 1);
}

void make_batch(generator& random, bench_case& one, std::int64_t elements) {
  const std::int64_t most = std::min<std::int64_t>(256, root_of(elements / 4));
  const std::int64_t rows = random.extent(2, most), cols = random.extent(2, most);
  one.extents = {elements / (rows * cols), rows, cols};
  one.axes = {0, 2, 1};
}

void make_in_place(generator& random, bench_case& one, std::int64_t elements) {
  if (random.one_of(2)) {
    make_matrix(random, one, elements);
  } else if (random.one_of(4)) {
    make_skinny(random, one, elements);
  } else {
    const std::int64_t most = root_of(elements);
    const std::int64_t side = random.one_of(2) ? most : random.extent(4, most);
    const std::int64_t batch = elements / (side * side);
    one.extents = {side, side};
    one.axes = {1, 0};
    if (batch > 1) {
      one.extents.insert(one.extents.begin(), batch);
      one.axes = {0, 2, 1};
    }
  }
}

void make_odd(generator& random, bench_case& one, std::int64_t elements) {
  static constexpr std::array shapes{make_matrix, make_skinny, make_rank, make_batch};
  shapes[static_cast<std::size_t>(random.below(std::ssize(shapes)))](random, one, elements);
}

// Strides of a nest: axis order[0] is the innermost. Some axes take every step-th index, and some of those backwards.
std::vector<std::int64_t> stepped(generator& random, const std::vector<std::int64_t>& extents,
                                  const std::vector<int>& order, bool steps, bool flips) {
  std::vector<std::int64_t> strides(extents.size(), 0);
  std::int64_t next = 1;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto axis = static_cast<std::size_t>(order[k]);
    const std::int64_t step =
        steps && (k == 0 || random.one_of(4)) ? random.between(k == 0 ? 2 : 1, k == 0 ? 16 : 3) : 1;
    strides[axis] = next * step * (flips && random.one_of(3) ? -1 : 1);
    next *= extents[axis] * step;
    if (random.one_of(3)) next += random.between(1, 8);  // a window of wider rows
  }
  return strides;
}

// Slices of slices: steps and flips on src, on dst or on both; fields of records, which are short runs of elements with gaps behind
// them; broadcasts. In the same order, transposed or permuted.
void make_view(generator& random, bench_case& one, std::int64_t elements) {
  const std::int64_t form = random.below(4), sides = random.between(1, 3), what = random.below(6);
  const auto rank = static_cast<int>(form == 3 ? random.between(3, 6) : random.between(1, 2));
  one.extents = rank == 1 ? std::vector{elements} : split(random, elements, rank);
  if (what == 5) {  // a field of 1 to 8 elements
    one.extents.push_back(random.between(2, 8));
    one.extents.front() = std::max<std::int64_t>(2, one.extents.front() / one.extents.back());
  }
  const auto axes = static_cast<int>(one.extents.size());
  permute(random, one, form >= 2 ? axes : 0);
  std::vector<int> src_order(one.extents.size()), dst_order(one.extents.size());
  for (int k = 0; k < axes; ++k)
    src_order[static_cast<std::size_t>(k)] = dst_order[static_cast<std::size_t>(k)] = axes - 1 - k;
  std::vector<std::int64_t> dst;
  for (const int axis : one.axes) dst.push_back(one.extents[static_cast<std::size_t>(axis)]);
  const bool flips = what < 2, steps = what != 0 && what != 4;
  one.strides.src = stepped(random, one.extents, src_order, steps && what != 5 && (sides & 1) != 0, flips);
  one.strides.dst = stepped(random, dst, dst_order, steps && what != 5 && (sides & 2) != 0, false);
  if (what == 5) {  // gaps behind the fields
    const auto add_gap = [&](std::vector<std::int64_t>& strides, std::int64_t least) {
      const std::int64_t factor = random.between(2, 4);
      for (std::int64_t& stride : strides) {
        if (stride >= least) stride *= factor;
      }
    };
    if ((sides & 1) != 0) add_gap(one.strides.src, one.extents.back());
    if ((sides & 2) != 0) add_gap(one.strides.dst, dst.back());
  }
  if (what == 4) one.strides.src[static_cast<std::size_t>(random.below(axes))] = 0;
  for (std::size_t k = 0; k < one.extents.size(); ++k) {
    if (one.strides.src[k] < 0) one.shift.src -= (one.extents[k] - 1) * one.strides.src[k] * one.element_bytes;
  }
}

bool innermost_stays(const bench_case& one) { return one.axes.back() == static_cast<int>(one.extents.size()) - 1; }

bool is_of_kind(const bench_case& one, const std::string& kind) {
  for (const std::int64_t extent : one.extents) {
    if (extent < 2) return false;
  }
  const bool is_copy = kind == "copy";
  if (innermost_stays(one) != is_copy) return false;
  return is_copy || folded(full_view(one)).axes.size() >= 2;
}

// Step 3: the padding behind a run of `elements`, at most an eighth of its length, so that most of the memory is elements.
std::int64_t gap(generator& random, std::int64_t elements, std::int64_t element_bytes) {
  if (elements * element_bytes < least_padded_bytes) return 0;
  return random.log_uniform(1, std::max<std::int64_t>(1, std::min<std::int64_t>(elements / 8, 512)));
}

void pad(generator& random, bench_case& one, std::int64_t one_of) {
  const bool square = one.extents[one.extents.size() - 1] == one.extents[one.extents.size() - 2];
  const std::int64_t src_row = one.extents.back(), dst_row = one.extents[static_cast<std::size_t>(one.axes.back())];
  if (one.in_place()) {  // a square may be padded, equally in src and dst; a rectangle in place must be packed
    if (square && random.one_of(one_of)) one.ld.src = one.ld.dst = gap(random, src_row, one.element_bytes);
    return;
  }
  if (random.one_of(one_of)) one.ld.src = gap(random, src_row, one.element_bytes);
  if (random.one_of(one_of)) one.ld.dst = gap(random, dst_row, one.element_bytes);
  if (one.extents.size() < 3) return;
  const std::int64_t src_part = one.src_strides().front(), dst_part = one.dst_strides().front();
  if (random.one_of(one_of)) one.batch.src = gap(random, src_part, one.element_bytes);
  if (random.one_of(one_of)) one.batch.dst = gap(random, dst_part, one.element_bytes);
}

void misalign(generator& random, bench_case& one) {
  const std::int64_t bytes = one.element_bytes;
  const bool odd = (bytes & (bytes - 1)) != 0;
  const std::int64_t unit = odd ? bytes & -bytes : bytes;  // the largest power of two that divides an odd element
  if (!random.one_of(3)) return;
  const std::int64_t which = random.between(1, 3);
  if ((which & 1) != 0) one.shift.src = unit * random.between(1, 31);
  if ((which & 2) != 0) one.shift.dst = unit * random.between(1, 31);
  if (one.in_place()) one.shift.src = one.shift.dst = std::max(one.shift.src, one.shift.dst);
}

struct kind_row {
  const char* name;
  void (*make)(generator& random, bench_case& one, std::int64_t elements);
  std::int64_t padded_one_of;
};

constexpr const char* view_kind = "view";
constexpr const char* record_kind = "record";

constexpr kind_row table[] = {
    {"matrix", make_matrix, 3}, {"skinny", make_skinny, 3}, {"rank", make_rank, 4},
    {"copy", make_copy, 3},     {"batch", make_batch, 3},   {"in_place", make_in_place, 3},
    {"odd", make_odd, 4},       {view_kind, make_view, 0},  {record_kind, make_odd, 4},
};

const kind_row& row_of(const std::string& kind) {
  for (const kind_row& row : table) {
    if (kind == row.name) return row;
  }
  throw std::invalid_argument("--kinds has \"" + kind +
                              "\", wanted matrix, skinny, rank, copy, batch, in_place, odd, view or record");
}

}  // namespace

const std::vector<std::string>& random_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const kind_row& row : table) {
      // A list of a seed without --kinds stays the same.
      if (row.name != view_kind && row.name != record_kind) list.emplace_back(row.name);
    }
    return list;
  }();
  return names;
}

bench_case random_case(std::uint64_t seed, const std::string& kind, int index, std::int64_t least_bytes,
                       std::int64_t most_bytes) {
  static constexpr std::array<std::int64_t, 10> sizes{1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  static constexpr std::array<std::int64_t, 4> odd_sizes{3, 6, 12, 24};
  const kind_row& row = row_of(kind);
  if (least_bytes < least_size || most_bytes < 2 * least_bytes) {
    throw std::invalid_argument("--size: " + std::to_string(least_bytes) + ":" + std::to_string(most_bytes) +
                                " is not MIN:MAX with MIN of at least 64 bytes and MAX of at least twice MIN");
  }
  std::uint64_t start = generator(seed).next() ^ static_cast<std::uint64_t>(index);
  for (const char letter : kind) start = generator(start ^ static_cast<unsigned char>(letter)).next();
  generator random(start);
  for (;;) {
    bench_case one;
    one.set = "random_" + kind;
    if (kind == record_kind) {  // 1
      one.element_bytes = random.between(5, 128);
      if (std::find(sizes.begin(), sizes.end(), one.element_bytes) != sizes.end()) continue;
    } else {
      one.element_bytes = kind == "odd" ? odd_sizes[static_cast<std::size_t>(random.below(std::ssize(odd_sizes)))]
                                        : sizes[static_cast<std::size_t>(random.below(std::ssize(sizes)))];
    }
    row.make(random, one, random.log_uniform(least_bytes, most_bytes) / one.element_bytes);
    if (one.bytes() < least_bytes || one.bytes() > most_bytes) continue;  // 4
    if (one.is_view()) {
      if (one.buffer_bytes() > most_view_buffer * most_bytes) continue;
      one.roof = roof_of(one);
    } else {
      if (!is_of_kind(one, kind)) continue;
      pad(random, one, row.padded_one_of);
      misalign(random, one);
    }
    one.note = "seed " + std::to_string(seed) + " index " + std::to_string(index);
    return one;
  }
}

std::vector<bench_case> random_cases(const random_options& options, machine on, bool in_cache) {
  constexpr std::int64_t kib = 1024, mib = 1024 * kib;
  const bool given = options.least_bytes != 0 || options.most_bytes != 0;
  const bool cpu = on == machine::cpu;
  const std::int64_t cold_least = cpu ? 16 * mib : 64 * mib, cold_most = cpu ? 256 * mib : 1024 * mib;
  const std::int64_t hot_least = cpu ? 64 : 16 * kib, hot_most = cpu ? mib : 32 * mib;
  const std::int64_t least = given ? options.least_bytes : in_cache ? hot_least : cold_least;
  const std::int64_t most = given ? options.most_bytes : in_cache ? hot_most : cold_most;
  const std::vector<std::string>& kinds = options.kinds.empty() ? random_kinds() : options.kinds;
  const auto many = static_cast<int>(kinds.size());
  std::vector<bench_case> cases;
  for (int kind = 0; kind < many; ++kind) {
    const int share = options.count / many + (kind < options.count % many ? 1 : 0);
    const int first = std::max(options.index, 0), end = options.index >= 0 ? first + 1 : share;
    for (int index = first; index < end; ++index) {
      cases.push_back(random_case(options.seed, kinds[static_cast<std::size_t>(kind)], index, least, most));
    }
  }
  return cases;
}

}  // namespace cornerturn::bench
