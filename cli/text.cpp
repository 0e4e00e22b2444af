#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

namespace cornerturn::cli {
namespace {

template <class Integer>
std::optional<std::vector<Integer>> parse_list(std::string_view text, char separator) {
  std::vector<Integer> values;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    Integer value{};
    const auto [next, fault] = std::from_chars(at, end, value);
    if (fault != std::errc{}) return std::nullopt;
    values.push_back(value);
    if (next == end) return values;
    if (*next != separator) return std::nullopt;
    at = next + 1;
  }
}

}  // namespace

std::optional<std::vector<int>> parse_axes(std::string_view text) {
  if (text.empty()) return std::vector<int>{};
  return parse_list<int>(text, ',');
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  auto shape = parse_list<std::int64_t>(text, 'x');
  if (shape) {
    for (const std::int64_t extent : *shape) {
      if (extent < 0) return std::nullopt;
    }
  }
  return shape;
}

std::vector<int> resolve_axes(const std::optional<std::vector<int>>& axes, int rank, const std::string& what) {
  std::vector<int> resolved;
  if (!axes) {
    for (int k = rank - 1; k >= 0; --k) resolved.push_back(k);
    return resolved;
  }
  const std::string given = axes_text(*axes);
  if (static_cast<int>(axes->size()) != rank) {
    throw failure(fmt::format("{}: --axes {} names {} axes, wanted {}, one for each axis of the array", what, given,
                              axes->size(), rank));
  }
  std::vector<bool> used(static_cast<std::size_t>(rank), false);
  for (const int axis : *axes) {
    if (axis < -rank || axis >= rank) {
      throw failure(fmt::format("{}: --axes {} has axis {}, wanted {} to {}", what, given, axis, -rank, rank - 1));
    }
    const int k = axis < 0 ? axis + rank : axis;
    if (used[static_cast<std::size_t>(k)]) {
      throw failure(fmt::format("{}: --axes {} names axis {} twice, wanted each axis once", what, given, k));
    }
    used[static_cast<std::size_t>(k)] = true;
    resolved.push_back(k);
  }
  return resolved;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string tuple_text(std::span<const std::int64_t> values) {
  if (values.size() == 1) return fmt::format("({},)", values[0]);
  return fmt::format("({})", fmt::join(values, ", "));
}

std::string axes_text(std::span<const int> axes) { return fmt::format("{}", fmt::join(axes, ",")); }

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

}  // namespace cornerturn::cli
