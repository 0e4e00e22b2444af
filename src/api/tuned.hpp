// Findings of tune(): the fastest row for a problem on a device, stored in this process and in a user's file.
//
// The file is text with a line for each finding. Lines that begin with # are comments:
//
//   cornerturn-tuning 1
//   gpu_box_b4 threads=0 seconds=1.25e-04 problem=4/700:1:1000/1000:700:1 align=16 limit=0 on=NVIDIA H200
//
// problem: the canonical form, as word bytes and extent:src stride:dst stride of each axis.
// limit: the thread limit of the call. threads: the threads that the winner uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/machine.hpp"
#include "map/canonical.hpp"

namespace cornerturn::api {

// The key of a finding. Two problems with one canonical form share their findings.
struct tuned_key {
  const map::canonical* form = nullptr;  // of words of up to 16 bytes
  int align = 0;                         // alignment of the pointers on a GPU; 0 on the CPU
  int limit = 0;                         // threads allowed on the CPU; 0 on a GPU
  std::string_view machine;              // the name of a GPU
  const base::machine* cpu = nullptr;    // replaces the name: a vendor's virtual CPUs have one name
};

struct tuned_row {
  const char* kernel = nullptr;  // row of kernels.inc; null: no finding
  int threads = 0;
  double seconds = 0;
};

// Effect  returns the finding of the key. The first call in a process reads the file of CORNERTURN_TUNE_FILE, if it
//         exists, and skips malformed lines. Without findings the call takes no lock
[[nodiscard]] tuned_row find_tuned(const tuned_key& key);

// Effect  stores the finding in this process; starts a new generation
void remember_tuned(const tuned_key& key, const tuned_row& row);

// Errors  invalid_argument: the file cannot be written, or is no tuning file
void check_tuned_file(const std::string& file);

// Effect  adds the finding to the file and removes an older finding with an equal key; all other lines stay
// Errors  invalid_argument: the file cannot be read or written, or is no tuning file
void write_tuned(const std::string& file, const tuned_key& key, const tuned_row& row);

// Effect  stores all findings of the file in this process
// Returns the number of findings
// Errors  invalid_argument: the sentence names the file and the line. No finding of such a file is stored
int read_tuned(const std::string& file);

void forget_tuned();

// Effect  starts a new generation: the predictions of the planner have changed
void new_generation() noexcept;

// Returns the file of CORNERTURN_TUNE_FILE; "" if it is not set.
[[nodiscard]] std::string tune_file_of_environment();

// Returns a counter of changes to the findings. Plans of an older generation may be slower.
[[nodiscard]] std::uint64_t tuned_generation() noexcept;

}  // namespace cornerturn::api
