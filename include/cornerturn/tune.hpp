// Finds the fastest kernel for one problem on this machine by measurement, and stores it for later plans.
#pragma once

#include <string>
#include <vector>

#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

struct tune_options {
  // automatic: the memory of src and dst selects it
  cornerturn::device device = cornerturn::device::automatic;
  int threads = 0;       // CPU: plans must ask for this number to use the result
  double seconds = 0.5;  // approximate time of the measurement, 0 to 1e9
  std::string file{};    // receives the winner; "": the file of CORNERTURN_TUNE_FILE, or none
};

struct tune_trial {
  const char* kernel = "";  // its name, as in kernel_list(); never freed
  int threads = 0;          // CPU: threads that it used
  double seconds = 0;       // median
  int runs = 0;
};

struct tune_result {
  std::vector<tune_trial>
      trials;               // of rows less than 3 times as slow as the fastest; fastest first: later plans use it
  const char* listed = "";  // the kernel whose offer is the cheapest
  std::string machine;      // the CPU or the GPU
  std::string file;         // the file that was written; "": none
};

// Effect  times every row that accepts the problem. Later plans for this problem, device and thread count use the
//         fastest row. dst holds the result afterwards
// Alias   as plan::execute
// Stream  the measured work is ordered in the stream; the call synchronizes with it, so it must not be under capture
// Errors  as plan::plan and plan::execute; invalid_argument: in_place or math is set; the file is no tuning file or cannot be
//         written, which is tried before the measurement
// Cost    two executions by each row, and two more by rows that take 3 times as long as the fastest; if each of them does, the row
//         is not among the trials. Then options.seconds of executions by the others, at least 3 each
tune_result tune(const problem& what, const void* src, void* dst, const tune_options& options = {},
                 void* stream = nullptr);

// Effect  later plans use the rows that the file names. If the file named by CORNERTURN_TUNE_FILE exists, a process
//         reads it before its first plan, without its malformed lines
// Returns the number of findings in the file for rows of this build
// Errors  invalid_argument: the file cannot be read or has a malformed line; then all findings of the file are ignored
int load_tuning(const std::string& file);

// Effect  later plans use the rows whose offers are the cheapest
void forget_tuning();

}  // namespace cornerturn
#pragma GCC visibility pop
