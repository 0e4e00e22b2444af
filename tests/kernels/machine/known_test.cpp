#include "kernels/machine/known.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "kernels/kernel.hpp"

namespace cornerturn::kernels {
namespace {

std::string folder() {
  static const std::string made = ::testing::TempDir() + "known_test_" + std::to_string(getpid());
  static const int done = system(("mkdir -p " + made + "/cornerturn").c_str());
  EXPECT_EQ(done, 0);
  return made;
}

std::string written(const std::string& name, const std::string& text) {
  const std::string file = folder() + "/cornerturn/" + name;
  std::ofstream(file) << text;
  return file;
}

std::string named(const machine_file& one, const char* name) {
  machine_file made = one;
  made.name = name;
  return text_of(made);
}

base::machine cpu_named(const char* name) {
  for (const auto& one : known_machines()) {
    if (one->name == name) return one->on;
  }
  return {};
}

// No file of this user's counts in these tests.
class known : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CORNERTURN_MACHINE_FILE");
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    read_machines_again();
  }
  void TearDown() override { SetUp(); }
};

TEST_F(known, each_measured_machine_is_its_own_nearest) {
  for (const auto& one : known_machines()) {
    if (!one->has_constants) continue;
    EXPECT_EQ(one->is_gpu ? nearest(one->of_gpu.device).name : nearest(one->on).name, one->name);
  }
  EXPECT_TRUE(machine_faults().empty());
}

// The planner has no file of these CPUs.
TEST_F(known, cpus_take_a_machine_of_their_kind) {
  using base::simd_target;
  const auto name = [](bool amd, simd_target simd, std::int64_t l2_kib, std::int64_t l3_mib) {
    return nearest(base::machine{.cpu_model = "",
                                 .part = "1/2/3",
                                 .amd = amd,
                                 .simd = simd,
                                 .l1d_bytes = 32 << 10,
                                 .l2_bytes = l2_kib << 10,
                                 .l3_bytes = l3_mib << 20,
                                 .page_bytes = 4096})
        .name;
  };
  EXPECT_EQ(name(true, simd_target::avx2, 512, 16), "zen3") << "Zen 2";
  EXPECT_EQ(name(true, simd_target::avx512_vbmi, 1024, 512), "zen4") << "Zen 5";
  EXPECT_EQ(name(false, simd_target::avx512_vbmi, 2048, 300), "emerald_rapids") << "Emerald Rapids";
  EXPECT_EQ(name(false, simd_target::avx512_vbmi, 2048, 105), "sapphire_rapids") << "Sapphire Rapids";
  EXPECT_EQ(name(false, simd_target::avx512_vbmi, 1280, 48), "cascade_lake") << "Ice Lake";
  EXPECT_EQ(name(false, simd_target::avx512, 1024, 22), "cascade_lake") << "Skylake with AVX-512";
  EXPECT_EQ(name(false, simd_target::avx2, 256, 16), "generic") << "Skylake";
  EXPECT_EQ(name(false, simd_target::neon, 1024, 32), "generic") << "Graviton2";
  EXPECT_EQ(name(false, simd_target::avx2, 2048, 36), "sapphire_rapids") << "Raptor Lake";
}

// By their data sheets.
TEST_F(known, gpus_that_nobody_measured_are_scaled) {
  const auto device_of = [](const char* name) {
    for (const auto& one : known_machines()) {
      if (one->name == name) return one->of_gpu.device;
    }
    return gpu_traits{};
  };
  const gpu::device_costs h200 = gpu::costs_for(device_of("H200"));
  for (const char* name : {"A100", "RTX 4090", "B200"}) {
    SCOPED_TRACE(name);
    const gpu_traits device = device_of(name);
    ASSERT_GT(device.multiprocessors, 100);
    const gpu::device_costs& costs = gpu::costs_for(device);
    EXPECT_STREQ(costs.name, "H200");
    EXPECT_EQ(costs.cached_bytes > h200.cached_bytes, device.l2_bytes > h200.device.l2_bytes);
    EXPECT_EQ(costs.cached_bytes_per_us > h200.cached_bytes_per_us, device.multiprocessors > 132);
    EXPECT_EQ(&gpu::costs_for(device), &costs) << "searched once";
  }
  EXPECT_LT(distance(device_of("A100"), device_of("H200")), distance(device_of("RTX 4090"), device_of("H200")));
  EXPECT_LT(distance(device_of("B200"), device_of("H200")), distance(device_of("RTX 4090"), device_of("B200")));
}

TEST_F(known, a_file_of_this_machine_comes_before_others) {
  base::machine here = cpu_named("zen3");
  here.part = "1/2/3";
  const machine_file& built_in = nearest(here);
  machine_file own = built_in;
  own.name = "own", own.on = here, own.of_cpu.panel_bytes = 1024;
  const std::string file = written("machine-own.json", text_of(own));
  EXPECT_EQ(cpu::costs_of(here).name, built_in.name);
  add_machine(file);
  EXPECT_EQ(std::string(cpu::costs_of(here).name), "own");
  EXPECT_EQ(std::string(cpu::costs_of(here).origin), file);
  EXPECT_EQ(cpu::costs_of(here).panel_bytes, 1024);
  EXPECT_EQ(std::string(cpu::costs_of(cpu_named("zen4")).name), "zen4");
  const std::size_t before = known_machines().size();
  add_machine(file);
  EXPECT_EQ(known_machines().size(), before) << "the name is equal";

  setenv("XDG_CONFIG_HOME", folder().c_str(), 1);
  read_machines_again();
  EXPECT_EQ(nearest(here).name, "own");
  setenv("CORNERTURN_MACHINE_FILE", written("other.json", named(own, "named")).c_str(), 1);
  read_machines_again();
  EXPECT_EQ(nearest(here).name, "named");
}

TEST_F(known, a_bad_file_is_ignored_with_a_sentence) {
  const std::string file = written("bad.json", "{\"cornerturn-machine\": 1}");
  setenv("CORNERTURN_MACHINE_FILE", file.c_str(), 1);
  read_machines_again();
  ASSERT_EQ(machine_faults().size(), 1u);
  EXPECT_EQ(machine_faults()[0], "the machine file " + file + " is ignored: it has no \"name\"");
  setenv("CORNERTURN_MACHINE_FILE", "/nowhere/machine.json", 1);
  read_machines_again();
  ASSERT_EQ(machine_faults().size(), 1u);
  EXPECT_NE(machine_faults()[0].find("/nowhere/machine.json is ignored: it "), std::string::npos)
      << machine_faults()[0];
  EXPECT_THROW(add_machine(file), std::runtime_error);
}

}  // namespace
}  // namespace cornerturn::kernels
