#include "base/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "kernel_files.hpp"

namespace cornerturn::base {
namespace {

TEST(machine, has_caches_that_grow) {
  const machine here = read_machine();
  EXPECT_EQ(here.page_bytes, sysconf(_SC_PAGESIZE));
  EXPECT_GE(here.l1d_bytes, 8 << 10);
  EXPECT_LE(here.l1d_bytes, 1 << 20);
  EXPECT_GE(here.l2_bytes, here.l1d_bytes);
  EXPECT_GT(here.l3_bytes, 0);
}

TEST(machine, amd_is_told_from_the_vendor) {
  const machine here = read_machine();
  const bool says_amd = here.cpu_model.find("AMD") != std::string::npos;
  const bool says_intel = here.cpu_model.find("Intel") != std::string::npos;
  EXPECT_FALSE(says_amd && !here.amd) << here.cpu_model;
  EXPECT_FALSE(says_intel && here.amd) << here.cpu_model;
  EXPECT_EQ(here.cpu_model.find('\n'), std::string::npos);
}

// The files that the kernel shows on other machines.
class machine_of_files : public kernel_files {
 protected:
  void has_cache(int index, const std::string& level, const std::string& type, const std::string& size) const {
    const std::string at = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    write(at + "/level", level + '\n');
    write(at + "/type", type + '\n');
    write(at + "/size", size + '\n');
  }
  [[nodiscard]] machine found() const { return read_machine(root_); }
};

TEST_F(machine_of_files, x86_has_a_name_and_numbers) {
  write("/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"
        "stepping\t: 1\nmicrocode\t: 0x1\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: none\n");
  has_cache(0, "1", "Data", "32K");
  has_cache(1, "1", "Instruction", "64K");
  has_cache(2, "2", "Unified", "1024K");
  has_cache(3, "3", "Unified", "32768K");
  const machine amd = found();
  EXPECT_EQ(amd.cpu_model, "AMD EPYC");
  EXPECT_EQ(amd.part, "25/17/1");
  EXPECT_TRUE(amd.amd);
  EXPECT_EQ(amd.l1d_bytes, 32 << 10);
  EXPECT_EQ(amd.l2_bytes, 1 << 20);
  EXPECT_EQ(amd.l3_bytes, 32 << 20);
  EXPECT_EQ(identity(amd), "AMD EPYC (25/17/1, SSE4, caches of 32, 1024 and 32768 KiB)");
}

TEST_F(machine_of_files, arm_has_numbers_alone) {
  write("/proc/cpuinfo",
        "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
        "CPU part\t: 0xd0c\nCPU revision\t: 1\n");
  has_cache(0, "1", "Data", "64K");
  has_cache(1, "1", "Instruction", "64K");
  has_cache(2, "2", "Unified", "1M");
  machine arm = found();
  EXPECT_EQ(arm.cpu_model, "Arm Neoverse-N1");
  EXPECT_EQ(arm.part, "41/d0c/3/1");
  EXPECT_FALSE(arm.amd);
  EXPECT_EQ(arm.l1d_bytes, 64 << 10);
  EXPECT_EQ(arm.l2_bytes, 1 << 20);
  EXPECT_GT(arm.l3_bytes, 0) << "not listed";
  // The register counts more: a process may run on a core of another kind.
  write("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000411fd401\n");
  arm = found();
  EXPECT_EQ(arm.cpu_model, "Arm Neoverse-V1");
  EXPECT_EQ(arm.part, "41/d40/1/1");
  write("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000c00fac30\n");
  EXPECT_EQ(found().cpu_model, "Arm CPU, implementer 0xc0, part 0xac3");
}

TEST_F(machine_of_files, without_files_it_has_no_name_but_caches) {
  const machine none = found();
  EXPECT_EQ(none.cpu_model, "");
  EXPECT_EQ(none.part, "");
  EXPECT_GT(none.l1d_bytes, 0);
  EXPECT_GT(none.l2_bytes, 0);
  EXPECT_GT(none.l3_bytes, 0);
  EXPECT_EQ(identity(none).find("unknown CPU (SSE4, "), 0U);
}

TEST_F(machine_of_files, a_size_that_is_none_is_ignored) {
  const machine none = found();
  for (const char* size : {"", "K", "-1K", "0K", "1024Q", "99999999999999999999K", "9999999999999G"}) {
    has_cache(0, "2", "Unified", size);
    EXPECT_EQ(found().l2_bytes, none.l2_bytes) << size;
  }
}

TEST(machine, two_that_differ_in_speed_have_two_identities) {
  const machine one{.cpu_model = "AMD EPYC",
                    .part = "25/17/1",
                    .amd = true,
                    .simd = simd_target::avx512_vbmi,
                    .l1d_bytes = 32 << 10,
                    .l2_bytes = 1 << 20,
                    .l3_bytes = 32 << 20,
                    .page_bytes = 4096};
  std::set<std::string> all = {identity(one)};
  machine other = one;
  other.part = "25/1/1";
  EXPECT_TRUE(all.insert(identity(other)).second);
  other = one;
  other.l2_bytes = 512 << 10;
  EXPECT_TRUE(all.insert(identity(other)).second);
  other = one;
  other.simd = simd_target::avx2;
  EXPECT_TRUE(all.insert(identity(other)).second);
}

}  // namespace
}  // namespace cornerturn::base
