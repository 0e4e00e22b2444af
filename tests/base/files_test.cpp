#include "base/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace cornerturn::base::files_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t some = 1 << 16;

class files : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cornerturn-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& leaf) const { return (folder_ / leaf).string(); }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator{});
  }
  void put(const std::string& leaf, const std::string& text) const { std::ofstream(path(leaf)) << text; }
  [[nodiscard]] std::string text(const std::string& leaf) const {
    std::ostringstream all;
    all << std::ifstream(path(leaf)).rdbuf();
    return all.str();
  }
  [[nodiscard]] mode_t mode(const std::string& leaf) const {
    struct stat about {};
    EXPECT_EQ(stat(path(leaf).c_str(), &about), 0);
    return about.st_mode & 07777U;
  }
  static replace_rules rules() { return {.force = false, .sync = false, .anonymous = GetParam(), .remedy = ""}; }
  static std::string fault_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const file_error& fault) {
      return fault.what();
    }
    return "";
  }
  void replace(const std::string& leaf, const std::string& with) const {
    new_file made(path(leaf), rules());
    write_all(made.get(), with, 0);
    made.publish();
  }

  fs::path folder_;
};

TEST_P(files, only_regular_files_are_read) {
  put("file", "hello");
  EXPECT_EQ(read_file(path("file"), 5), "hello");
  EXPECT_EQ(fault_of([&] { static_cast<void>(read_file(path("file"), 4)); }),
            "has more than 4 bytes, wanted at most that");
  EXPECT_EQ(fault_of([&] { static_cast<void>(read_file("/dev/zero", some)); }), "is a character device, wanted a file");
  EXPECT_EQ(fault_of([&] { static_cast<void>(read_file(folder_.string(), some)); }), "is a directory, wanted a file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(fault_of([&] { static_cast<void>(read_file(path("pipe"), some)); }), "is a pipe, wanted a file")
      << "and nobody waits";
  EXPECT_EQ(fault_of([&] { static_cast<void>(read_file(path("none"), some)); }),
            "cannot be read: No such file or directory");
}

TEST_P(files, only_regular_files_are_replaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(fault_of([&] { replace("pipe", "x"); }), "is a pipe, wanted the name of a file");
  EXPECT_EQ(fault_of([&] { new_file made("/dev/null", rules()); }), "is a character device, wanted the name of a file");
  fs::create_symlink("/dev/null", path("link"));
  EXPECT_EQ(fault_of([&] { replace("link", "x"); }), "is a character device, wanted the name of a file");
  EXPECT_EQ(entries(), 2);
}

TEST_P(files, the_mode_and_the_attributes_of_the_old_file_stay) {
  put("file", "before");
  ASSERT_EQ(chmod(path("file").c_str(), 0640), 0);
  const bool has_attributes = setxattr(path("file").c_str(), "user.origin", "here", 4, 0) == 0;
  replace("file", "after");
  EXPECT_EQ(text("file"), "after");
  EXPECT_EQ(mode("file"), 0640U);
  char value[8] = {};
  if (has_attributes) {
    EXPECT_EQ(getxattr(path("file").c_str(), "user.origin", value, sizeof value), 4);
    EXPECT_STREQ(value, "here");
  }
}

// u::rw u:1234:r g::--- m::r o::---
constexpr unsigned char list[] = {2,  0, 0, 0,                                                            //
                                  1,  0, 6, 0, 0xff, 0xff, 0xff, 0xff, 2,  0, 4, 0, 0xd2, 4,    0,    0,  //
                                  4,  0, 0, 0, 0xff, 0xff, 0xff, 0xff, 16, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
                                  32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};

TEST_P(files, an_access_list_stays) {
  put("file", "before");
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  if (setxattr(path("file").c_str(), "system.posix_acl_access", list, sizeof list, 0) != 0) {
    GTEST_SKIP() << "this file system has no access lists";
  }
  replace("file", "after");
  unsigned char kept[128] = {};
  ASSERT_EQ(getxattr(path("file").c_str(), "system.posix_acl_access", kept, sizeof kept),
            static_cast<ssize_t>(sizeof list));
  EXPECT_EQ(std::memcmp(kept, list, sizeof list), 0);
}

TEST_P(files, the_list_of_the_folder_is_not_inherited) {
  put("file", "before");
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  if (setxattr(folder_.c_str(), "system.posix_acl_default", list, sizeof list, 0) != 0) {
    GTEST_SKIP() << "this file system has no access lists";
  }
  replace("file", "after");
  EXPECT_LT(getxattr(path("file").c_str(), "system.posix_acl_access", nullptr, 0), 0);
  EXPECT_EQ(mode("file"), 0600U);
}

TEST_P(files, links_lead_to_their_target) {
  fs::create_directory(path("elsewhere"));
  fs::create_symlink("elsewhere/target", path("link"));
  fs::create_symlink("link", path("again"));
  for (const char* words : {"new", "old"}) {
    replace("again", words);
    EXPECT_TRUE(fs::is_symlink(path("again")));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(text("elsewhere/target"), words);
  }
  fs::create_symlink("nowhere", path("empty"));
  { const new_file left(path("empty"), rules()); }
  EXPECT_FALSE(fs::exists(path("nowhere"))) << "an unpublished file leaves nothing";
  fs::create_symlink("loop", path("loop"));
  EXPECT_EQ(fault_of([&] { replace("loop", "x"); }), "cannot be opened: Too many levels of symbolic links");
}

TEST_P(files, a_link_that_appears_during_the_work_is_not_followed) {
  put("victim", "precious");
  {
    new_file made(path("file"), rules());
    write_all(made.get(), "x", 0);
    fs::create_symlink("victim", path("file"));
    EXPECT_EQ(fault_of([&] { made.publish(); }), "is a symbolic link, wanted the name of a file");
  }
  EXPECT_EQ(text("victim"), "precious");
  EXPECT_EQ(entries(), 2);
}

TEST_P(files, a_file_that_appears_during_the_work_is_checked_and_keeps_its_mode) {
  new_file made(path("file"), rules());
  write_all(made.get(), "after", 0);
  put("file", "another's");
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  made.publish();
  EXPECT_EQ(text("file"), "after");
  EXPECT_EQ(mode("file"), 0600U);
}

TEST_P(files, a_mode_that_changes_during_the_work_counts) {
  put("file", "before");
  ASSERT_EQ(chmod(path("file").c_str(), 0644), 0);
  new_file made(path("file"), rules());
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  made.publish();
  EXPECT_EQ(mode("file"), 0600U);
}

TEST_P(files, another_users_file_that_appears_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act for two users";
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(1234) != 0 || setuid(1234) != 0) _exit(2);
    new_file made(path("file"), rules());
    write_all(made.get(), "x", 0);
    kill(getpid(), SIGSTOP);  // the file appears now
    try {
      made.publish();
    } catch (const file_error&) {
      _exit(0);
    }
    _exit(1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(state));
  put("file", "root's");
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0);
  EXPECT_EQ(text("file"), "root's");
}

