// The output of `cornerturn explain KERNEL`: computed once, drawn as text, as SVG or as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "ladder/ladder.hpp"

namespace cornerturn::cli {

// The bank of each element of a tile, and the elements that one phase of a warp accesses together.
struct bank_map {
  std::string title;
  int rows = 0;
  int cols = 0;
  std::vector<int> bank;     // row by row
  std::vector<bool> marked;  // by the worst phase of warp 0

  [[nodiscard]] std::size_t at(int row, int col) const { return static_cast<std::size_t>(row) * cols + col; }
};

// The sectors or cache lines that the first request of warp 0 touches: a bit for each 4 bytes.
struct sector_strip {
  std::string title;  // "load", "store"
  std::vector<std::uint32_t> lines;
  double useful = 0;  // of this request
};

// A vendor's words for one thing.
struct vocabulary {
  const char* warp;
  const char* block;
  const char* multiprocessor;
  const char* shared_memory;
  const char* line;
  const char* lines;
  const char* registers;
};
[[nodiscard]] const vocabulary& words_of(const model::architecture& machine);
// Empty, or a note: the counts were never compared with a profiler's.
[[nodiscard]] std::string reservation(const model::architecture& machine);

struct kernel_picture {
  std::string name;  // the kernel that the user asked for
  const ladder::description* rung = nullptr;
  const model::architecture* machine = nullptr;
  ladder::matrix_shape shape{};
  model::traffic counts;
  model::residency resident;
  double floor_seconds = 0;
  double in_flight = 0;        // bytes, of the whole GPU
  std::vector<bank_map> maps;  // before and after, or the one that there is, or none
  std::string marked;          // the elements "that 32 lanes access together in a shared load"
  std::vector<sector_strip> strips;
  std::vector<std::string> verdict;  // sentences
};

// An empty name means the rung's own.
[[nodiscard]] kernel_picture picture_of(const ladder::description& rung, const model::architecture& machine,
                                        const ladder::matrix_shape& shape, std::string name = {});

[[nodiscard]] std::string text_of(const kernel_picture& picture, bool colours);
[[nodiscard]] std::string svg_of(const kernel_picture& picture);
// One line for each rung that takes the shape.
[[nodiscard]] std::string comparison_of(const model::architecture& machine, const ladder::matrix_shape& shape,
                                        int word_bytes);

// True if the engine has a GPU row of that name. row_text: the output of `cornerturn explain ROW`.
[[nodiscard]] bool is_row(const std::string& name);
[[nodiscard]] std::string row_text(const explain_options& options, const model::architecture& machine);

// True if this build has a row of that name that runs on the CPU. cpu_row_text: the output of `cornerturn explain ROW`.
[[nodiscard]] bool is_cpu_row(const std::string& name);
[[nodiscard]] std::string cpu_row_text(const explain_options& options);

void add_global(std::string& out, const char* name, const model::global_count& count);
void add_shared(std::string& out, const char* name, const model::shared_count& count);
// A line is a sector on NVIDIA, a cache line on AMD.
[[nodiscard]] nlohmann::ordered_json json_of(const model::global_count& count, bool amd);
[[nodiscard]] nlohmann::ordered_json json_of(const model::shared_count& count);

}  // namespace cornerturn::cli
