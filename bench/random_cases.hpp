// The random set: shapes, axes, element sizes, leading dimensions and base addresses come from a random generator.
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
  std::int64_t least_bytes = 0;    // bytes of src, or of dst; if both limits are 0, the default range of the machine
  std::int64_t most_bytes = 0;
};

// Effect  returns matrix, skinny, rank, copy, batch, in_place and odd: the kinds of a list without --kinds. There are two more: view,
//         and record: elements of any size from 5 to 128 bytes that no other kind has
[[nodiscard]] const std::vector<std::string>& random_kinds();

// Effect  returns case `index` of a kind. The case depends only on the arguments: it is equal on every machine and with every
//         standard library. Its set is "random_" + kind. src and dst have least_bytes to most_bytes each
// Errors  std::invalid_argument: an unknown kind; least_bytes below 64; most_bytes less than twice least_bytes
[[nodiscard]] bench_case random_case(std::uint64_t seed, const std::string& kind, int index, std::int64_t least_bytes,
                                     std::int64_t most_bytes);

// Effect  returns `count` cases, an equal number of each kind, sorted by kind. If the options have no range of sizes, it is 16
//         to 256 MiB on a CPU and 64 MiB to 1 GiB on a GPU. `in_cache`: 64 bytes to 1 MiB and 16 KiB to 32 MiB
// Errors  as random_case
[[nodiscard]] std::vector<bench_case> random_cases(const random_options& options, machine on, bool in_cache = false);

// Only rows of at least this many bytes may get padding: short rows with gaps keep any kernel far below the roof.
inline constexpr std::int64_t least_padded_bytes = 1024;

}  // namespace cornerturn::bench
