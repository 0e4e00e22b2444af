// What tune() found out: the fastest row for a problem on a device, kept in this process and in a file of the user's.
//
// The file is text, a line for each finding; lines that begin with # are the user's own:
//
//   cornerturn-tuning 1
//   cuda_box_b4 threads=0 seconds=1.25e-04 problem=4/700:1:1000/1000:700:1 align=16 limit=0 on=NVIDIA H200
//
// problem is the canonical form, words and extent:src stride:dst stride of each axis; limit the threads that were
// allowed, threads those that the winner takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "map/canonical.hpp"

namespace cornerturn::api {

// What a finding is about. Two problems with one canonical form move alike.
struct tuned_key {
  const map::canonical* form = nullptr;  // of words of up to 16 bytes
  int align = 0;                         // of the pointers, on a GPU; 0 on the CPU
  int limit = 0;                         // threads allowed on the CPU; 0 on a GPU
  std::string_view machine;              // the name of the CPU or of the GPU
};

struct tuned_row {
  const char* kernel = nullptr;  // of kernels.inc; null: nothing is known
  int threads = 0;
  double seconds = 0;
};

// Effect  what is known about the key. The first call in a process reads the file that CORNERTURN_TUNE_FILE names, if
//         it is there; lines that it does not understand are passed over. Costs nothing while nothing is known
[[nodiscard]] tuned_row find_tuned(const tuned_key& key);

// Effect  known in this process from now on; counts one generation
void remember_tuned(const tuned_key& key, const tuned_row& row);

// Effect  adds the finding to the file, or takes the place of the one with the same key there; all else stays
// Errors  invalid_argument: the file cannot be read, is of another kind, or cannot be written
void write_tuned(const std::string& file, const tuned_key& key, const tuned_row& row);

// Effect  all findings of the file are known in this process from now on
// Returns how many there were
// Errors  invalid_argument: the sentence names the file and the line. Nothing is taken from such a file
int read_tuned(const std::string& file);

void forget_tuned();

// The file of CORNERTURN_TUNE_FILE; "" when it is not set.
[[nodiscard]] std::string tune_file_of_environment();

// Another number each time something became known or was forgotten: plans made before may be slower.
[[nodiscard]] std::uint64_t tuned_generation() noexcept;

}  // namespace cornerturn::api
