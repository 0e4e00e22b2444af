// The rungs' own text on the host: every rung, every element size, shapes around its tiles, guards around dst.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ladder/cases.hpp"
#include "rungs_text.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::size_t alignment = 256, guard_bytes = 256;  // the alignment of cudaMalloc
constexpr unsigned char guard = 0xc3;
constexpr std::int64_t most_elements = 100000;  // a second for all rungs

struct arena {
  explicit arena(std::size_t size)
      : bytes(size), room(size + 2 * guard_bytes + alignment, guard), begin(room.data() + guard_bytes) {
    begin += (alignment - reinterpret_cast<std::uintptr_t>(begin) % alignment) % alignment;
  }
  [[nodiscard]] bool guards_stand() const {
    const auto stands = [](unsigned char byte) { return byte == guard; };
    return std::all_of(room.data(), static_cast<const unsigned char*>(begin), stands) &&
           std::all_of(static_cast<const unsigned char*>(begin) + bytes, room.data() + room.size(), stands);
  }
  [[nodiscard]] emulated::bytes range() const { return {begin, begin + bytes}; }

  std::size_t bytes;
  std::vector<unsigned char> room;
  unsigned char* begin;
};

// The low bytes of a hash of the element's place: unique for 4 bytes and more.
std::uint64_t pattern(std::size_t i) { return i * 0x9e3779b97f4a7c15u ^ i >> 7; }

std::size_t wrong_elements(const text& rung, const arena& dst, const matrix_shape& shape) {
  const auto rows = static_cast<std::size_t>(shape.rows), cols = static_cast<std::size_t>(shape.cols);
  const auto word = static_cast<std::size_t>(rung.word_bytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < dst.bytes / word; ++i) {
    const std::size_t in = i % (rows * cols), matrix = i - in;
    const std::uint64_t value = pattern(rung.is_copy ? i : matrix + in % rows * cols + in / rows);
    wrong += std::memcmp(dst.begin + i * word, &value, word) != 0;
  }
  return wrong;
}

#ifdef RUNGS_OF_HIP
constexpr int wavefronts[] = {64, 32};
#else
constexpr int wavefronts[] = {0};
#endif

void check(const text& rung, const matrix_shape& shape, emulated::order order, int wavefront) {
  SCOPED_TRACE(testing::Message() << rung.rung << " of " << rung.word_bytes << " bytes, " << shape.batch << "x"
                                  << shape.rows << "x" << shape.cols << ", wavefronts of " << wavefront);
  const auto elements = static_cast<std::size_t>(shape.rows * shape.cols * shape.batch);
  const auto word = static_cast<std::size_t>(rung.word_bytes);
  arena src(elements * word), dst(elements * word);
  arena& from = rung.is_in_place ? dst : src;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t value = pattern(i);
    std::memcpy(from.begin + i * word, &value, word);
  }
  emulated::session session;
  session.threads = order;
  session.wavefront = wavefront;
  session.src = from.range();
  session.dst = dst.range();
  rung.run(from.begin, dst.begin, shape, session);
  ASSERT_EQ(session.fault, "");
  ASSERT_EQ(wrong_elements(rung, dst, shape), 0u);
  ASSERT_TRUE(dst.guards_stand());
}

class rungs : public testing::TestWithParam<text> {};

TEST_P(rungs, transpose_every_shape) {
  constexpr emulated::order orders[] = {emulated::order::forward, emulated::order::backward, emulated::order::shuffled};
  int checked = 0;
  for (const int wavefront : wavefronts) {
    for (const matrix_shape& shape : cases) {
      if (!GetParam().takes(shape) || shape.rows * shape.cols * shape.batch > most_elements) continue;
      check(GetParam(), shape, orders[checked++ % 3], wavefront);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(checked, 2);
}

INSTANTIATE_TEST_SUITE_P(ladder, rungs, testing::ValuesIn(texts()), [](const auto& rung) {
  return std::string("rung_") + rung.param.rung + "_b" + std::to_string(rung.param.word_bytes);
});

}  // namespace
}  // namespace cornerturn::ladder
