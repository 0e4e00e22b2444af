#include "base/quota.hpp"

#include <gtest/gtest.h>

#include "kernel_files.hpp"

namespace cornerturn::base {
namespace {

// A file system with a root of its own.
class quota : public kernel_files {
 protected:
  void is_in_groups(const std::string& lines) const { write("/proc/self/cgroup", lines); }
  [[nodiscard]] int found() const { return cpu_quota(root_); }
};

TEST_F(quota, no_files_are_no_quota) {
  EXPECT_EQ(found(), 0);
  is_in_groups("0::/\n");
  EXPECT_EQ(found(), 0);
}

TEST_F(quota, version_2) {
  is_in_groups("0::/\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(found(), 0);
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(found(), 2);
}

TEST_F(quota, a_part_of_a_cpu_counts_as_none) {
  is_in_groups("0::/\n");
  write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(found(), 2);
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(found(), 1) << "at least one";
}

TEST_F(quota, the_smallest_of_a_group_and_the_groups_around_it) {
  is_in_groups("0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(found(), 3);
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(found(), 3);
  write("/sys/fs/cgroup/a/b/cpu.max", "20000 10000\n");
  EXPECT_EQ(found(), 2);
}

TEST_F(quota, a_container_sees_its_group_as_the_mount) {
  is_in_groups("0::/docker/0123\n");  // the path on the host
  write("/sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(found(), 5);
}

TEST_F(quota, version_1) {
  is_in_groups("11:memory:/a\n4:cpu,cpuacct:/a\n2:cpuset:/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(found(), 0);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(found(), 1);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "600000\n");
  EXPECT_EQ(found(), 6);
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");  // the mount under its other name
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(found(), 4);
}

TEST_F(quota, files_with_other_texts_are_no_quota) {
  is_in_groups("0::/\nno colon\n7:\n::relative\n");
  for (const char* text :
       {"", "\n", "200000", "200000 0", "200000 x", "0 100000", "-5 100000", "99999999999999999999 1"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(found(), 0) << text;
  }
}

TEST_F(quota, available_memory_is_that_of_the_machine_without_a_limit) {
  EXPECT_EQ(available_memory(root_), std::int64_t{1} << 62);
  write("/proc/meminfo", "MemTotal:       24000000 kB\nMemFree:  1000 kB\nMemAvailable:   16000000 kB\n");
  EXPECT_EQ(available_memory(root_), 16000000LL * 1024);
  is_in_groups("0::/a\n");
  write("/sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(available_memory(root_), 16000000LL * 1024);
}

TEST_F(quota, available_memory_is_the_rest_of_the_smallest_limit) {
  write("/proc/meminfo", "MemAvailable:   16000000 kB\n");
  is_in_groups("0::/a/b\n");
  write("/sys/fs/cgroup/a/memory.max", "1000000\n");
  write("/sys/fs/cgroup/a/memory.current", "700000\n");
  EXPECT_EQ(available_memory(root_), 300000);
  write("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 600000\nactive_file 9\n");
  EXPECT_EQ(available_memory(root_), 900000) << "pages of files are taken back";
  write("/sys/fs/cgroup/a/b/memory.max", "2000\n");
  write("/sys/fs/cgroup/a/b/memory.current", "3000\n");
  EXPECT_EQ(available_memory(root_), 0);
}

TEST_F(quota, available_memory_in_version_1) {
  write("/proc/meminfo", "MemAvailable:   16000000 kB\n");
  is_in_groups("4:cpu,cpuacct:/a\n5:memory:/a\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000000\n");
  write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4000000\n");
  write("/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 3000000\n");
  EXPECT_EQ(available_memory(root_), 4000000);
}

}  // namespace
}  // namespace cornerturn::base