TEST_P(files, a_guessed_temporary_name_is_useless) {
  put("victim", "precious");
  fs::create_symlink("victim", path("file." + std::to_string(getpid()) + ".part"));
  fs::create_symlink("victim", path(".file.tmp"));
  change_file(path("file"), some, [](const std::string&) { return std::string("x"); });
  EXPECT_EQ(text("victim"), "precious");
  EXPECT_EQ(text("file"), "x");
}

TEST_P(files, changes_of_threads_and_processes_come_one_after_another) {
  const auto add = [&](int count) {
    for (int k = 0; k < count; ++k) change_file(path("file"), some, [](const std::string& old) { return old + 'x'; });
  };
  std::vector<pid_t> children;
  for (int k = 0; k < 3; ++k) {
    children.push_back(fork());
    if (children.back() == 0) {
      add(10);
      _exit(0);
    }
  }
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back(add, 10);
  for (std::thread& one : threads) one.join();
  for (const pid_t child : children) {
    int state = 0;
    EXPECT_EQ(waitpid(child, &state, 0), child);
    EXPECT_EQ(state, 0);
  }
  EXPECT_EQ(text("file"), std::string(60, 'x'));
  EXPECT_EQ(entries(), 2) << "the file and its lock";
}

// A file that is replaced while it is opened is no link.
TEST_P(files, a_file_that_others_replace_is_opened) {
  put("file", "one");
  put("next", "two");
  const std::string file = path("file"), next = path("next");
  std::atomic<int> exchanges{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (; !stop; ++exchanges) renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, next.c_str(), RENAME_EXCHANGE);
  });
  std::string fault;
  while (exchanges < 20000 && fault.empty()) fault = fault_of([&] { const new_file made(path("file"), rules()); });
  stop = true;
  other.join();
  EXPECT_EQ(fault, "");
}

TEST_P(files, a_lock_that_is_no_file_is_named) {
  put("victim", "precious");
  fs::create_symlink("victim", path("file.lock"));
  EXPECT_NE(fault_of([&] {
              change_file(path("file"), some, [](const std::string& old) { return old; });
            }).find("cannot be locked: file.lock"),
            std::string::npos);
}

TEST_P(files, a_change_that_fails_leaves_the_old_content) {
  put("file", "before");
  EXPECT_EQ(fault_of([&] {
              change_file(path("file"), some, [](const std::string&) -> std::string { throw file_error("no"); });
            }),
            "no");
  EXPECT_EQ(text("file"), "before");
  EXPECT_EQ(fault_of([&] { change_file(path("file"), 3, [](const std::string& old) { return old; }); }),
            "has more than 3 bytes, wanted at most that");
}

TEST_P(files, a_kept_file_goes_on_where_an_earlier_one_ended) {
  const replace_rules rules{.anonymous = GetParam(), .kept = ".part"};
  {
    const new_file first(path("out"), rules);
    write_all(first.get(), "he", 0);
    EXPECT_TRUE(first.open_beside(".list"));
  }
  EXPECT_EQ(text("out.part"), "he");
  EXPECT_EQ(entries(), 2);
  {
    new_file second(path("out"), rules);
    write_all(second.get(), "llo", 2);
    second.publish();
    second.remove_beside(".list");
  }
  EXPECT_EQ(text("out"), "hello");
  EXPECT_EQ(entries(), 1);
  fs::create_symlink(path("out"), path("out.part"));
  EXPECT_THROW(new_file(path("out"), rules), file_error);
  EXPECT_EQ(text("out"), "hello");
}

TEST_P(files, a_scratch_file_has_no_name) {
  const descriptor folder(open(folder_.c_str(), O_PATH | O_DIRECTORY));
  {
    const descriptor made = scratch_file(folder);
    write_all(made.get(), "text", 3);
    EXPECT_EQ(entries(), 0);
    struct stat about {};
    ASSERT_EQ(fstat(made.get(), &about), 0);
    EXPECT_EQ(about.st_size, 7);
  }
  const descriptor none(open("/proc/self", O_PATH | O_DIRECTORY));
  EXPECT_THROW(static_cast<void>(scratch_file(none)), file_error);
}

INSTANTIATE_TEST_SUITE_P(with_and_without_a_name, files, testing::Bool(),
                         [](const auto& about) { return about.param ? "anonymous" : "named"; });

}  // namespace
}  // namespace cornerturn::base::files_test
