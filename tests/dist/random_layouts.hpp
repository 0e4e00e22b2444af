// Random layouts of both sides of a transpose, and the oracle: a walk over all elements that looks at no overlay.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "../kernels/cases.hpp"
#include "cornerturn/dist.hpp"
#include "dist/layout.hpp"

namespace cornerturn::testing {

using index_list = std::vector<std::int64_t>;

inline dist::axis_layout random_axis(dice& any, std::int64_t extent, std::int64_t most_cells) {
  dist::axis_layout made;
  made.cells = static_cast<std::int32_t>(1 + any.below(most_cells));
  made.splits = {0};
  if (any.one_in(3)) {  // cyclic blocks
    const std::int64_t block = 1 + any.below(5);
    const auto first = static_cast<std::int32_t>(any.below(made.cells));
    for (std::int64_t at = 0; at < extent; at += block) {
      made.coordinates.push_back((first + static_cast<std::int32_t>(at / block)) % made.cells);
      made.splits.push_back(std::min(at + block, extent));
    }
  } else {  // any splits, empty ones too, of any coordinates
    const std::int64_t intervals = any.below(6);
    for (std::int64_t k = 0; k < intervals; ++k) made.splits.push_back(any.below(extent + 1));
    std::sort(made.splits.begin(), made.splits.end());
  }
  made.splits.front() = 0;
  if (made.splits.size() == 1 || made.splits.back() != extent) made.splits.push_back(extent);
  while (made.coordinates.size() + 1 < made.splits.size()) {
    made.coordinates.push_back(static_cast<std::int32_t>(any.below(made.cells)));
  }
  return made;
}

inline dist::layout random_layout(dice& any, const index_list& extents, int ranks) {
  dist::layout made;
  std::int64_t cells = 1;
  for (const std::int64_t extent : extents) {
    made.axes.push_back(random_axis(any, extent, cells > 30 ? 1 : 4));
    cells *= made.axes.back().cells;
  }
  // Some ranks may own nothing.
  const int owners = static_cast<int>(1 + any.below(ranks));
  for (std::int64_t k = 0; k < cells; ++k)
    made.owners.push_back(static_cast<std::int32_t>((any.below(owners) + 1) % ranks));
  return made;
}

inline index_list permuted_extents(const dist::problem& what) {
  index_list permuted;
  for (const int axis : what.axes) permuted.push_back(what.extents[static_cast<std::size_t>(axis)]);
  return permuted;
}

inline dist::problem random_problem(dice& any, int ranks, std::int64_t most_elements = 1000) {
  dist::problem what;
  const std::int64_t rank = 1 + any.below(8);
  std::int64_t left = most_elements;
  for (std::int64_t k = 0; k < rank; ++k) {
    const std::int64_t extent =
        any.one_in(40) ? 0 : 1 + any.below(std::min<std::int64_t>(left, k + 1 == rank ? 60 : 14));
    what.extents.push_back(extent);
    left = std::max<std::int64_t>(1, left / std::max<std::int64_t>(extent, 1));
  }
  what.axes.resize(static_cast<std::size_t>(rank));
  std::iota(what.axes.begin(), what.axes.end(), 0);
  for (std::size_t k = what.axes.size(); k-- > 1;) {
    std::swap(what.axes[k], what.axes[static_cast<std::size_t>(any.below(static_cast<std::int64_t>(k) + 1))]);
  }
  what.element_bytes = any.of(element_sizes);
  what.src = random_layout(any, what.extents, ranks);
  what.dst = random_layout(any, permuted_extents(what), ranks);
  return what;
}

// Row-major strides with random padding, or column-major ones.
inline index_list random_strides(dice& any, const index_list& extents) {
  index_list made(extents.size());
  std::int64_t next = 1;
  const bool column_major = any.one_in(3);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const std::size_t axis = column_major ? k : extents.size() - 1 - k;
    made[axis] = next;
    next *= std::max<std::int64_t>(extents[axis], 1) + any.below(3);
  }
  return made;
}

// The blocks of all cells of one side, in the order of cells.
struct side {
  std::vector<index_list> extents, strides;
  std::vector<std::vector<std::byte>> blocks;

