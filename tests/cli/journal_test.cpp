#include "journal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "scratch_folder.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

class journal_file : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (directory_ / "journal").string(); }
  [[nodiscard]] base::descriptor file() const { return base::descriptor(open(path().c_str(), O_RDWR | O_CREAT, 0600)); }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }
  void put(const std::string& text) const { std::ofstream(path()) << text; }
  [[nodiscard]] std::string begin_text(std::int64_t memory, int threads) const {
    return "cornerturn journal 1\n" + begin_.transpose + "\nmemory " + std::to_string(memory) + " threads " +
           std::to_string(threads) + "\n";
  }
  journal reopened(const journal_begin& begin) const { return {file(), path(), begin}; }

  scratch_folder folder_;
  const fs::path& directory_ = folder_.path();
  const journal_begin begin_{"in.npy 4x6 of <u2, axes 1,0", 1 << 20, 3};
};

TEST(checksum, does_not_depend_on_the_cuts) {
  std::vector<std::byte> bytes(100);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(k * 37);
  checksum whole;
  whole.add(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    checksum parts;
    parts.add(std::span(bytes).first(cut));
    parts.add(std::span(bytes).subspan(cut));
    EXPECT_EQ(parts.value(), whole.value()) << cut;
  }
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    std::vector<std::byte> other = bytes;
    other[k] ^= std::byte{1};
    checksum sum;
    sum.add(other);
    EXPECT_NE(sum.value(), whole.value()) << k;
  }
  checksum none, zero;
  zero.add(std::vector<std::byte>(1));
  EXPECT_NE(none.value(), zero.value());
}

// dst is a 6 x 4 array in boxes of 4 x 3.
TEST_F(journal_file, a_box_is_done_if_its_bytes_are_those_of_the_journal) {
  file_pass how;
  how.extents = {6, 4};
  how.box = {4, 3};
  how.element_bytes = 2;
  const base::descriptor dst(open((directory_ / "dst").c_str(), O_RDWR | O_CREAT, 0600));
  std::vector<std::uint16_t> array(24);
  for (std::size_t k = 0; k < 24; ++k) array[k] = static_cast<std::uint16_t>(1000 + k);
  base::write_all(dst.get(), {reinterpret_cast<const char*>(array.data()), 48}, 0);
  {
    journal made = reopened(begin_);
    std::vector<std::uint16_t> box2;  // rows 4 and 5, columns 0 to 2
    for (const std::size_t row : {4U, 5U})
      box2.insert(box2.end(), {array[row * 4], array[row * 4 + 1], array[row * 4 + 2]});
    made.add(2, std::as_bytes(std::span(box2)), dst.get());
    made.add(3, std::as_bytes(std::span(box2)), dst.get());  // wrong
    made.flush(dst.get());
  }
  const auto store = file_store(dst.get(), 0, "dst");
  EXPECT_FALSE(reopened(begin_).is_done(0, how, *store));
  EXPECT_TRUE(reopened(begin_).is_done(2, how, *store));
  EXPECT_FALSE(reopened(begin_).is_done(3, how, *store));
  EXPECT_EQ(reopened(begin_).finished(), 2);
  base::write_all(dst.get(), "x", 32);
  EXPECT_FALSE(reopened(begin_).is_done(2, how, *store));
}

TEST_F(journal_file, the_first_run_decides_the_memory) {
  { const journal made = reopened(begin_); }
  EXPECT_EQ(reopened({begin_.transpose, 2 << 20, 8}).begin(), begin_);
  EXPECT_THROW(reopened({begin_.transpose, begin_.memory_bytes - (5 << 20), 3}), failure);
}

TEST_F(journal_file, another_transpose_is_refused) {
  { const journal made = reopened(begin_); }
  EXPECT_THROW(reopened({"other", begin_.memory_bytes, 3}), failure);
  for (const std::string& text :
       {std::string("something else\n"), std::string("cornerturn journal 1\nother"), begin_text(0, 3),
        begin_text(-5, 3), begin_text(1 << 20, 0), begin_text(1 << 20, -1)}) {
    put(text);
    EXPECT_THROW(reopened(begin_), failure) << text;
  }
}

TEST_F(journal_file, one_process_at_a_time) {
  const journal made = reopened(begin_);
  EXPECT_THROW(reopened(begin_), failure);
}

TEST_F(journal_file, a_torn_line_is_no_box) {
  const base::descriptor dst(open("/dev/null", O_RDWR));
  { const journal made = reopened(begin_); }
  const std::string begin = text();
  for (std::size_t bytes = 0; bytes < begin.size(); ++bytes) {
    put(begin.substr(0, bytes));
    EXPECT_EQ(reopened(begin_).finished(), 0) << bytes;
    EXPECT_EQ(text(), begin) << bytes;
  }
  put(std::string(begin.size() + 9, '\0'));
  EXPECT_EQ(reopened(begin_).finished(), 0);
  EXPECT_TRUE(text().starts_with(begin));
  EXPECT_EQ(reopened(begin_).finished(), 0);
  // The memory of an earlier run has more digits.
  std::string other = begin_text(1 << 24, 3);
  other.pop_back();
  put(other);
  EXPECT_EQ(reopened(begin_).finished(), 0);
  EXPECT_EQ(reopened(begin_).begin(), begin_);
  put(begin + "5 abc\n7 ab");
  {
    journal again = reopened(begin_);
    EXPECT_EQ(again.finished(), 1);
    again.add(9, {}, dst.get());
    again.flush(dst.get());
  }
  EXPECT_TRUE(text().starts_with(begin + "5 abc\n9 ")) << text();
}

}  // namespace
}  // namespace cornerturn::cli
