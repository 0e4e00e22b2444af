// The words of `cornerturn transpose`: its plan before the work, and its summary.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "cornerturn/file.hpp"
#include "npy.hpp"
#include "transfer.hpp"

namespace cornerturn::cli {

struct outcome {
  npy_header in;
  npy_header out;
  std::vector<int> axes;
  file_report moved;
  bool in_memory = false;           // the input is mapped and fits
  double seconds = 0;               // from opening the input to the last byte written
  std::int64_t verified_bytes = 0;  // about
  double verify_seconds = 0;
  double sync_seconds = 0;
};

// How the array is transposed.
struct transfer_plan {
  memory_limit memory;
  stored_array what;
  file_options how;
  file_plan boxes;
  bool is_measured = false;  // the speed of the disk is known
};

void print_plan(const transpose_options& options, const outcome& result, const transfer_plan& plan);
void print_summary(const transpose_options& options, const outcome& result, bool to_stdout);

}  // namespace cornerturn::cli
