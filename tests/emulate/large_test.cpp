// Offsets beyond 2^31 elements and 2^32 bytes, by emulation of a few blocks. src and dst are reserved address space;
// only pages that these blocks touch get memory.
//   1. the blocks run once, and the test records the bytes of src that they read
//   2. each of these bytes gets a number that depends on its offset, and the blocks run again
//   3. each byte that they wrote must have the right number; the first and the last byte of dst are among them
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/check.hpp"
#include "kernels/gpu/swap/args.hpp"
#include "move.hpp"

namespace cornerturn::testing {
namespace {

class address_space {
 public:
  explicit address_space(std::size_t size) : size_(size) {
    void* const all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all != MAP_FAILED) begin_ = static_cast<unsigned char*>(all);
  }
  ~address_space() {
    if (begin_ != nullptr) munmap(begin_, size_);
  }
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;
  [[nodiscard]] unsigned char* begin() const { return begin_; }
  [[nodiscard]] unsigned char* end() const { return begin_ + size_; }

 private:
  std::size_t size_;
  unsigned char* begin_ = nullptr;
};

unsigned char content(std::int64_t place) {
  auto x = static_cast<std::uint64_t>(place) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<unsigned char>(x >> 56);
}

// The byte of src that belongs to a byte of dst, counted from the lowest ones; -1: none. The strides of dst are positive.
std::int64_t src_byte_of(const map::canonical& form, std::int64_t dst_byte) {
  std::int64_t rest = dst_byte / form.word_bytes, src = 0;
  for (int k = 0; k < form.rank; ++k) {  // outermost in dst first
    const axis& one = form.axes[k];
    const std::int64_t index = std::min(rest / one.dst_stride, one.extent - 1);
    rest -= index * one.dst_stride;
    src += index * one.src_stride;
  }
  return rest != 0 ? -1 : src * form.word_bytes + dst_byte % form.word_bytes - map::src_span(form).lo;
}

// `row` is how the name of the row begins that moves it.
void expect_moved(const problem& what, std::string_view row, const gpu_setting& setting = {}) {
  SCOPED_TRACE(to_text(what));
  api::check(what);
  gpu_way way = plan_of(what, setting);
  const map::canonical& form = way.form;
  ASSERT_NE(way.chosen.row, nullptr);
  EXPECT_TRUE(std::string_view(way.chosen.row->name).starts_with(row)) << way.chosen.row->name;
  ASSERT_EQ(map::dst_span(form).lo, 0);
  const std::int64_t lowest = map::src_span(form).lo;
  const address_space src(static_cast<std::size_t>(map::src_span(form).hi - lowest));
  const address_space other(what.in_place ? 1 : static_cast<std::size_t>(map::dst_span(form).hi));
  const address_space& dst = what.in_place ? src : other;
  if (src.begin() == nullptr || dst.begin() == nullptr) GTEST_SKIP() << "no address space of that size";

  const std::uint32_t blocks = way.chosen.blocks;
  dice roll(5);
  std::set<std::uint32_t> some = {0, blocks / 2, blocks - 1};
  for (std::uint32_t k = 1; k < std::min<std::uint32_t>(blocks, 64); ++k) some.insert(blocks - 1 - k);  // the last band
  for (int k = 0; k < 4; ++k) some.insert(static_cast<std::uint32_t>(roll.below(blocks)));
  // The first and the last tile of the diagonal, for any folding of the triangle.
  const bool in_tiles = what.in_place && !kernels::is_variant(*way.chosen.row, "_items");
  if (in_tiles) some.merge(std::set<std::uint32_t>{1, way.chosen.as<gpu::swap_args>().numbers});
  const auto run = [&] {
    emulated::session running;
    running.src = {src.begin(), src.end()};
    running.dst = {dst.begin(), dst.end()};
    running.blocks.assign(some.begin(), some.end());
    running.record = true;
    kernels::offer made = way.chosen;
    auto& args = args_of<gpu::array_args>(made);
    args.src = src.begin() - lowest;
    args.dst = dst.begin();
    args.src_begin = reinterpret_cast<std::uint64_t>(src.begin());
    args.src_end = reinterpret_cast<std::uint64_t>(src.end());
    made.row->launch(made.args, blocks, made.shared_bytes, &running);
    EXPECT_EQ(running.fault, "");
    return running;
  };

  for (const emulated::bytes& read : run().reads) {
    for (auto* at = static_cast<const unsigned char*>(read.begin); at != read.end; ++at) {
      src.begin()[at - src.begin()] = content(at - src.begin());
    }
  }
  emulated::session running = run();
  const auto by_place = [](const emulated::bytes& a, const emulated::bytes& b) { return a.begin < b.begin; };
  std::sort(running.writes.begin(), running.writes.end(), by_place);
  ASSERT_FALSE(running.writes.empty());
  EXPECT_EQ(running.writes.front().begin, dst.begin());
  EXPECT_EQ(running.writes.back().end, dst.end());
  const void* before = dst.begin();
  for (const emulated::bytes& write : running.writes) {
    ASSERT_LE(before, write.begin) << "written twice";
    before = write.end;
    for (auto* at = static_cast<const unsigned char*>(write.begin); at != write.end; ++at) {
      const std::int64_t from = src_byte_of(form, at - dst.begin());
      ASSERT_GE(from, 0) << "byte " << at - dst.begin() << " of dst is none of the problem's";
      ASSERT_EQ(*at, content(from)) << "byte " << at - dst.begin() << " of dst, byte " << from << " of src";
    }
  }
}

// By this row, also where the planner would choose another one.
void expect_moved_by(const problem& what, const std::string& row) {
  gpu_setting setting;
  setting.row = row;
  expect_moved(what, row, setting);
}

problem permuted(const std::vector<std::int64_t>& extents, const std::vector<int>& axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

constexpr std::int64_t beyond = std::int64_t{1} << 31;

TEST(emulated_large, tiles) {
  expect_moved(transpose_problem(70000, 70000, 1), "gpu_tile_b1_");
  expect_moved(transpose_problem(40000, 60000, 4), "gpu_tile_b4_");
  expect_moved(transpose_problem(60000, 40000, 8), "gpu_tile_b8_");
  expect_moved(permuted({300, 16, 40, 800, 160}, {3, 4, 1, 2, 0}, 2), "gpu_tile_b2_");
}

TEST(emulated_large, unaligned_tiles) {
  expect_moved(transpose_problem(65537, 65539, 1), "gpu_unaligned_tile_b1_128x256");
  expect_moved_by(transpose_problem(60001, 40003, 4), "gpu_unaligned_tile_b4_128x64");
  expect_moved_by(transpose_problem(40003, 60001, 8), "gpu_unaligned_tile_b8_64x64");
  expect_moved_by(permuted({7, 13, 77, 1001, 333}, {4, 3, 0, 2, 1}, 2), "gpu_unaligned_tile_b2_128x128_fused");
}

TEST(emulated_large, narrow_tiles) {
  expect_moved(transpose_problem((beyond + 4096) / 16, 16, 4), "gpu_tall_skinny_b4_");
  expect_moved(transpose_problem(16, (beyond + 4096) / 16, 4), "gpu_short_wide_b4_");
}

TEST(emulated_large, structures) {
  expect_moved(transpose_problem(beyond / 3 / 16 * 16, 3, 8), "gpu_deinterleave_b8_3");
  expect_moved(transpose_problem(5, beyond / 5 / 16 * 16, 4), "gpu_interleave_b4_5");
  expect_moved(transpose_problem(beyond + 1, 3, 1), "gpu_deinterleave_b1_3_unaligned");
  expect_moved(transpose_problem(3, beyond + 1, 2), "gpu_interleave_b2_3_unaligned");
  expect_moved_by(transpose_problem(beyond / 2, 9, 1), "gpu_gather_b1");
  expect_moved_by(transpose_problem(beyond / 2, 9, 1), "gpu_assemble_b1");
}

TEST(emulated_large, runs) {
  const problem one_run{.element_bytes = 1, .rank = 1, .axes = {{{2 * beyond + 77, 1, 1}}}};
  expect_moved_by(one_run, "gpu_copy_b1");
  expect_moved_by(one_run, "gpu_gather_b1");
  expect_moved_by(permuted({300, 7000, 2003}, {1, 0, 2}, 1), "gpu_assemble_b1_runs");
  expect_moved_by(permuted({50, 7000, 2003}, {1, 0, 2}, 8), "gpu_copy_b8_runs");
  expect_moved(permuted({50, 7000, 2003}, {1, 0, 2}, 8), "gpu_element_b1_runs");
}

TEST(emulated_large, rows_of_elements) {
  const auto backwards = [](std::int64_t pixels, std::int64_t bytes) {
    return problem{.element_bytes = bytes, .rank = 1, .axes = {{{pixels, -1, 1}}}};
  };
  expect_moved_by(backwards((beyond - 100) / 3, 3), "gpu_element_b1x3_mirror");
  expect_moved_by(backwards((beyond - 100) / 6, 6), "gpu_element_b2x3_mirror");
  expect_moved(backwards(beyond / 6 + 1000, 6), "gpu_assemble_b2x3");
  expect_moved_by(backwards(beyond / 8 + 1000, 8), "gpu_element_b8_mirror");
  expect_moved_by({.element_bytes = 1, .rank = 1, .axes = {{{beyond - (1 << 20), 0, 1}}}}, "gpu_element_b1_repeat");
  expect_moved_by({.element_bytes = 24, .rank = 1, .axes = {{{beyond / 20, 0, 1}}}}, "gpu_element_b8_repeat");
}

TEST(emulated_large, boxes) {
  expect_moved_by(transpose_problem(60000, 40000, 16), "gpu_gather_b16");
  expect_moved_by(transpose_problem(60000, 40000, 16), "gpu_assemble_b16");
  expect_moved_by(transpose_problem(60001, 40003, 3), "gpu_assemble_b1x3");
  expect_moved_by(permuted({50, 7000, 2003}, {1, 0, 2}, 8), "gpu_assemble_b1_runs");
  expect_moved(problem{.element_bytes = 1, .rank = 1, .axes = {{{beyond + 5, 1, 2}}}}, "gpu_gather_b1");
  expect_moved(problem{.element_bytes = 4, .rank = 1, .axes = {{{beyond + 5, 3, 1}}}}, "gpu_gather_b4");
  expect_moved_by(permuted({3, 70001, 5, 7, 999}, {3, 1, 4, 2, 0}, 2), "gpu_gather_b2");
}

TEST(emulated_large, more_rows_than_32_bits_count) {
  expect_moved_by(transpose_problem(2 * beyond + 64, 16, 1), "gpu_gather_b1");
  expect_moved_by(transpose_problem(2 * beyond + 64, 16, 1), "gpu_tall_skinny_b1_unaligned");
  expect_moved_by(transpose_problem(16, 2 * beyond + 64, 1), "gpu_short_wide_b1_unaligned");
  expect_moved(transpose_problem(2 * beyond + 64, 128, 1), "gpu_tile_b1_");
  expect_moved_by(transpose_problem(2 * beyond + 67, 224, 1), "gpu_unaligned_tile_b1_128x256");
  expect_moved_by(transpose_problem(2 * beyond + 67, 224, 1), "gpu_assemble_b1");
  expect_moved(transpose_problem(128, 2 * beyond + 64, 1), "gpu_tile_b1_");
}

TEST(emulated_large, in_place) {
  const auto placed = [](problem what) { return what.in_place = true, what; };
  expect_moved(placed(transpose_problem(1 << 16, 1 << 16, 4)), "gpu_swap_b4");
  expect_moved(placed(transpose_problem(100016, 100016, 1)), "gpu_swap_b1");
  expect_moved(placed(transpose_problem(50001, 50001, 8)), "gpu_swap_b8_unaligned");
  expect_moved(placed(batched(transpose_problem(33, 33, 4), 3000000, 33 * 33, 33 * 33)), "gpu_swap_b4_items");
  expect_moved(placed(transpose_problem(100003, 100003, 1)), "gpu_swap_b1_unaligned");
}

}  // namespace
}  // namespace cornerturn::testing
