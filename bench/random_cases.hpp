// The random set: shapes, axes, element sizes, leading dimensions and base addresses that nobody chose by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/case.hpp"

namespace cornerturn::bench {

struct random_options {
  std::uint64_t seed = 1;
  int count = 100;
  int index = -1;                  // only this case of each kind; -1: all
  std::vector<std::string> kinds;  // empty: all of them
  std::int64_t least_bytes = 0;    // of one side; 0 for both: the range of the machine
  std::int64_t most_bytes = 0;
};

// Effect  matrix skinny rank copy in_place batch odd
[[nodiscard]] const std::vector<std::string>& random_kinds();

// Effect  case `index` of a kind: a function of its arguments alone, on every machine and with every standard library.
//         Its set is "random_" + kind. One side has least_bytes to most_bytes
// Errors  std::invalid_argument: an unknown kind; a range below 4096 bytes, or whose end is less than twice its begin
[[nodiscard]] bench_case random_case(std::uint64_t seed, const std::string& kind, int index, std::int64_t least_bytes,
                                     std::int64_t most_bytes);

// Effect  `count` cases, the kinds in rotation, then sorted by kind. The range of sizes is that of the machine, 16 to
//         256 MiB on a CPU and 64 MiB to 1 GiB on a GPU, where the options have none
// Errors  as random_case
[[nodiscard]] std::vector<bench_case> random_cases(const random_options& options, machine on);

// Effect  a number of bytes with an optional K, M or G (powers of 1024), twice: "16M:256M"
// Errors  std::invalid_argument: it is not like that
void parse_size_range(const std::string& text, random_options& into);

// Rows of at least so many bytes may get padding: shorter ones with gaps would keep any kernel far below the roof.
inline constexpr std::int64_t least_padded_bytes = 1024;

}  // namespace cornerturn::bench
