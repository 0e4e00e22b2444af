// Compares the model with the code that clang generates for the rungs on AMD GPUs: wavefronts per SIMD, registers, and memory
// instructions. The HIP build keeps the assembler and the compiler's remarks.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "ladder/amd_registers.hpp"
#include "ladder/ladder.hpp"

namespace cornerturn::ladder {
namespace {

std::string file_of(const std::string& arch, const std::string& suffix) {
  return std::string(HIP_FOLDER) + "/launch.cu." + arch + ".s" + suffix;
}

// A part of the mangled name of the rung's kernel: 14load_conflictsILi4EEE, 11padded_tileILi4ELi16ELi64EEE.
std::string mark_of(const description& rung) {
  const std::string bytes = "ILi" + std::to_string(rung.word_bytes), name = rung.rung;
  std::smatch size;
  if (std::regex_search(name, size, std::regex("tile([0-9]+)_threads([0-9]+)"))) {
    return "11padded_tile" + bytes + "ELi" + size[1].str() + "ELi" + size[2].str() + "EEE";
  }
  if (name == "90_register_block") return "11tile_kernel" + bytes + "ELi";
  const std::string plain = name.substr(3);
  return std::to_string(plain.size()) + plain + bytes + "EEE";
}

std::vector<description> rungs_of(const model::architecture& machine) {
  std::vector<description> all;
  for (const auto table : {rungs(), tile_size_rungs()}) {
    for (const description& rung : table) {
      if (refusal(rung, machine, {1024, 1024}).empty()) all.push_back(rung);
    }
  }
  return all;
}

template <class Kernel>
const Kernel* find(const std::vector<Kernel>& kernels, const description& rung) {
  const std::string mark = mark_of(rung);
  const auto found =
      std::ranges::find_if(kernels, [&](const Kernel& one) { return one.name.find(mark) != std::string::npos; });
  return found == kernels.end() ? nullptr : &*found;
}

// ---- registers ----

struct remarks {
  std::string name;
  int vgprs = 0;
  int agprs = -1;  // GPUs without matrix cores have none
  int sgprs = 0;
  int wavefronts = 0;

