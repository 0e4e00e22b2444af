// The speed of the disk below a folder: measured by `cornerturn roof --disk`, and remembered for the predictions of --dry-run.
#pragma once

#include <optional>
#include <string>

#include "cornerturn/file.hpp"

namespace cornerturn::cli {

struct disk_measurement {
  disk_speed speed;
  double copy_bytes_per_second = 0;  // read and written
  double copy_seconds = 0;           // of a copy of the size, in long runs, until it is on the disk
  double transpose_seconds = 0;      // of a float32 matrix of the size, in short runs
  std::int64_t run_bytes = 0;        // of these runs
};

// Effect  copies and transposes scratch files of `bytes` bytes in the folder. They have no names, and their pages leave the page
//         cache before they are read
// Errors  failure: the folder does not take the files
[[nodiscard]] disk_measurement measure_disk(const std::string& folder, std::int64_t bytes, int threads);

// Effect  remembers the speed of the folder's file system, in the cache folder of the user
// Returns the file that has it; "" if the user has no such folder
std::string remember_disk(const std::string& folder, const disk_speed& speed);

// Returns the remembered speed of the file system that holds the folder of a file
[[nodiscard]] std::optional<disk_speed> remembered_disk(const std::string& file);

}  // namespace cornerturn::cli
