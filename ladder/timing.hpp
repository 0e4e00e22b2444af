// Timings of the rungs, on a GPU or on the CPU, as a table and as a result file.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "facts.hpp"

namespace cornerturn::ladder {

struct timing {
  std::string rung;
  int word_bytes;
  matrix_shape shape;
  std::vector<double> milliseconds;  // one per repetition, sorted
  std::string note{};                // the copy that is the roof, or the plan's kernel; or empty

  [[nodiscard]] double median() const { return milliseconds[milliseconds.size() / 2]; }
  [[nodiscard]] double gigabytes_per_second() const { return at(milliseconds.size() / 2); }
  [[nodiscard]] double first_quartile() const { return at(milliseconds.size() - 1 - milliseconds.size() / 4); }
  [[nodiscard]] double third_quartile() const { return at(milliseconds.size() / 4); }

 private:
  [[nodiscard]] double at(std::size_t k) const {
    const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
    return 2 * elements * static_cast<double>(shape.batch) * word_bytes / milliseconds[k] / 1e6;
  }
};

struct timed_on {
  std::string device;  // name
  std::string arch;    // sm_90, AVX2
  int threads;         // CPU threads; 0: a GPU
  std::string method;
};

// Prints a table for each shape. Its first rung, 00_copy, is the roof: a full bar. `before` is the speedup over the rung
// above, which has to be a transpose.
void print_table(std::ostream& out, const std::vector<timing>& times);
void write_json(std::ostream& out, const timed_on& where, const std::vector<timing>& times);

}  // namespace cornerturn::ladder
