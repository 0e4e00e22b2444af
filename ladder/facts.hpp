// The requirements of a rung, as a table entry: shapes, elements, GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/checked.hpp"

namespace cornerturn::ladder {

struct matrix_shape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t batch = 1;

  friend bool operator==(const matrix_shape&, const matrix_shape&) = default;
};

inline constexpr std::string_view roof_rung = "00_copy", control_rung = "02_shared_copy";

struct facts {
  const char* rung;
  int word_bytes;
  bool is_copy;  // dst = src
  bool is_batched;
  bool is_in_place;
  int src_row_multiple;  // bytes of a row of src must be a multiple of this
  int dst_row_multiple;
  int least_compute;  // 90: sm_90 and later; 0: any

  // Returns the reason if the rung does not accept this shape, else an empty string.
  [[nodiscard]] std::string refusal(const matrix_shape& shape) const {
    if (!is_batched && shape.batch != 1) return "accepts one matrix only";
    if (is_in_place && shape.rows != shape.cols) return "transposes in place, so rows and columns must be equal";
    const auto odd = [](std::int64_t bytes, int multiple, const char* what) {
      return std::string("needs ") + what + " of a multiple of " + std::to_string(multiple) + " bytes, not " +
             std::to_string(bytes);
    };
    std::int64_t src = 0, dst = 0;
    if (!base::checked_mul(shape.cols, word_bytes, src) || !base::checked_mul(shape.rows, word_bytes, dst)) {
      return "needs rows and columns of fewer than 2^63 bytes";
    }
    if (src % src_row_multiple != 0) return odd(src, src_row_multiple, "rows of src");
    if (dst % dst_row_multiple != 0) return odd(dst, dst_row_multiple, "rows of dst");
    return {};
  }
  [[nodiscard]] bool takes(const matrix_shape& shape) const { return refusal(shape).empty(); }
};

template <class Rung>
constexpr facts facts_of(const char* name) {
  return {name,
          Rung::word_bytes,
          Rung::is_copy,
          Rung::is_batched,
          Rung::is_in_place,
          Rung::src_row_multiple,
          Rung::dst_row_multiple,
          Rung::least_compute};
}

// The number of a rung is enough, and so is the rest: "30" and "padded" mean "30_padded". An empty text means every rung.
[[nodiscard]] inline bool is_named(std::string_view rung, std::string_view text) {
  const std::size_t number = rung.find('_');
  return text.empty() || rung == text || rung.substr(number + 1) == text || rung.substr(0, number) == text;
}

[[nodiscard]] std::string text_of(const matrix_shape& shape);  // 1000x50, 16x1024x1024

}  // namespace cornerturn::ladder
