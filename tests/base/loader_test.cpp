#include "base/loader.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace cornerturn::base {
namespace {

TEST(loader, sees_a_library_that_is_loaded_later) {
  const unsigned long long before = libraries_loaded();
  void* library = nullptr;
  for (const char* name : {"libanl.so.1", "libBrokenLocale.so.1", "libnss_files.so.2", "libthread_db.so.1"}) {
    if (dlopen(name, RTLD_LAZY | RTLD_NOLOAD) == nullptr && (library = dlopen(name, RTLD_LAZY)) != nullptr) break;
  }
  if (library == nullptr) GTEST_SKIP() << "none of these libraries is here";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (libraries_loaded() == before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GT(libraries_loaded(), before);
}

TEST(loader, fork_beside_callers) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k) {
    callers.emplace_back([&] {
      while (!stop) static_cast<void>(libraries_loaded());
    });
  }
  for (int k = 0; k < 50; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(15);  // a tick
      while (std::chrono::steady_clock::now() < end) static_cast<void>(libraries_loaded());
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& one : callers) one.join();
}

}  // namespace
}  // namespace cornerturn::base
