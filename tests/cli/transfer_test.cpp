// The stores of the command, on files: for ThreadSanitizer too.
#include "transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

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

  for (const bool in_memory : {false, true}) {
    for (const int threads : {1, 2, 5}) {
      const output_file file((directory_ / "out").string(), in.data_bytes);
      input_store src(input, 0, in_memory, "in");
      output_store dst(file, 0);
      const file_report done =
          transpose_stored(src, dst, {in.shape, axes, 4}, {.memory_bytes = 2 << 20, .threads = threads});
      EXPECT_GE(done.plan.passes[0].boxes, 4);
      const mapped_file written(file.descriptor(), "out");
      for (const bool both_in_memory : {false, true}) {
        input_store from(input, 0, both_in_memory, "in"), to(written, 0, both_in_memory, "out");
        const auto compared = [&] {
          return find_difference(in, from, out, to, axes, {.memory_bytes = 300000, .threads = threads});
        };
        EXPECT_EQ(compared(), std::nullopt);
        // A single wrong element is found.
        file.write_at("x", in.data_bytes - 4 * 61);
        EXPECT_EQ(compared(), (std::vector<std::int64_t>{100, 255, 59}));
        dst.write(in.data_bytes - 4 * 61, &data[static_cast<std::size_t>((255 * 60 + 59) * 101 + 100)], 4);
      }
    }
  }
}

struct bytes_in_memory final : byte_source {
  std::vector<std::byte> bytes;
  bool is_mapped = false;
  std::size_t bytes_read = 0;
  void read(std::int64_t offset, void* to, std::size_t count) override {
    std::memcpy(to, bytes.data() + offset, count);
    bytes_read += count;
  }
  [[nodiscard]] const void* memory() const override { return is_mapped ? bytes.data() : nullptr; }
};

// Each byte of random arrays in both orders is changed in turn, and the check names its element, with any memory.
TEST(find_difference, names_the_element_of_each_byte) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const auto rank = random() % 5;
    npy_header in;
    in.itemsize = std::array{1, 2, 4, 8, 3}[random() % 5];
    in.fortran_order = random() % 2 == 1;
    in.data_bytes = in.itemsize;
    for (std::size_t k = 0; k < rank; ++k) in.data_bytes *= in.shape.emplace_back(random() % 5 + 1);
    std::vector<int> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    npy_header out = in;
    out.fortran_order = random() % 2 == 1;
    for (std::size_t k = 0; k < rank; ++k) out.shape[k] = in.shape[static_cast<std::size_t>(axes[k])];

    bytes_in_memory src, dst;
    src.is_mapped = random() % 2 == 1;
    dst.is_mapped = random() % 2 == 1;
    for (std::int64_t k = 0; k < in.data_bytes; ++k) src.bytes.push_back(static_cast<std::byte>(random()));
    dst.bytes = src.bytes;
    std::vector<std::vector<std::int64_t>> index;  // of each element of dst
    for (std::int64_t element = 0; element < in.data_bytes / in.itemsize; ++element) {
      std::vector<std::int64_t> at(rank), from(rank);
      std::int64_t left = element;
      for (std::size_t n = 0; n < rank; ++n) {
        const std::size_t k = out.fortran_order ? n : rank - 1 - n;
        at[k] = left % out.shape[k];
        left /= out.shape[k];
        from[static_cast<std::size_t>(axes[k])] = at[k];
      }
      std::int64_t place = 0;
      for (std::size_t n = 0; n < rank; ++n) {
        const std::size_t k = in.fortran_order ? rank - 1 - n : n;
        place = place * in.shape[k] + from[k];
      }
      std::copy_n(src.bytes.begin() + place * in.itemsize, in.itemsize, dst.bytes.begin() + element * in.itemsize);
      index.push_back(at);
    }
    const compare_options how{.memory_bytes = static_cast<std::int64_t>(random() % 200), .threads = 1};
    ASSERT_EQ(find_difference(in, src, out, dst, axes, how), std::nullopt);
    for (std::size_t byte = 0; byte < dst.bytes.size(); ++byte) {
      dst.bytes[byte] ^= std::byte{4};
      ASSERT_EQ(find_difference(in, src, out, dst, axes, how), index[byte / static_cast<std::size_t>(in.itemsize)]);
      dst.bytes[byte] ^= std::byte{4};
    }
  }
}

TEST(find_difference, compares_a_sample_of_each_part) {
  constexpr std::int64_t side = 2048;
  npy_header in;
  in.itemsize = 1;
  in.shape = {side, side};
  in.data_bytes = side * side;
  bytes_in_memory src, dst;
  src.bytes.resize(static_cast<std::size_t>(in.data_bytes));
  dst.bytes = src.bytes;
  const auto compared = [&](std::int64_t sample) {
    src.bytes_read = dst.bytes_read = 0;
    return find_difference(in, src, in, dst, std::array{1, 0},
                           {.memory_bytes = 4 << 20, .threads = 1, .sample_bytes = sample});
  };
  EXPECT_EQ(compared(1 << 20), std::nullopt);
  EXPECT_GT(dst.bytes_read, std::size_t{1} << 19);
  EXPECT_LT(dst.bytes_read, std::size_t{1} << 21);
  EXPECT_EQ(src.bytes_read, dst.bytes_read);
  EXPECT_EQ(compared(1), std::nullopt);
  EXPECT_GT(dst.bytes_read, 0U);
  EXPECT_LT(dst.bytes_read, std::size_t{1} << 17);
  EXPECT_EQ(compared(in.data_bytes), std::nullopt);
  EXPECT_EQ(dst.bytes_read, dst.bytes.size());
  // A quarter of the output is wrong: several parts of the sample.
  std::fill_n(dst.bytes.begin() + side * 512, side * 512, std::byte{1});
  const auto found = compared(1 << 20);
  ASSERT_TRUE(found);
  EXPECT_GE((*found)[0], 512);
  EXPECT_LT((*found)[0], 1024);
}

TEST(memory_limit_of, is_the_request_or_half_of_what_is_available) {
  EXPECT_EQ(memory_limit_of(std::int64_t{1} << 30).bytes, std::int64_t{1} << 30);
  EXPECT_LT(memory_limit_of(std::int64_t{1} << 30).buffers, std::int64_t{1} << 30);
  EXPECT_GT(memory_limit_of(0).bytes, 0);
  EXPECT_LE(memory_limit_of(0).bytes, available_memory());
  EXPECT_THROW(static_cast<void>(memory_limit_of(1 << 20)), failure);
}

}  // namespace
}  // namespace cornerturn::cli
