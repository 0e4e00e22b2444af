// A machine file: the attributes of a CPU or a GPU and, if somebody measured it, the constants of its cost model. Members that
// this reader does not know, such as "notes", are ignored.
//
//   {"cornerturn-machine": 1, "device": "cpu", "name": "zen4", "what": "AMD EPYC of the 4th generation", "date": "2026-11-25",
//    "attributes": {"vendor": "amd", "simd": "AVX-512 VBMI", "l2_bytes": 1048576, ...},
//    "numbers": {"piece_bytes": 256, ...},   kernels/cpu/costs.hpp says what each is; without "numbers" the planner takes
//    "times": {"copy_runs": 1, ...},         the constants of the nearest machine
//    "factors": {"cpu_stream_lines_b4": 1.07},   of a row: its predicted time is multiplied
//    "cached_factors": {"cpu_gather": 0.9}}      where dst fits the cache; without them, `factors` hold there too
//
// The file of a GPU has the constants of each group of rows in "rows" (copy, dram, requests, shared, issue:
// gpu/policy/costs.hpp). In "cached_rows" it has the constants of problems that stay in L2, after a latency in microseconds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/gpu/policy/costs.hpp"

namespace cornerturn::kernels {

struct machine_file {
  std::string name;    // explain() prints it
  std::string what;    // "AMD EPYC of the 4th generation"
  std::string date;    // of the measurement
  std::string origin;  // "built in", or the path of a file
  bool is_gpu = false;
  bool has_constants = false;

  base::machine on{};                          // the attributes of a CPU
  cpu::cpu_costs of_cpu{};                     // its factors are in these two:
  std::vector<float> factors, cached_factors;  // one for each row of kernels::all(); empty: all are 1

  gpu::device_costs of_gpu{};            // with the attributes of a GPU
  std::vector<gpu::row_constants> rows;  // one for each row of kernels::all()

  // {"gpu_tile_b4": {0.9, ...}}, as in the file: text_of() writes them.
  using table = std::vector<std::pair<std::string, std::vector<float>>>;
  table groups, cached_groups;  // of a GPU, or the factors of a CPU
};

// Effect  reads the text of a machine file, and checks that the kernels can serve each number
// Errors  std::runtime_error: a sentence without the name of the file
// Returns a shared object whose of_cpu and of_gpu point to its own names, factors and rows
[[nodiscard]] std::shared_ptr<const machine_file> read_machine_file(std::string_view text, std::string_view origin);

// Effect  returns the text of a machine file
[[nodiscard]] std::string text_of(const machine_file& one);

}  // namespace cornerturn::kernels
