// The stores of the command, on files: for ThreadSanitizer too.
#include "transfer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "scratch_folder.hpp"
#include "text.hpp"
#include "verify.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

class transfer : public testing::Test {
 protected:
  scratch_folder folder_;
  const fs::path& directory_ = folder_.path();
};

TEST_F(transfer, threads_share_the_boxes_and_the_check) {
  npy_header in;
  in.itemsize = 4;
  in.shape = {257, 60, 101};
  const std::vector<int> axes{2, 0, 1};
  std::vector<std::uint32_t> data(257 * 60 * 101);
  std::iota(data.begin(), data.end(), 1u);
  in.data_bytes = static_cast<std::int64_t>(data.size() * sizeof data[0]);
  npy_header out = in;
  out.shape = {101, 257, 60};
  write_whole((directory_ / "in").string(), {reinterpret_cast<const char*>(data.data()), data.size() * 4});
  const mapped_file input((directory_ / "in").string());
  const auto* const bytes = input.bytes().data();

  for (const bool in_memory : {false, true}) {
    for (const int threads : {1, 2, 5}) {
      const output_file file((directory_ / "out").string(), in.data_bytes);
      input_store src(input, 0, in_memory, "in");
      output_store dst(file, 0);
      const file_report done =
          transpose_stored(src, dst, {in.shape, axes, 4}, {.memory_bytes = 2 << 20, .threads = threads});
      EXPECT_GE(done.plan.passes[0].boxes, 4);
      const mapped_file written(file.descriptor(), "out");
      const auto ignore = [](std::int64_t) {};
      EXPECT_EQ(find_difference(in, bytes, out, written.bytes().data(), axes, threads, ignore), std::nullopt);

      // Each of both checks finds a single wrong element.
      file.write_at("x", in.data_bytes - 4 * 61);
      const std::vector<std::int64_t> wrong{100, 255, 59};
      EXPECT_EQ(find_difference(in, bytes, out, written.bytes().data(), axes, threads, ignore), wrong);
      const auto store = file_store(file.descriptor(), 0, "out");
      comparing_sink compare(*store);
      try {
        transpose_stored(src, compare, {in.shape, axes, 4}, {.memory_bytes = 2 << 20, .threads = threads});
        FAIL();
      } catch (const comparing_sink::different& found) {
        EXPECT_EQ(index_of(out, found.offset / 4), wrong);
      }
    }
  }
}

TEST(memory_limit_of, is_the_request_or_half_of_what_is_available) {
  EXPECT_EQ(memory_limit_of(std::int64_t{1} << 30).bytes, std::int64_t{1} << 30);
  EXPECT_LT(memory_limit_of(std::int64_t{1} << 30).buffers, std::int64_t{1} << 30);
  EXPECT_GT(memory_limit_of(0).bytes, 0);
  EXPECT_LE(memory_limit_of(0).bytes, available_memory());
  EXPECT_THROW(static_cast<void>(memory_limit_of(1 << 20)), failure);
}

TEST(index_of, in_both_orders) {
  npy_header header;
  header.shape = {3, 4, 5};
  EXPECT_EQ(index_of(header, 59), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(index_of(header, 6), (std::vector<std::int64_t>{0, 1, 1}));
  header.fortran_order = true;
  EXPECT_EQ(index_of(header, 6), (std::vector<std::int64_t>{0, 2, 0}));
}

}  // namespace
}  // namespace cornerturn::cli
