// Runs a rung, or a student's own one, without a GPU: g++ compiles the file, and the emulator runs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ladder/facts.hpp"

namespace cornerturn::ladder {

// A compiler, a header or the emulator is absent.
struct no_emulator : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline constexpr const char* wanted_emulator =
    "Wanted: the command of a build of the source tree with g++, or of a package that has the ladder's sources";
// Returns whether emulate() can run: this build has the emulator, and the ladder's sources are beside the program
[[nodiscard]] bool has_emulator();

// The file does not compile. The message is the compiler's.
struct not_compiled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The requests of one kind at one line of the text.
struct counted_line {
  std::string where;  // 20_load_conflicts.cuh:32, move.cuh:94
  const char* what;   // global load, shared store ...
  bool is_shared;
  std::int64_t requests;
  std::int64_t lines;  // sectors; in shared memory wavefronts
  std::int64_t bytes;  // that the lanes use
  std::int64_t conflicts;
};

struct emulated_place {
  std::string what;   // block 0, thread 33 stores
  std::string where;  // its line of the text
};
struct emulated_fault {
  matrix_shape shape;
  std::string what;
  std::vector<emulated_place> places;
};

struct emulated_rung {
  std::string name;
  int tile_rows;
  int tile_cols;
  int threads;
  int shared_bytes;
  std::vector<matrix_shape> checked;   // shapes
  std::vector<emulated_fault> faults;  // none, or the first one; without it the lines are counted
  matrix_shape counted_shape;
  std::vector<counted_line> lines;
  std::vector<std::string> maps;  // the maps that the file defines: "place() of mine.cuh:15"
};

// The folder with the texts: share/cornerturn/text beside the folder of this program.
[[nodiscard]] std::filesystem::path text_folder();

// The file of a rung of the ladder, by its full name.
[[nodiscard]] std::filesystem::path file_of_rung(std::string_view rung);

// Effect  checks the rung on these shapes, and counts its requests on the last one. Without shapes it checks every kind of edge,
//         and counts on 256x256. `rung` is a name of the ladder; if it is empty, the last rung of the file is run
// Errors  no_emulator; not_compiled; invalid_argument: the file has no rung, or the rung does not accept a shape
[[nodiscard]] emulated_rung emulate(const std::filesystem::path& file, std::string_view rung, int word_bytes,
                                    const std::vector<matrix_shape>& shapes);

}  // namespace cornerturn::ladder
