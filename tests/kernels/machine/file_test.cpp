#include "kernels/machine/file.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "kernels/kernel.hpp"
#include "kernels/machine/groups.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn::kernels {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string fault_of(const std::string& text) {
  try {
    static_cast<void>(read_machine_file(text, "a test"));
  } catch (const std::runtime_error& fault) {
    return fault.what();
  }
  return "";
}

const machine_file& known(const char* name) {
  for (const auto& one : known_machines()) {
    if (one->name == name) return *one;
  }
  throw std::logic_error(name);
}

TEST(machine_file, is_what_was_read) {
  for (const auto& one : known_machines()) {
    SCOPED_TRACE(one->name);
    const std::string text = text_of(*one);
    const auto again = read_machine_file(text, "a test");
    EXPECT_EQ(text_of(*again), text);
    EXPECT_EQ(again->is_gpu, one->is_gpu);
    EXPECT_EQ(again->has_constants, one->has_constants);
    EXPECT_EQ(again->origin, "a test");
    if (!one->has_constants) continue;
    EXPECT_EQ(again->is_gpu ? again->of_gpu.name : again->of_cpu.name, one->name);
    EXPECT_EQ(again->of_cpu.times.panels, one->of_cpu.times.panels);
    EXPECT_EQ(again->of_cpu.line_tiles, one->of_cpu.line_tiles);
    for (std::size_t k = 0; k < again->rows.size(); ++k) {
      EXPECT_EQ(again->rows[k].usual.dram, one->rows[k].usual.dram) << all()[k].name;
      EXPECT_EQ(again->rows[k].latency_us, one->rows[k].latency_us) << all()[k].name;
    }
  }
}

// A row without an own entry takes the one of its group.
TEST(machine_file, of_a_gpu_has_each_row_and_no_other) {
  const machine_file& h200 = known("H200");
  ASSERT_EQ(h200.rows.size(), all().size());
  for (const machine_file::table* table : {&h200.groups, &h200.cached_groups}) {
    for (const auto& [group, numbers] : *table) {
      bool is_used = false;
      for (const kernel& row : all()) is_used |= group == row.name || group == group_of(row.name);
      EXPECT_TRUE(is_used) << group;
    }
  }
  const auto row_of = [&](const char* name) { return h200.rows[static_cast<std::size_t>(find(name) - all().data())]; };
  EXPECT_EQ(row_of("gpu_deinterleave_b2_3").usual.issue, row_of("gpu_interleave_b2_4").usual.issue);
  EXPECT_NE(row_of("gpu_interleave_b2_4").usual.issue, row_of("gpu_interleave_b4_3").usual.issue);
}

TEST(machine_file, has_factors_of_rows) {
  const std::string text = replaced(text_of(known("generic")), "\n}\n", ",\n  \"factors\": {\"cpu_gather\": 2}\n}\n");
  const auto made = read_machine_file(text, "a test");
  const auto row = static_cast<std::size_t>(find("cpu_gather") - all().data());
  EXPECT_EQ(made->of_cpu.factors[row], 2);
  EXPECT_EQ(made->of_cpu.factors[0], 1);
  EXPECT_EQ(made->of_cpu.cached_factors, made->of_cpu.factors) << "the file has no others";
  EXPECT_EQ(known("generic").of_cpu.factors, nullptr);
  EXPECT_EQ(known("generic").of_cpu.cached_factors, nullptr);
}

TEST(machine_file, has_factors_of_problems_in_cache) {
  const std::string text =
      replaced(text_of(known("generic")), "\n}\n", ",\n  \"cached_factors\": {\"cpu_gather\": 0.01}\n}\n");
  const auto made = read_machine_file(text, "a test");
  const auto row = static_cast<std::size_t>(find("cpu_gather") - all().data());
  EXPECT_EQ(made->of_cpu.factors, nullptr);
  EXPECT_FLOAT_EQ(made->of_cpu.cached_factors[row], 0.1F) << "the least that is taken";
  EXPECT_EQ(made->of_cpu.cached_factors[0], 1);
  const auto again = read_machine_file(text_of(*made), "a test");
  EXPECT_EQ(again->cached_groups, made->cached_groups);
}

TEST(machine_file, is_refused_with_a_sentence) {
  const std::string cpu = text_of(known("zen4")), gpu = text_of(known("H200"));
  EXPECT_EQ(fault_of(cpu), "");
  EXPECT_EQ(fault_of("{}"), "has no \"cornerturn-machine\"");
  EXPECT_EQ(fault_of("[]"), "is no machine file");
  EXPECT_EQ(fault_of(replaced(cpu, "\"cornerturn-machine\": 1", "\"cornerturn-machine\": 2")),
            "has cornerturn-machine 2, wanted 1 to 1");
  EXPECT_EQ(fault_of(replaced(cpu, "\"piece_bytes\"", "\"other\"")), "has no \"piece_bytes\"");
  EXPECT_EQ(fault_of(replaced(cpu, "\"panel_bytes\": 4096", "\"panel_bytes\": 1")),
            "has panel_bytes 1, wanted 1024 to 16384");
  EXPECT_EQ(fault_of(replaced(cpu, "\"panel_bytes\": 4096", "\"panel_bytes\": \"4096\"")),
            "has a \"panel_bytes\" of the wrong type");
  EXPECT_EQ(fault_of(replaced(cpu, "AVX-512 VBMI", "MMX")),
            "has simd \"MMX\", wanted one of: NEON, SSE4, AVX2, AVX-512, AVX-512 VBMI");
  EXPECT_EQ(fault_of(replaced(gpu, "\"gather_bytes\": [32768, ", "\"gather_bytes\": [")), "has no 5 gather_bytes");
  EXPECT_EQ(fault_of(replaced(gpu, "\"rows\": {", "\"rows\": {\"gpu_x\": [1],")), "has 1 numbers for gpu_x, wanted 5");
  EXPECT_EQ(fault_of(replaced(gpu, "\"rows\": {", "\"rows\": {\"gpu_x\": [1, 2, 3, 4, -5],")),
            "has a constant of gpu_x that is no number from 0 to 1000");
}

}  // namespace
}  // namespace cornerturn::kernels
