#include "base/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cornerturn::base {
namespace {

TEST(machine, is_read_once) { EXPECT_EQ(&this_machine(), &this_machine()); }

TEST(machine, has_caches_that_grow) {
  const machine& here = this_machine();
  EXPECT_EQ(here.page_bytes, sysconf(_SC_PAGESIZE));
  EXPECT_GE(here.l1d_bytes, 8 << 10);
  EXPECT_LE(here.l1d_bytes, 1 << 20);
  EXPECT_GE(here.l2_bytes, here.l1d_bytes);
  EXPECT_GT(here.l3_bytes, 0);
}

TEST(machine, amd_is_told_from_the_vendor) {
  const machine& here = this_machine();
  const bool says_amd = here.cpu_model.find("AMD") != std::string::npos;
  const bool says_intel = here.cpu_model.find("Intel") != std::string::npos;
  EXPECT_FALSE(says_amd && !here.amd) << here.cpu_model;
  EXPECT_FALSE(says_intel && here.amd) << here.cpu_model;
  EXPECT_EQ(here.cpu_model.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::base
