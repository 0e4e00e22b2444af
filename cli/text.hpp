// Text of the command line: exit codes, the exception type, and conversions of lists, shapes and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/printable.hpp"

namespace cornerturn::cli {

enum exit_code : int { exit_ok = 0, exit_failure = 1, exit_usage = 2, exit_no_device = 3 };

// A sentence for stderr and its exit code. Names of files and bytes of files in it are escaped here.
class failure : public std::runtime_error {
 public:
  explicit failure(const std::string& sentence, exit_code code = exit_failure)
      : std::runtime_error(base::printable(sentence)), code_(code) {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

// Effect  "2,0,1" -> {2, 0, 1}; "" -> {}; nothing if the text is not a comma-separated list of integers
[[nodiscard]] std::optional<std::vector<int>> parse_axes(std::string_view text);

// Effect  "64x56x56x256" -> {64, 56, 56, 256}; nothing if the text is not integers >= 0 separated by x
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text);

// Effect  "4096X2048", "4096,2048", "4096*2048", "(4096, 2048)" -> {4096, 2048}; nothing if no shape is meant
[[nodiscard]] std::optional<std::vector<std::int64_t>> meant_shape(std::string_view text);

// Effect  "4096" -> 4096, "64K", "64KiB" -> 65536, "1.5G" -> 3 << 29; powers of 1024: K, M, G, T, also KiB, MiB and so on.
//         Powers of 1000: KB, MB, GB, TB. Case does not matter. Nothing if the text is no size or has 2^62 bytes or more
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);

// Effect  resolves axes as numpy.transpose does: no axes means reversed order, negative axes count from the end
// Errors  failure: wrong count, out of range, repeated; the sentence starts with `what`
[[nodiscard]] std::vector<int> resolve_axes(const std::optional<std::vector<int>>& axes, int rank,
                                            const std::string& what, exit_code code = exit_failure);

[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);   // "64x56x56x256", "scalar"
[[nodiscard]] std::string tuple_text(std::span<const std::int64_t> values);  // "(64, 56)", "(3,)", "()"
[[nodiscard]] std::string axes_text(std::span<const int> axes);              // "2,0,1"
[[nodiscard]] std::string bytes_text(std::int64_t bytes);                    // "1.50 GiB"
[[nodiscard]] std::string elements_text(std::int64_t element_bytes);         // "elements of 4 bytes"
[[nodiscard]] std::string count_text(std::int64_t count, const char* one);   // "1 case", "2 cases", "2 axes"
[[nodiscard]] std::string seconds_text(double seconds);                      // "12.3 ms"

using base::error_text;
using base::utf8_length;
[[nodiscard]] std::string utf8_of_latin1(std::string_view text);

// Effect  returns text from elsewhere as one line that no terminal obeys
[[nodiscard]] inline std::string one_line(std::string_view text) { return base::printable(text); }

// Effect  returns the candidate that the user most likely meant, or nothing: a prefix, or a few wrong letters
[[nodiscard]] std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace cornerturn::cli
