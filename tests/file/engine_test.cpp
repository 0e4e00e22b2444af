#include "file/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cornerturn/error.hpp"
#include "memory_store.hpp"

namespace cornerturn::files {
namespace {

const std::vector<stored_array> arrays{
    {{300, 257}, {1, 0}, 4},
    {{37, 21, 53}, {2, 0, 1}, 2},
    {{9, 10, 11, 12}, {3, 2, 1, 0}, 1},
    {{60, 70, 3}, {1, 0, 2}, 4},
    {{41, 43}, {1, 0}, 12},
    {{5000}, {0}, 8},
    {{}, {}, 4},
    {{31, 33, 35}, {2, 1, 0}, 3},
    {{17, 90, 13}, {0, 2, 1}, 16},
    {{61, 67}, {1, 0}, 4, true},
    {{19, 23, 29}, {1, 2, 0}, 2, false, true},
};

// So small arrays would take two passes if a request cost as much as on a disk.
constexpr disk_speed free_requests{1e9, 1e9, 1, 1};

// 64 KiB are many boxes, 4 KiB mostly two passes.
TEST(transpose_stored, every_byte_is_written_once_and_right) {
  for (const stored_array& what : arrays) {
    const auto bytes = static_cast<std::size_t>(bytes_of_array(what));
    memory_store src(bytes);
    fill(src.data);
    const std::vector<std::byte> wanted = expected(src.data, what);
    for (const std::int64_t memory : {4 << 10, 64 << 10, 16 << 20}) {
      for (const int threads : {1, 3}) {
        memory_store dst(bytes), scratch(bytes);
        std::int64_t shown = 0;
        file_options options{.memory_bytes = memory, .threads = threads, .scratch = &scratch};
        options.progress = [&](std::int64_t done) {
          EXPECT_GE(done, shown);
          shown = done;
        };
        const file_report report = transpose_stored(src, dst, what, options);
        EXPECT_LE(report.plan.memory_bytes, memory);
        EXPECT_EQ(report.bytes, static_cast<std::int64_t>(bytes));
        EXPECT_TRUE(dst.is_covered_once());
        EXPECT_EQ(dst.data, wanted) << bytes << " bytes, memory " << memory << ", passes " << report.plan.passes.size();
        EXPECT_EQ(report.plan.scratch_bytes > 0, report.plan.passes.size() == 2);
        if (report.plan.passes.size() == 2) {
          EXPECT_TRUE(scratch.is_covered_once());
        }
      }
    }
  }
}

// Cheap requests take one pass, expensive requests two: both are tested for each array.
TEST(transpose_stored, two_passes_through_a_scratch_file) {
  int routes_of_two = 0;
  for (const stored_array& what : arrays) {
    const auto bytes = static_cast<std::size_t>(bytes_of_array(what));
    memory_store src(bytes), dst(bytes), scratch(bytes);
    fill(src.data);
    file_options options{.memory_bytes = 20 << 10, .threads = 2, .scratch = &scratch};
    options.disk.read_request_bytes = options.disk.write_request_bytes = 100 << 10;
    int first_passes = 0;
    options.scratch_written = [&] { ++first_passes; };
    const file_report report = transpose_stored(src, dst, what, options);
    EXPECT_TRUE(dst.is_covered_once());
    EXPECT_EQ(dst.data, expected(src.data, what));
    if (report.plan.passes.size() < 2) continue;
    ++routes_of_two;
    EXPECT_TRUE(scratch.is_covered_once());
    EXPECT_EQ(scratch.bytes_read, static_cast<std::int64_t>(bytes));
    EXPECT_EQ(first_passes, 1);
    // The scratch store of an earlier call is enough: src is not read.
    memory_store nothing(0), again(bytes);
    options.is_scratch_written = true;
    transpose_stored(nothing, again, what, options);
    EXPECT_EQ(again.data, dst.data);
    EXPECT_EQ(first_passes, 1);
  }
  EXPECT_GE(routes_of_two, 5);
}

TEST(transpose_stored, two_passes_need_a_scratch_file) {
  memory_store src(300 * 257), dst(300 * 257);
  file_options options{.memory_bytes = 4 << 10, .threads = 1};
  options.disk.read_request_bytes = options.disk.write_request_bytes = 100 << 10;
  try {
    transpose_stored(src, dst, {{300, 257}, {1, 0}, 1}, options);
    FAIL();
  } catch (const error& fault) {
    EXPECT_NE(std::string(fault.what()).find("options.scratch is null"), std::string::npos) << fault.what();
  }
}

class mapped_source final : public byte_source {
 public:
  explicit mapped_source(const std::vector<std::byte>& data) : data_(data) {}
  void read(std::int64_t, void*, std::size_t) override { throw std::logic_error("an array in memory is not read"); }
  [[nodiscard]] const void* memory() const override { return data_.data(); }

 private:
  const std::vector<std::byte>& data_;
};

TEST(transpose_stored, an_array_in_memory_is_not_read) {
  for (const stored_array& what : arrays) {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes_of_array(what)));
    fill(data);
    mapped_source src(data);
    memory_store dst(data.size());
    transpose_stored(src, dst, what, {.memory_bytes = 256 << 10, .threads = 2});
    EXPECT_TRUE(dst.is_covered_once());
    EXPECT_EQ(dst.data, expected(data, what));
  }
}

