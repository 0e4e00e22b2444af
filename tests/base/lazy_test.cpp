#include "base/lazy.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace cornerturn::base::lazy_test {
namespace {

TEST(lazy, all_threads_get_one_value) {
  for (int turn = 0; turn < 100; ++turn) {
    lazy<int> value;
    std::array<int*, 4> got{};
    std::vector<std::thread> team;
    for (std::size_t k = 0; k < got.size(); ++k)
      team.emplace_back([&, k] { got[k] = &value.get([k] { return static_cast<int>(k); }); });
    for (std::thread& one : team) one.join();
    for (const int* const one : got) EXPECT_EQ(one, got[0]);
    delete got[0];
  }
}

TEST(lazy, a_child_of_fork_makes_its_own_value) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not survive a fork() beside threads";
#endif
#endif
  static lazy<int> value;
  std::atomic<bool> making{false}, finish{false};
  std::thread other([&] {
    value.get([&] {
      making = true;
      while (!finish) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 1;
    });
  });
  while (!making) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(value.get([] { return 2; }) == 2 ? 0 : 1);
  }
  int result = 0;
  EXPECT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  finish = true;
  other.join();
  EXPECT_EQ(value.get([] { return 3; }), 1);
}

TEST(lazy, a_number_is_read_once) {
  lazy_number zero, four;
  EXPECT_EQ(zero.get([] { return -3; }), 0);
  EXPECT_EQ(zero.get([] { return 1; }), 0);
  EXPECT_EQ(four.get([] { return 4; }), 4);
  EXPECT_EQ(four.get([] { return 1; }), 4);
}

}  // namespace
}  // namespace cornerturn::base::lazy_test
