// The search for block sizes, limits and prefetch distances of a CPU: a part of `cornerturn calibrate`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::bench {

// In bytes.
struct element_sizes {
  std::int64_t least = 1, most = INT64_MAX;
};

// A number of the machine file.
struct searched_number {
  const char* name;
  // The beginnings of the names of the kernels that it is for. Empty: a limit, which decides between kernels or between ways to cut.
  std::vector<std::string_view> rows;
  std::vector<std::string_view> kinds;  // of random problems that run them
  std::vector<std::int64_t> values;
  element_sizes elements{};  // that use it
};
[[nodiscard]] const std::vector<searched_number>& searched_numbers();

// The times of one problem with each value of a number, in seconds. 0: it did not run.
using times_of_values = std::vector<double>;

// Returns the position of the value with the least time, or `present`: the position of the present value, if no other one is faster
//         beyond chance
[[nodiscard]] std::size_t fastest_value(const std::vector<times_of_values>& problems, std::size_t present);

struct search_options {
  int threads = 1;
  std::uint64_t seed = 1;
  double seconds = 60;
};

// Effect  tries the values of each number on random problems, one number after the other, and returns the text of `machine` with
//         the values that are faster. Later plans use it. Calls progress() after each problem
// Errors  as load_machine() and plan::execute()
[[nodiscard]] std::string search_numbers(const std::string& machine, const search_options& options,
                                         const std::function<void()>& progress);

}  // namespace cornerturn::bench