TEST(transpose_stored, a_fault_of_a_store_ends_all_threads_and_passes_unchanged) {
  const stored_array what{{300, 257}, {1, 0}, 4};
  for (const int threads : {1, 4}) {
    for (const int call : {1, 2, 17, 300}) {
      for (const bool reading : {true, false}) {
        memory_store src(300 * 257 * 4), dst(300 * 257 * 4);
        (reading ? src : dst).fails_at = call;
        try {
          transpose_stored(src, dst, what, {.memory_bytes = 64 << 10, .threads = threads, .disk = free_requests});
          FAIL() << call;
        } catch (const std::runtime_error& fault) {
          EXPECT_EQ(std::string(fault.what()), reading ? "the disk is gone" : "the disk is full");
        }
      }
    }
  }
}

TEST(transpose_stored, a_journal_skips_finished_boxes) {
  const stored_array what{{300, 257}, {1, 0}, 4};
  memory_store src(300 * 257 * 4), dst(300 * 257 * 4);
  fill(src.data);
  std::set<std::int64_t> finished;
  file_options options{.memory_bytes = 64 << 10, .threads = 3, .disk = free_requests};
  options.finished = [&](std::int64_t box, std::span<const std::byte> bytes) {
    EXPECT_FALSE(bytes.empty());
    EXPECT_TRUE(finished.insert(box).second);
  };
  dst.fails_at = 400;
  EXPECT_THROW(transpose_stored(src, dst, what, options), std::runtime_error);
  ASSERT_FALSE(finished.empty());
  const std::set<std::int64_t> before = finished;
  ASSERT_LT(static_cast<std::int64_t>(before.size()), plan_stored(what, options).passes[0].boxes);
  options.is_done = [&](std::int64_t box) { return before.contains(box); };
  const file_report rest = transpose_stored(src, dst, what, options);
  EXPECT_LT(rest.bytes, 300 * 257 * 4);
  EXPECT_EQ(static_cast<std::int64_t>(finished.size()), rest.plan.passes[0].boxes);
  EXPECT_EQ(dst.data, expected(src.data, what));
}

// A store of chunks that refuses a box which is no multiple of them.
class chunked_store final : public array_source, public array_sink {
 public:
  chunked_store(std::vector<std::int64_t> whole, std::vector<std::int64_t> chunk, std::size_t size, int most_threads)
      : bytes(size), whole_(std::move(whole)), chunk_(std::move(chunk)), most_threads_(most_threads) {}
  void read(const array_box& box, void* to) override {
    const busy one(*this);
    copy(box, [&](std::int64_t at, std::int64_t packed, std::size_t n) {
      bytes.read(at, static_cast<std::byte*>(to) + packed, n);
    });
  }
  void write(const array_box& box, const void* from) override {
    const busy one(*this);
    for (std::size_t k = 0; k < whole_.size(); ++k) {
      const std::int64_t end = box.first[k] + box.extents[k];
      if (box.first[k] % chunk_[k] != 0 || (end % chunk_[k] != 0 && end != whole_[k])) throw std::logic_error("a part");
    }
    copy(box, [&](std::int64_t at, std::int64_t packed, std::size_t n) {
      bytes.write(at, static_cast<const std::byte*>(from) + packed, n);
    });
  }
  [[nodiscard]] std::vector<std::int64_t> chunk() const override { return chunk_; }
  [[nodiscard]] int threads() const override { return most_threads_; }

  memory_store bytes;

 private:
  struct busy {
    explicit busy(chunked_store& its) : of(its) {
      if (++of.active_ > of.most_threads_) throw std::logic_error("too many threads");
    }
    ~busy() { --of.active_; }
    chunked_store& of;
  };
  template <class Copy>
  void copy(const array_box& box, const Copy& one) {
    for (std::int64_t i = 0; i < box.extents[0]; ++i) {
      for (std::int64_t j = 0; j < box.extents[1]; ++j) {
        const std::int64_t at = ((box.first[0] + i) * whole_[1] + box.first[1] + j) * whole_[2] + box.first[2];
        one(at * 2, (i * box.extents[1] + j) * box.extents[2] * 2, static_cast<std::size_t>(box.extents[2] * 2));
      }
    }
  }
  std::vector<std::int64_t> whole_, chunk_;
  int most_threads_;
  std::atomic<int> active_{0};
};

TEST(transpose_stored, chunks_are_written_whole) {
  const stored_array what{{40, 50, 60}, {2, 0, 1}, 2};
  chunked_store src({40, 50, 60}, {8, 50, 7}, 240000, 2), dst({60, 40, 50}, {9, 16, 20}, 240000, 1);
  fill(src.bytes.data);
  const file_report report = transpose_stored(src, dst, what, {.memory_bytes = 64 << 10, .threads = 4});
  EXPECT_GT(report.plan.passes[0].boxes, 1);
  EXPECT_TRUE(dst.bytes.is_covered_once());
  EXPECT_EQ(dst.bytes.data, expected(src.bytes.data, what));
}

TEST(transpose_stored, a_chunk_that_does_not_fit_is_refused) {
  chunked_store src({40, 50, 60}, {8, 50, 7}, 240000, 2), dst({60, 40, 50}, {60, 40, 50}, 240000, 1);
  EXPECT_THROW(transpose_stored(src, dst, {{40, 50, 60}, {2, 0, 1}, 2}, {.memory_bytes = 64 << 10, .threads = 4}),
               error);
}

}  // namespace
}  // namespace cornerturn::files