  side(dice& any, const dist::layout& all, std::int64_t element_bytes, std::byte filled) {
    for (std::size_t cell = 0; cell < all.owners.size(); ++cell) {
      extents.push_back(distributed::block_extents(all, static_cast<std::int64_t>(cell)));
      strides.push_back(random_strides(any, extents.back()));
      std::int64_t last = 0;
      for (std::size_t k = 0; k < strides.back().size(); ++k)
        last += strides.back()[k] * std::max<std::int64_t>(0, extents.back()[k] - 1);
      blocks.emplace_back(static_cast<std::size_t>((last + 1) * element_bytes), filled);
    }
  }
};

// The blocks of one rank, as plan::execute takes them.
template <class Pointer>
std::vector<Pointer> pointers_of(const dist::layout& all, side& blocks, int rank) {
  std::vector<Pointer> made;
  for (const std::int64_t cell : distributed::cells_of(all, rank))
    made.push_back(blocks.blocks[static_cast<std::size_t>(cell)].data());
  return made;
}

inline std::vector<index_list> strides_of(const dist::layout& all, const side& blocks, int rank) {
  std::vector<index_list> made;
  for (const std::int64_t cell : distributed::cells_of(all, rank))
    made.push_back(blocks.strides[static_cast<std::size_t>(cell)]);
  return made;
}

// 0: the text does not have the words
inline double number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + words.size(), nullptr);
}

struct element_place {
  std::size_t cell = 0;
  std::int64_t offset = 0;
};

// The block that stores a global index: counts the elements of its coordinate before it.
inline element_place place_of(const dist::layout& all, const side& stored, const index_list& index) {
  element_place found;
  index_list local(index.size());
  for (std::size_t k = 0; k < index.size(); ++k) {
    const dist::axis_layout& axis = all.axes[k];
    const auto interval_of = [&](std::int64_t at) {
      std::size_t interval = 0;
      while (at < axis.splits[interval] || at >= axis.splits[interval + 1]) ++interval;
      return interval;
    };
    const std::size_t mine = interval_of(index[k]);
    local[k] = index[k] - axis.splits[mine];
    for (std::size_t before = 0; before < mine; ++before) {
      if (axis.coordinates[before] == axis.coordinates[mine]) local[k] += axis.splits[before + 1] - axis.splits[before];
    }
    found.cell = found.cell * static_cast<std::size_t>(axis.cells) + static_cast<std::size_t>(axis.coordinates[mine]);
  }
  for (std::size_t k = 0; k < index.size(); ++k) found.offset += local[k] * stored.strides[found.cell][k];
  return found;
}

// Calls each(index of src, number of the element) for each element.
template <class Each>
void for_each_index(const index_list& extents, const Each& each) {
  std::int64_t total = 1;
  for (const std::int64_t extent : extents) total *= extent;
  index_list index(extents.size());
  for (std::int64_t number = 0; number < total; ++number) {
    std::int64_t rest = number;
    for (std::size_t k = extents.size(); k-- > 0; rest /= extents[k]) index[k] = rest % extents[k];
    each(index, number);
  }
}

// A value that tells elements apart, also elements of one byte where neighbours differ.
inline std::byte byte_of(std::int64_t number, std::int64_t byte) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(number * 64 + byte + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<std::byte>(mixed >> 56);
}

inline index_list permuted_index(const dist::problem& what, const index_list& index) {
  index_list there;
  for (const int axis : what.axes) there.push_back(index[static_cast<std::size_t>(axis)]);
  return there;
}

inline void fill(const dist::problem& what, side& src) {
  for_each_index(what.extents, [&](const index_list& index, std::int64_t number) {
    const element_place at = place_of(what.src, src, index);
    for (std::int64_t b = 0; b < what.element_bytes; ++b) {
      src.blocks[at.cell][static_cast<std::size_t>(at.offset * what.element_bytes + b)] = byte_of(number, b);
    }
  });
}

// Writes the values that dst must have.
inline void expect(const dist::problem& what, side& dst) {
  for_each_index(what.extents, [&](const index_list& index, std::int64_t number) {
    const element_place at = place_of(what.dst, dst, permuted_index(what, index));
    for (std::int64_t b = 0; b < what.element_bytes; ++b) {
      dst.blocks[at.cell][static_cast<std::size_t>(at.offset * what.element_bytes + b)] = byte_of(number, b);
    }
  });
}

}  // namespace cornerturn::testing
