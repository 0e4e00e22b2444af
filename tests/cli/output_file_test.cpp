#include "output_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

class output_file_test : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cornerturn-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& leaf) const { return (directory_ / leaf).string(); }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator{});
  }
  static std::string content(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path directory_;
};

TEST_P(output_file_test, appears_only_when_published) {
  output_file file(path("out"), 5, GetParam());
  file.write_at("hello", 0);
  EXPECT_FALSE(fs::exists(path("out")));
  file.publish();
  EXPECT_EQ(content(path("out")), "hello");
  EXPECT_EQ(entries(), 1);
}

TEST_P(output_file_test, leaves_nothing_when_not_published) {
  {
    output_file file(path("out"), 5, GetParam());
    file.write_at("hello", 0);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, replaces_an_existing_file_and_keeps_its_mode) {
  std::ofstream(path("out")) << "before";
  fs::permissions(path("out"), fs::perms::owner_read | fs::perms::owner_write);
  {
    output_file file(path("out"), 5, GetParam());
    file.write_at("after", 0);
    EXPECT_EQ(content(path("out")), "before");
    file.publish();
  }
  EXPECT_EQ(content(path("out")), "after");
  EXPECT_EQ(fs::status(path("out")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(entries(), 1);
}

TEST_P(output_file_test, follows_a_symbolic_link) {
  fs::create_directory(path("elsewhere"));
  fs::create_symlink("elsewhere/target", path("out"));
  for (const char* text : {"hello", "again"}) {  // to a new file, and to an existing file
    output_file file(path("out"), 5, GetParam());
    file.write_at(text, 0);
    file.publish();
    EXPECT_TRUE(fs::is_symlink(path("out")));
    EXPECT_EQ(content(path("elsewhere/target")), text);
  }
  fs::create_symlink("loop", path("loop"));
  EXPECT_THROW(output_file(path("loop"), 5, GetParam()), failure);
}

TEST_P(output_file_test, says_what_is_wrong_with_the_name) {
  EXPECT_THROW(output_file(path("missing/out"), 5, GetParam()), failure);
  EXPECT_THROW(output_file(directory_.string(), 5, GetParam()), failure);
  EXPECT_THROW(output_file("/dev/null", 5, GetParam()), failure);
  EXPECT_THROW(output_file("", 5, GetParam()), failure);
  EXPECT_THROW(output_file(path("out/"), 5, GetParam()), failure);
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, says_when_there_is_no_room) {
  try {
    output_file file(path("out"), std::int64_t{1} << 61, GetParam());
    FAIL() << "2 EiB were there";
  } catch (const failure& fault) {
    EXPECT_NE(std::string(fault.what()).find("needs 2.00 EiB"), std::string::npos) << fault.what();
  }
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, says_when_a_write_fails) {
  const auto before = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    output_file file(path("out"), 0, GetParam());
    EXPECT_THROW(file.write_at(std::string(8192, 'x'), 0), failure);
    EXPECT_THROW(output_file(path("other"), 8192, GetParam()), failure);
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, a_signal_leaves_nothing) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      output_file file(path("out"), 5, GetParam());
      file.write_at("hello", 0);
      if (write(ready[1], "x", 1) == 1) pause();
      _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    kill(child, signal_number);
    int state = 0;
    waitpid(child, &state, 0);
    EXPECT_TRUE(WIFSIGNALED(state));
    EXPECT_EQ(WTERMSIG(state), signal_number);
    EXPECT_EQ(entries(), 0);
    close(ready[0]);
    close(ready[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(with_and_without_a_name, output_file_test, testing::Bool(),
                         [](const auto& about) { return about.param ? "anonymous" : "named"; });

}  // namespace
}  // namespace cornerturn::cli
