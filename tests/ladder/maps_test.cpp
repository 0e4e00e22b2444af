// Properties of the rungs' maps: every element is read once, written once, and has its own place in shared memory.
// Every tile has its own block.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "ladder/grid.hpp"
#include "ladder/rungs.hpp"

namespace cornerturn::ladder {
namespace {

template <class Rung>
void expect_elements_once(bool reads) {
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < Rung::threads; ++thread) {
    for (int step = 0; step < Rung::steps; ++step) {
      at e{};
      if constexpr (Rung::shared_bytes == 0) {
        e = Rung::element(thread);
      } else {
        e = reads ? Rung::read(thread, step) : Rung::write(thread, step);
      }
      for (int i = 0; i < Rung::width; ++i) {
        const bool along_row = reads || Rung::is_copy;
        const at one{e.row + (along_row ? 0 : i), e.col + (along_row ? i : 0)};
        EXPECT_TRUE(one.row >= 0 && one.row < Rung::tile_rows && one.col >= 0 && one.col < Rung::tile_cols);
        EXPECT_TRUE(seen.emplace(one.row, one.col).second) << one.row << ", " << one.col;
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Rung::tile_rows) * Rung::tile_cols);
}

template <class Rung>
void expect_places_of_their_own() {
  if constexpr (Rung::shared_bytes > 0) {
    std::set<int> taken;
    for (int row = 0; row < Rung::tile_rows; ++row) {
      for (int col = 0; col < Rung::tile_cols; ++col) {
        const int place = Rung::place({row, col});
        EXPECT_EQ(place % Rung::word_bytes, 0);
        EXPECT_TRUE(place >= 0 && place + Rung::word_bytes <= Rung::shared_bytes) << place;
        EXPECT_TRUE(taken.insert(place).second) << row << ", " << col;
      }
    }
  }
}

template <class Rung>
void expect_tiles_once(const matrix_shape& shape) {
  const arguments a = arguments_for<Rung>(nullptr, nullptr, shape);
  std::set<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> seen;
  const std::int64_t blocks = Rung::blocks(a);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const tile which = Rung::tile_of(static_cast<std::uint32_t>(block), a);
    EXPECT_LT(which.down, a.tiles_down);
    EXPECT_LT(which.across, a.tiles_across);
    EXPECT_TRUE(seen.emplace(which.matrix, which.down, which.across).second) << "block " << block;
    if (Rung::is_in_place) {
      EXPECT_LE(which.down, which.across);
      seen.emplace(which.matrix, which.across, which.down);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(a.batch * a.tiles_down * a.tiles_across)) << a.tiles_down;
}

template <class Rung>
void check(const char* name) {
  if constexpr (Rung::word_bytes >= Rung::least_word_bytes) {
    SCOPED_TRACE(testing::Message() << name << " of " << Rung::word_bytes << " bytes");
    static_assert(Rung::threads % 32 == 0);
    if (!Rung::tensor_load || Rung::tensor_store) expect_elements_once<Rung>(true);
    expect_elements_once<Rung>(false);
    expect_places_of_their_own<Rung>();
    for (const std::int64_t n : {1, 31, 32, 33, 64, 100, 257, 300, 520}) {
      expect_tiles_once<Rung>({n, n});
      if (!Rung::is_in_place) {
        expect_tiles_once<Rung>({n, 3});
        expect_tiles_once<Rung>({45, n});
      }
      if (Rung::is_batched) expect_tiles_once<Rung>({n, 40, 6});
    }
  }
}

#define RUNG(file, type)    \
  TEST(maps, rung_##type) { \
    check<type<1>>(#file);  \
    check<type<2>>(#file);  \
    check<type<4>>(#file);  \
    check<type<8>>(#file);  \
  }
#include "ladder/ladder.inc"
#include "ladder/tile_sizes.inc"
#undef RUNG

// The tensor memory accelerator's 128-byte swizzle, by its manual: the 16-byte chunk is XORed with the 128-byte row,
// modulo 8.
TEST(maps, swizzle_of_128_bytes) {
  for (int byte = 0; byte < 4096; ++byte) {
    const int row = byte / 128, chunk = byte / 16 % 8;
    EXPECT_EQ(tma_load<4>::swizzle(byte), row * 128 + (chunk ^ row % 8) * 16 + byte % 16);
  }
}

// docs/learn/hip/30_padded_tile16_threads64.md, the exercise: lanes 0 to 31 store two rows and load two columns of a 16 x 16 tile.
TEST(maps, the_exercise_of_the_hip_lesson) {
  const auto solution = [](int row, int col) { return (row * 16 + (col ^ (row & 14))) * 4; };
  const auto padded = [](int row, int col) { return padded_tile16_threads64<4>::place({row, col}); };
  const auto conflicts = [](const auto& place, bool loads) {
    int sum = 0;
    for (int first = 0; first < 256; first += 32) {
      std::array<std::set<int>, 32> words;
      for (int thread = first; thread < first + 32; ++thread) {
        const int address = loads ? place(thread % 16, thread / 16) : place(thread / 16, thread % 16);
        words[static_cast<std::size_t>(address / 4 % 32)].insert(address);
      }
      std::size_t most = 0;
      for (const auto& one : words) most = std::max(most, one.size());
      sum += static_cast<int>(most) - 1;
    }
    return sum;
  };
  EXPECT_EQ(conflicts(solution, false), 0);
  EXPECT_EQ(conflicts(solution, true), 0);
  EXPECT_EQ(conflicts(padded, false), 8);
  EXPECT_EQ(conflicts(padded, true), 8);
}

TEST(maps, register_block_has_the_places_of_its_chunks) {
  using rung = register_block<4>;
  for (int thread = 0; thread < rung::threads; ++thread) {
    for (int step = 0; step < rung::steps; ++step) {
      EXPECT_EQ(rung::place(rung::write(thread, step)), rung::loaded(thread, step));
    }
  }
}

}  // namespace
}  // namespace cornerturn::ladder
