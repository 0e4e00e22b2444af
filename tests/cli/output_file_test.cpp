#include "output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "scratch_folder.hpp"
#include "text.hpp"

namespace {

// The names of the files in the order in which they were written to the disk, and whether `watched` existed by then.
std::string watched;
std::vector<std::pair<std::string, bool>> synced;

}  // namespace

// Takes the place of libc's function in this program.
extern "C" int fsync(int descriptor) {
  std::error_code fault;
  const auto name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), fault);
  synced.emplace_back(name.string(), std::filesystem::exists(watched));
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

class output_file_test : public testing::TestWithParam<bool> {
 protected:
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

  scratch_folder folder_;
  const fs::path& directory_ = folder_.path();
};

TEST_P(output_file_test, appears_only_when_published) {
  output_file file(path("out"), 5, {.anonymous = GetParam()});
  file.write_at("hello", 0);
  EXPECT_FALSE(fs::exists(path("out")));
  file.publish();
  EXPECT_EQ(content(path("out")), "hello");
  EXPECT_EQ(entries(), 1);
}

TEST_P(output_file_test, leaves_nothing_when_not_published) {
  {
    output_file file(path("out"), 5, {.anonymous = GetParam()});
    file.write_at("hello", 0);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, replaces_an_existing_file_and_keeps_its_mode) {
  std::ofstream(path("out")) << "before";
  fs::permissions(path("out"), fs::perms::owner_read | fs::perms::owner_write);
  {
    output_file file(path("out"), 5, {.anonymous = GetParam()});
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
    output_file file(path("out"), 5, {.anonymous = GetParam()});
    file.write_at(text, 0);
    file.publish();
    EXPECT_TRUE(fs::is_symlink(path("out")));
    EXPECT_EQ(content(path("elsewhere/target")), text);
  }
  fs::create_symlink("loop", path("loop"));
  EXPECT_THROW(output_file(path("loop"), 5, {.anonymous = GetParam()}), failure);
}

TEST_P(output_file_test, says_what_is_wrong_with_the_name) {
  EXPECT_THROW(output_file(path("missing/out"), 5, {.anonymous = GetParam()}), failure);
  EXPECT_THROW(output_file(directory_.string(), 5, {.anonymous = GetParam()}), failure);
  EXPECT_THROW(output_file("", 5, {.anonymous = GetParam()}), failure);
  EXPECT_THROW(output_file(path("out/"), 5, {.anonymous = GetParam()}), failure);
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, bytes_and_name_are_on_the_disk) {
  watched = path("out");
  for (const bool sync : {true, false}) {
    fs::remove(watched);
    synced.clear();
    output_file file(path("out"), 5, {.sync = sync, .anonymous = GetParam()});
    file.write_at("hello", 0);
    file.publish();
    if (!sync) {
      EXPECT_TRUE(synced.empty());
      continue;
    }
    ASSERT_EQ(synced.size(), 2U);
    EXPECT_FALSE(synced[0].second) << "the bytes come before the name";
    EXPECT_TRUE(synced[1].second) << "the name comes before its folder";
    EXPECT_EQ(fs::path(synced[1].first), fs::canonical(directory_));
  }
}

TEST_P(output_file_test, keeps_permissions_but_not_the_set_user_id_bit) {
  std::ofstream(path("out")) << "before";
  ASSERT_EQ(chmod(path("out").c_str(), 06751), 0);
  output_file file(path("out"), 5, {.anonymous = GetParam()});
  file.publish();
  struct stat about {};
  ASSERT_EQ(stat(path("out").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0751U);
}

TEST_P(output_file_test, a_stream_gets_all_bytes_at_the_end) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  output_file file(path("pipe"), 10, {.anonymous = GetParam()});
  file.write_at("world", 5);
  file.write_at("hello", 0);
  char got[16] = {};
  EXPECT_LE(read(reader, got, sizeof got), 0);
  file.publish();
  EXPECT_EQ(read(reader, got, sizeof got), 10);
  EXPECT_EQ(std::string(got), "helloworld");
  close(reader);
  EXPECT_EQ(entries(), 1);
}

TEST_P(output_file_test, a_full_stream_fails_before_the_work) {
  output_file("/dev/null", 5, {.anonymous = GetParam()}).publish();
  EXPECT_THROW(output_file("/dev/full", 5, {.anonymous = GetParam()}), failure);
}

TEST_P(output_file_test, says_when_there_is_no_room) {
  try {
    output_file file(path("out"), std::int64_t{1} << 61, {.anonymous = GetParam()});
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
    output_file file(path("out"), 0, {.anonymous = GetParam()});
    EXPECT_THROW(file.write_at(std::string(8192, 'x'), 0), failure);
    EXPECT_THROW(output_file(path("other"), 8192, {.anonymous = GetParam()}), failure);
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  EXPECT_EQ(entries(), 0);
}

TEST_P(output_file_test, a_signal_leaves_nothing) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer's child does not end by the signal";
#endif
#endif
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      output_file file(path("out"), 5, {.anonymous = GetParam()});
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
