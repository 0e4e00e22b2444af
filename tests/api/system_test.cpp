#include "cornerturn/system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/simd_name.hpp"
#include "base/machine.hpp"
#include "base/parallel.hpp"
#include "cornerturn/version.h"
#include "kernels/gpu/device.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn {
namespace {

TEST(system, library_and_headers_have_one_version) {
  EXPECT_STREQ(version(), CORNERTURN_VERSION_STRING);
  EXPECT_EQ(std::string(version()), std::to_string(CORNERTURN_VERSION_MAJOR) + "." +
                                        std::to_string(CORNERTURN_VERSION_MINOR) + "." +
                                        std::to_string(CORNERTURN_VERSION_PATCH));
}

TEST(system, backends_are_all_listed_and_absent_ones_say_why) {
  const std::vector<backend_info> all = backends();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, device::cpu);
  EXPECT_EQ(all[0].name, "cpu");
  EXPECT_TRUE(all[0].present);
  EXPECT_NE(all[0].detail.find(std::to_string(base::hardware_threads()) + " threads"), std::string::npos)
      << all[0].detail;
  EXPECT_EQ(all[1].id, device::cuda);
  EXPECT_EQ(all[2].id, device::hip);
  for (const backend_info& one : all) {
    const auto rows = kernel_list();
    const bool built =
        std::any_of(rows.begin(), rows.end(), [&](const kernel_info& row) { return row.backend == one.name; });
    const bool there = one.id != device::cuda || gpu::device_count() > 0;
    EXPECT_EQ(one.present, built && there) << one.name;
    EXPECT_NE(one.detail, "") << one.name;
    if (!built) {
      EXPECT_EQ(one.detail, "this build has no " + one.name + " kernels");
    } else if (!there) {
      EXPECT_EQ(one.detail, gpu::why_none());
    }
  }
}

TEST(system, kernel_list_is_the_rows_of_this_build) {
  std::vector<const kernels::kernel*> present;
  for (const kernels::kernel& row : kernels::all()) {
    if (kernels::is_present(row)) present.push_back(&row);
  }
  const std::vector<kernel_info> rows = kernel_list();
  ASSERT_EQ(rows.size(), present.size());
  std::set<std::string> names;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    EXPECT_EQ(rows[k].name, present[k]->name);
    EXPECT_EQ(rows[k].family, present[k]->family);
    EXPECT_EQ(rows[k].element_bytes, present[k]->element_bytes);
    EXPECT_NE(rows[k].note, "");
    names.insert(rows[k].name);
  }
  EXPECT_EQ(names.size(), rows.size());
  EXPECT_TRUE(names.contains("cpu_reference"));
}

TEST(system, cpu_is_this_machine) {
  const cpu_info here = cpu();
  ASSERT_FALSE(here.simd_targets.empty());
  EXPECT_EQ(here.simd, here.simd_targets.front());
  EXPECT_EQ(here.threads, base::hardware_threads());
  EXPECT_EQ(here.l2_bytes, kernels::this_machine().l2_bytes);
  EXPECT_EQ(here.page_bytes, kernels::this_machine().page_bytes);
  EXPECT_EQ(here.model, kernels::this_machine().cpu_model);
  EXPECT_EQ(here.part, kernels::this_machine().part);
}

TEST(system, a_forced_target_is_the_one_in_use) {
  const std::string_view last = kernels::simd_targets().back();
  ASSERT_TRUE(kernels::force_simd_target(last));
  EXPECT_EQ(cpu().simd, api::simd_name(last));
  ASSERT_TRUE(kernels::force_simd_target(""));
}

}  // namespace
}  // namespace cornerturn
