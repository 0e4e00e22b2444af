// What the ladder's program does with the rungs on a GPU.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "launch.hpp"

namespace cornerturn::ladder {

// Empty where the rungs can run, else why not. The other functions want it empty.
[[nodiscard]] std::string absence();

// Every rung, every size of element, every shape of the list: guard bytes round a poisoned dst, unique patterns.
// Returns the number of failures, each of which it has written to `out`.
int check_rungs(std::ostream& out);

struct timing {
  std::string rung;
  int word_bytes;
  matrix_shape shape;
  std::vector<double> milliseconds;  // of each repetition, sorted

  [[nodiscard]] double median() const { return milliseconds[milliseconds.size() / 2]; }
  [[nodiscard]] double gigabytes_per_second() const {
    const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
    return 2 * elements * static_cast<double>(shape.batch) * word_bytes / median() / 1e6;
  }
};

// Every rung on `shape`, copy first. L2 is cold: the buffers rotate through more bytes than it holds.
std::vector<timing> time_rungs(const matrix_shape& shape, int word_bytes, int repetitions);

void print_table(std::ostream& out, const std::vector<timing>& times);
void write_json(std::ostream& out, const std::vector<timing>& times);

// For a profiler: each rung on each shape, one launch each, and nothing else. The order is that of the lines on `out`:
// rung, element bytes, shape.
void launch_for_profiler(std::ostream& out, const std::vector<const launcher*>& rungs,
                         const std::vector<matrix_shape>& shapes);

}  // namespace cornerturn::ladder
