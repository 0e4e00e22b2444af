// The findings of tune(), in memory and in the file.
#include "api/tuned.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "expect_error.hpp"

namespace cornerturn::api {
namespace {

using testing::expect_error;

class tuned : public ::testing::Test {
 protected:
  void SetUp() override { forget_tuned(); }
  void TearDown() override {
    forget_tuned();
    std::filesystem::remove(file);
  }
  void write(const std::string& text) const { std::ofstream(file) << text; }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }
  [[nodiscard]] tuned_key key(int limit = 2, int align = 0, std::string_view machine = "A CPU, really") const {
    return {.form = &form, .align = align, .limit = limit, .machine = machine};
  }

  std::string file = ::testing::TempDir() + "cornerturn_tuned_" + std::to_string(getpid());
  map::canonical form = map::canonicalize(transpose_problem(30, 50, 4));
};

TEST_F(tuned, a_finding_is_for_its_key_alone) {
  EXPECT_EQ(find_tuned(key()).kernel, nullptr);
  const auto before = tuned_generation();
  remember_tuned(key(), {"cpu_gather", 1, 1e-3});
  EXPECT_NE(tuned_generation(), before);
  EXPECT_STREQ(find_tuned(key()).kernel, "cpu_gather");
  EXPECT_EQ(find_tuned(key()).threads, 1);
  EXPECT_EQ(find_tuned(key(3)).kernel, nullptr);
  EXPECT_EQ(find_tuned(key(2, 16)).kernel, nullptr);
  EXPECT_EQ(find_tuned(key(2, 0, "Another")).kernel, nullptr);
  const map::canonical other = map::canonicalize(transpose_problem(30, 50, 4, 51));
  EXPECT_EQ(find_tuned({.form = &other, .align = 0, .limit = 2, .machine = "A CPU, really"}).kernel, nullptr);
  forget_tuned();
  EXPECT_EQ(find_tuned(key()).kernel, nullptr);
}

TEST_F(tuned, the_file_holds_one_line_for_each_key_and_keeps_the_rest) {
  write_tuned(file, key(), {"cpu_gather", 1, 1e-3});
  EXPECT_EQ(text(),
            "cornerturn-tuning 1\n"
            "cpu_gather threads=1 seconds=0.001 problem=4/50:1:30/30:50:1 align=0 limit=2 on=A CPU, really\n");
  std::ofstream(file, std::ios::app)
      << "# mine\n\ngpu_of_tomorrow threads=0 seconds=1 problem=4 align=16 limit=0 on=X\n";
  write_tuned(file, key(3), {"cpu_stream_lines_b4", 2, 2e-3});
  write_tuned(file, key(), {"cpu_register_tile_b4", 2, 5e-4});
  const std::string now = text();
  EXPECT_NE(now.find("# mine\n"), std::string::npos);
  EXPECT_NE(now.find("gpu_of_tomorrow"), std::string::npos);
  EXPECT_EQ(now.find("cpu_gather"), std::string::npos) << now;
  EXPECT_EQ(read_tuned(file), 2) << "a row that this build does not have is passed over";
  EXPECT_STREQ(find_tuned(key()).kernel, "cpu_register_tile_b4");
  EXPECT_STREQ(find_tuned(key(3)).kernel, "cpu_stream_lines_b4");
  EXPECT_EQ(find_tuned(key(3)).threads, 2);
}

TEST_F(tuned, a_file_with_old_names_of_gpu_rows_is_read) {
  write(
      "cornerturn-tuning 1\n"
      "cuda_copy_b16 threads=0 seconds=1 problem=4/50:1:30/30:50:1 align=0 limit=2 on=A CPU, really\n");
  EXPECT_EQ(read_tuned(file), 1);
  EXPECT_STREQ(find_tuned(key()).kernel, "gpu_copy_b16");
}

TEST_F(tuned, a_file_that_is_none_is_refused_whole) {
  expect_error(status::invalid_argument, {file.c_str(), "cannot be read"}, [&] { read_tuned(file); });
  write("PNG\n");
  expect_error(status::invalid_argument, {file.c_str(), "begins with \"PNG\"", "cornerturn-tuning 1"},
               [&] { read_tuned(file); });
  expect_error(status::invalid_argument, {"begins with \"PNG\""}, [&] {
    write_tuned(file, key(), {"cpu_gather", 1, 1});
  });
  EXPECT_EQ(text(), "PNG\n") << "somebody's file";
  const std::string good =
      "cpu_gather threads=1 seconds=0.001 problem=4/50:1:30/30:50:1 align=0 limit=2 on=A CPU, really\n";
  const char* const bad[] = {"cpu_gather\n", "cpu_gather threads=1 seconds=0.001\n",
                             "cpu_gather threads=many seconds=1 problem=4 align=0 limit=2 on=X\n",
                             "cpu_gather threads=-1 seconds=1 problem=4 align=0 limit=2 on=X\n",
                             "cpu_gather threads=1 seconds=1 problem=4 limit=2 on=X\n"};
  for (const char* line : bad) {
    write("cornerturn-tuning 1\n" + good + line);
    expect_error(status::invalid_argument, {"line 3", "wanted"}, [&] { read_tuned(file); });
    EXPECT_EQ(find_tuned(key()).kernel, nullptr) << "such a file is ignored as a whole";
  }
}

TEST_F(tuned, a_place_that_cannot_be_written_is_named) {
  expect_error(status::invalid_argument, {"/nowhere/at/all", "cannot be written"}, [&] {
    write_tuned("/nowhere/at/all", key(), {"cpu_gather", 1, 1e-3});
  });
}

}  // namespace
}  // namespace cornerturn::api
