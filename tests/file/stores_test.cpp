#include "file/stores.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/files.hpp"
#include "cornerturn/error.hpp"
#include "memory_store.hpp"

namespace cornerturn::files {
namespace {

using extents = std::vector<std::int64_t>;

TEST(linear_source, reads_a_box_in_runs) {
  memory_store bytes(4 * 5 * 6 * 2);
  fill(bytes.data);
  linear_source source(bytes, {4, 5, 6}, 2);
  const extents first{1, 2, 0}, size{2, 3, 6};
  std::vector<std::byte> box(2 * 3 * 6 * 2);
  source.read({first, size}, box.data());
  EXPECT_EQ(bytes.calls, 2);  // whole rows are one run
  EXPECT_EQ(bytes.bytes_announced, 2 * 36);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::memcmp(box.data() + i * 36, bytes.data.data() + ((i + 1) * 30 + 12) * 2, 36), 0);
  }
}

// A box of any place and size is what was written tile by tile, with clipped tiles at the upper edges.
TEST(tiled_store, any_box_of_what_was_written) {
  const extents whole{7, 10, 5}, tile{3, 4, 5};
  memory_store bytes(7 * 10 * 5 * 2);
  tiled_store store(bytes, whole, tile, 2);
  std::vector<std::byte> array(bytes.data.size());
  fill(array);
  const box_grid tiles(whole, tile);
  for (std::int64_t n = 0; n < tiles.count(); ++n) {
    const box_grid::piece one = tiles.at(n);
    const array_box box{{one.first.data(), 3}, {one.extents.data(), 3}};
    std::vector<std::byte> packed(static_cast<std::size_t>(one.extents[0] * one.extents[1] * one.extents[2] * 2));
    for_each_run(whole, box, [&](std::int64_t offset, std::int64_t elements, std::int64_t at) {
      std::memcpy(packed.data() + at * 2, array.data() + offset * 2, static_cast<std::size_t>(elements * 2));
    });
    store.write(box, packed.data());
  }
  EXPECT_TRUE(bytes.is_covered_once());
  for (const auto& [first, size] : std::vector<std::pair<extents, extents>>{
           {{0, 0, 0}, {7, 10, 5}}, {{2, 3, 1}, {3, 6, 3}}, {{6, 9, 4}, {1, 1, 1}}, {{3, 4, 0}, {3, 4, 5}}}) {
    std::vector<std::byte> got(static_cast<std::size_t>(size[0] * size[1] * size[2] * 2)), wanted(got.size());
    store.read({first, size}, got.data());
    for_each_run(whole, {first, size}, [&](std::int64_t offset, std::int64_t elements, std::int64_t at) {
      std::memcpy(wanted.data() + at * 2, array.data() + offset * 2, static_cast<std::size_t>(elements * 2));
    });
    EXPECT_EQ(got, wanted);
  }
}

TEST(linear_source, does_not_announce_long_runs) {
  memory_store bytes(2 << 20);
  linear_source source(bytes, {2, 1 << 20}, 1);
  const extents first{0, 1}, size{2, 1 << 19};
  std::vector<std::byte> box(1 << 20);
  source.read({first, size}, box.data());
  EXPECT_EQ(bytes.bytes_announced, 0);
}

TEST(store_of_file, reads_and_writes_from_its_begin_on) {
  const base::descriptor file(memfd_create("file", MFD_CLOEXEC));
  const auto store = store_of_file(file.get(), 3, "name");
  store->write(2, "hello", 5);
  char text[5];
  store->read(2, text, 5);
  EXPECT_EQ(std::string(text, 5), "hello");
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 10);
}

TEST(store_of_file, a_file_that_ends_early_is_named) {
  const base::descriptor file(memfd_create("file", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 100), 0);
  const auto store = store_of_file(file.get(), 0, "in.npy");
  char text[50];
  try {
    store->read(80, text, sizeof text);
    FAIL();
  } catch (const error& fault) {
    EXPECT_EQ(fault.code(), status::io_error);
    EXPECT_EQ(std::string(fault.what()), "in.npy: ends at byte 100, wanted 30 more: the file shrank");
  }
}

TEST(store_of_file, the_system_s_message_is_in_the_sentence) {
  const base::descriptor full(base::open_any("/dev/full", 1));
  try {
    store_of_file(full.get(), 0, "out.npy")->write(0, "x", 1);
    FAIL();
  } catch (const error& fault) {
    EXPECT_EQ(fault.code(), status::io_error);
    EXPECT_NE(std::string(fault.what()).find("out.npy: cannot write: "), std::string::npos) << fault.what();
  }
}

}  // namespace
}  // namespace cornerturn::files
