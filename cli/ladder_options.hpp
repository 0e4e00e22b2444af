// The options of `cornerturn ladder`, read for its devices.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ladder/ladder.hpp"
#include "text.hpp"

namespace cornerturn::cli {

inline ladder::matrix_shape ladder_shape(const std::vector<std::int64_t>& shape) {
  const bool empty = std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; });
  if (empty || (shape.size() != 2 && shape.size() != 3)) {
    throw failure(fmt::format("{}: wanted a matrix, RxC, or a batch of matrices, BxRxC", shape_text(shape)),
                  exit_usage);
  }
  std::int64_t bytes = 8;  // of the longest elements
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > std::int64_t{1} << 60) {
      throw failure(fmt::format("{}: wanted a matrix of up to 2^60 bytes", shape_text(shape)), exit_usage);
    }
  }
  const std::size_t last = shape.size() - 1;
  return {shape[last - 1], shape[last], last == 2 ? shape[0] : 1};
}

inline const char* one_name(const ladder::facts& rung) { return rung.rung; }
inline const char* one_name(const ladder::cpu_rung& rung) { return rung.name; }

template <class Rungs>
failure no_such_rung(const std::string& name, const Rungs& rungs, int element_bytes) {
  std::string names;
  for (const auto& one : rungs) {
    if (one.word_bytes == element_bytes) names += (names.empty() ? "" : ", ") + std::string(one_name(one));
  }
  return failure(fmt::format("--rung is \"{}\", wanted one of {}", name, names), exit_usage);
}

}  // namespace cornerturn::cli
