// The model's occupancy on AMD GPUs against the compiler's: clang states, for each kernel, its VGPRs and the wavefronts of a
// SIMD that they leave room for. The launch bounds must have the effect that the model assumes, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "ladder/ladder.hpp"

namespace cornerturn::ladder {
namespace {

struct remarks {
  std::string name;
  int vgprs = 0;
  int agprs = -1;  // GPUs without matrix cores have none
  int sgprs = 0;
  int wavefronts = 0;
};

std::vector<remarks> read(const std::string& path) {
  std::vector<remarks> found;
  std::ifstream file(path);
  const std::regex value(R"(remark:\s+([A-Za-z ]+?)(?: \[[^\]]*\])?: (\w+))");
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_search(line, match, value)) continue;
    const std::string key = match[1], text = match[2];
    if (key == "Function Name") found.push_back({text});
    if (found.empty() || text.empty() || text[0] < '0' || text[0] > '9') continue;
    if (key == "VGPRs") found.back().vgprs = std::stoi(text);
    if (key == "AGPRs") found.back().agprs = std::stoi(text);
    if (key == "SGPRs") found.back().sgprs = std::stoi(text);
    if (key == "Occupancy") found.back().wavefronts = std::stoi(text);
  }
  return found;
}

void expect_model_agrees(const std::string& file, const char* arch, bool has_agprs) {
  const model::architecture& machine = *model::find_architecture(arch);
  int compared = 0;
  for (const remarks& kernel : read(std::string(HIP_FOLDER) + "/" + file)) {
    if ((kernel.agprs >= 0) != has_agprs) continue;  // of another GPU in the same file
    const int registers = has_agprs ? (kernel.vgprs + 3) / 4 * 4 + kernel.agprs : kernel.vgprs;
    const model::residency waves = model::residency_of(machine, {machine.rules.lanes, registers, 0});
    EXPECT_EQ(waves.blocks / 4, kernel.wavefronts) << arch << ' ' << kernel.name << ": " << registers << " VGPRs";
    ++compared;
  }
  EXPECT_GT(compared, 80) << file;
}

TEST(hip_compiler, wavefronts_of_a_simd) {
  expect_model_agrees("launch.cu.o.resources", "gfx90a", true);
  expect_model_agrees("launch.cu.gfx942.s.resources", "gfx942", true);
  expect_model_agrees("launch.cu.gfx1100.s.resources", "gfx1100", false);
}

// 20_load_conflicts of 4 bytes is rung_kernel<load_conflicts<4>>, and has 14load_conflictsILi4EEE in its name.
TEST(hip_compiler, launch_bounds_leave_the_registers_that_the_model_assumes) {
  for (const char* arch : {"gfx90a", "gfx942", "gfx1100"}) {
    const model::architecture& machine = *model::find_architecture(arch);
    const std::string name = arch;
    const auto kernels =
        read(std::string(HIP_FOLDER) + "/launch.cu." + (name == "gfx90a" ? "o.resources" : name + ".s.resources"));
    int compared = 0;
    for (const description& rung : rungs()) {
      const std::string plain = std::string(rung.rung).substr(3);
      const std::string type = std::to_string(plain.size()) + plain + "ILi" + std::to_string(rung.word_bytes) + "EEE";
      for (const remarks& kernel : kernels) {
        const bool other_gpu = name == "gfx90a" && kernel.agprs < 0;
        if (other_gpu || kernel.name.find(type) == std::string::npos) continue;
        EXPECT_LE(kernel.vgprs + std::max(kernel.agprs, 0), registers_of(rung, machine)) << arch << ' ' << rung.rung;
        ++compared;
      }
    }
    EXPECT_GT(compared, 60) << arch;
  }
}

}  // namespace
}  // namespace cornerturn::ladder
