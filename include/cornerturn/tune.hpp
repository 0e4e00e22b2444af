// Measures which kernel is fastest for one problem on this machine, and remembers it.
#pragma once

#include <string>
#include <vector>

#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

#pragma GCC visibility push(default)
namespace cornerturn {

struct tune_options {
  device on = device::automatic;  // where src and dst live decides
  int threads = 0;                // CPU: what the plans that are to profit will ask for
  double seconds = 0.5;           // to spend on measuring, about
  std::string file;               // where the winner is written; "": the file of CORNERTURN_TUNE_FILE, or none
};

struct tune_trial {
  const char* kernel = "";  // the row of kernels.inc; never freed
  int threads = 0;          // CPU: that it took
  double seconds = 0;       // median
  int runs = 0;
};

struct tune_result {
  std::vector<tune_trial> trials;  // fastest first; trials[0] is what later plans take
  const char* listed = "";         // what the decision list takes
  std::string machine;             // the CPU or the GPU
  std::string file;                // that was written; "": none
};

// Effect  moves the problem with each row that can, times them, and lets every later plan for this problem, this device
//         and these threads take the fastest. dst holds the result afterwards
// Alias   as plan::execute
// Stream  the measured work is ordered in it; the call waits for it, so it must not be under capture
// Errors  those of plan::plan and plan::execute; invalid_argument: the file is no tuning file or cannot be written
//         (what was measured is remembered in this process all the same)
// Cost    options.seconds, and one move by each row that can
tune_result tune(const problem& what, const void* src, void* dst, const tune_options& options = {},
                 void* stream = nullptr);

// Effect  plans made from now on take what the file says. A process reads the file that CORNERTURN_TUNE_FILE names by
//         itself, before its first plan, if it is there
// Returns how many findings it holds for rows that this build has
// Errors  invalid_argument: the file cannot be read or has a line that is none; nothing is taken from it then
int load_tuning(const std::string& file);

// Effect  plans made from now on take what the decision list says
void forget_tuning();

}  // namespace cornerturn
#pragma GCC visibility pop