  [[nodiscard]] int registers() const { return agprs < 0 ? vgprs : (vgprs + 3) / 4 * 4 + agprs; }
};

std::vector<remarks> read_remarks(const std::string& arch) {
  std::vector<remarks> found;
  std::ifstream file(file_of(arch, ".resources"));
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

constexpr const char* known[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100"};

TEST(hip_compiler, wavefronts_of_a_simd) {
  for (const char* arch : known) {
    const model::architecture& machine = *model::find_architecture(arch);
    const auto kernels = read_remarks(arch);
    EXPECT_GT(kernels.size(), 80u) << arch;
    for (const remarks& kernel : kernels) {
      const model::residency waves = model::residency_of(machine, {machine.rules.lanes, kernel.registers(), 0});
      // SGPRs, which the model does not count, leave 7 wavefronts of CDNA where a kernel uses more than 100.
      const int most = machine.rules.lanes == 64 && kernel.sgprs > 100 ? 7 : 99;
      EXPECT_EQ(std::min(waves.blocks / 4, most), kernel.wavefronts)
          << arch << ' ' << kernel.name << ": " << kernel.registers() << " VGPRs";
    }
  }
}

TEST(hip_compiler, registers_are_those_of_the_table_and_of_the_launch_bounds) {
  for (const char* arch : known) {
    const model::architecture& machine = *model::find_architecture(arch);
    const auto kernels = read_remarks(arch);
    for (const description& rung : rungs_of(machine)) {
      const remarks* const kernel = find(kernels, rung);
      ASSERT_NE(kernel, nullptr) << arch << ' ' << rung.rung;
      EXPECT_EQ(kernel->registers(), amd_registers(rung.rung, rung.word_bytes, arch))
          << arch << ' ' << rung.rung << ": tools/check_hip build/hip --registers ladder/amd_registers.inc";
      EXPECT_LE(kernel->registers(), model::registers_for(machine, rung.threads, rung.resident_blocks))
          << arch << ' ' << rung.rung;
    }
  }
}

// ---- instructions ----

using counts = std::map<std::pair<model::operation, int>, int>;  // by the bytes of a lane

struct body {
  std::string name;
  counts seen;
  int odd = 0;  // accesses of 12 bytes: a piece that was split
};

int bytes_of(const std::string& type) {  // dwordx4, b128, ushort, d16_hi_b8, ...
  constexpr std::pair<const char*, int> marks[] = {
      {"dwordx4", 16}, {"b128", 16}, {"dwordx3", 12}, {"b96", 12}, {"dwordx2", 8}, {"b64", 8}, {"dword", 4},
      {"b32", 4},      {"short", 2}, {"u16", 2},      {"b16", 2},  {"byte", 1},    {"u8", 1},  {"b8", 1}};
  for (const auto& [mark, bytes] : marks) {
    if (type.find(mark) != std::string::npos) return bytes;
  }
  ADD_FAILURE() << "an access of unknown width: " << type;
  return 0;
}

std::vector<body> read_code(const std::string& arch) {
  using enum model::operation;
  std::vector<body> found;
  std::ifstream file(file_of(arch, ""));
  const std::regex start(R"(^(_Z\w+):)"), access(R"(^\s+(global|ds)_(load|store|read|write)_(\w+)\s)");
  std::smatch match;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, match, start)) found.push_back({match[1], {}, 0}), inside = true;
    if (line.starts_with(".Lfunc_end")) inside = false;
    if (!inside || !std::regex_search(line, match, access)) continue;
    const bool loads = match[2] == "load" || match[2] == "read", global = match[1] == "global";
    const int lane_bytes = bytes_of(match[3]);
    if (lane_bytes == 12) ++found.back().odd;
    const model::operation of_global = loads ? global_load : global_store,
                           of_shared = loads ? shared_load : shared_store;
    ++found.back().seen[{global ? of_global : of_shared, lane_bytes}];
  }
  return found;
}

// A kernel has a path for whole pieces and a path for single elements. The compiler merges instructions that occur in
// both.
counts expected(const description& rung, const model::architecture& machine) {
  counts whole, single, both;
  for (const model::instruction& one : program_on(rung, machine, {1024, 1024}).instructions) {
    ++whole[{one.what, one.lane_bytes}];
  }
  const bool takes_odd = rung.takes({1021, 1021});
  if (takes_odd) {
    for (const model::instruction& one : program_on(rung, machine, {1021, 1021}).instructions) {
      ++single[{one.what, one.lane_bytes}];
    }
  }
  for (const counts* one : {&whole, &single}) {
    for (const auto& [key, count] : *one) both[key] = std::max(both[key], count);
  }
  const std::string name = rung.rung;
  const int paths = name == "75_in_place" ? 2 : 1;  // two tiles
  for (auto& [key, count] : both) count *= paths;
  if (name == "55_full_tile" || name == "60_diagonal" || name == "70_batched") {  // and a path without checks
    for (const auto& [key, count] : whole) both[key] += count;
  }
  return both;
}

TEST(hip_compiler, memory_instructions_are_those_that_the_model_counts) {
  for (const char* arch : known) {
    const model::architecture& machine = *model::find_architecture(arch);
    const auto kernels = read_code(arch);
    int compared = 0;
    for (const description& rung : rungs_of(machine)) {
      const std::string name = rung.rung;
      const body* const kernel = find(kernels, rung);
      ASSERT_NE(kernel, nullptr) << arch << ' ' << name;
      EXPECT_EQ(kernel->odd, 0) << arch << ' ' << name << ": pieces of 12 bytes";
      if (rung.is_copy || name == "90_register_block") continue;  // loops over single elements
      counts wanted = expected(rung, machine);
      if (name.find("_tile") != std::string::npos &&
          name != "55_full_tile") {  // `held` of its steps in one body of a loop
        const int elements = rung.tile_rows * rung.tile_cols / rung.threads;
        for (auto& [key, count] : wanted) count = count * std::min(elements, 16) / elements;
      }
      for (const auto& [key, count] : wanted) {
        ++compared;
        const auto seen = kernel->seen.find(key);
        const int there = seen == kernel->seen.end() ? 0 : seen->second;
        const auto [what, lane_bytes] = key;
        // clang 19 loads half of each 16-byte piece of 8-byte elements a second time.
        const bool twice = rung.word_bytes == 8 && lane_bytes == 8 && what == model::operation::global_load;
        EXPECT_GE(there, count) << arch << ' ' << name << " b" << rung.word_bytes << ": accesses of " << lane_bytes
                                << " bytes, operation " << static_cast<int>(what);
        if (!twice) {
          EXPECT_EQ(there, count) << arch << ' ' << name << " b" << rung.word_bytes << ": accesses of " << lane_bytes
                                  << " bytes, operation " << static_cast<int>(what);
        }
      }
    }
    EXPECT_GT(compared, 300) << arch;
  }
}

}  // namespace
}  // namespace cornerturn::ladder
