// Transposes or copies an array from a mapped file into an output file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "cornerturn/problem.hpp"
#include "output_file.hpp"

namespace cornerturn::cli {

struct move_report {
  std::string kernel;  // the row of kernels.inc that transposed the boxes
  int threads = 0;     // threads used
  std::int64_t boxes = 0;
};

// Called on the calling thread with the bytes written so far, about ten times a second.
using progress_call = std::function<void(std::int64_t)>;

// Effect  executes `what` (see file_problem) and writes the result to `out` from byte dst_offset on
// Errors  failure of out.write_at; error of the library. All threads have ended before the exception.
move_report move_to_file(const problem& what, const std::byte* src, const output_file& out, std::int64_t dst_offset,
                         int threads, const progress_call& progress);

// Effect  writes `bytes` unchanged
void copy_to_file(const std::byte* src, std::int64_t bytes, const output_file& out, std::int64_t dst_offset,
                  const progress_call& progress);

}  // namespace cornerturn::cli
