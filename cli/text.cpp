#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "print.hpp"

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

std::optional<std::vector<std::int64_t>> meant_shape(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool separates = std::string_view("xX*,; ").find(c) != std::string_view::npos;
    if (!separates && c != '(' && c != ')' && c != '[' && c != ']') plain += c;
    if (separates && !plain.empty() && plain.back() != 'x') plain += 'x';
  }
  if (plain.ends_with('x')) plain.pop_back();
  return parse_shape(plain);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const auto number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit;
  for (const char c : text.substr(number_end)) unit.push_back(static_cast<char>(std::tolower(c)));
  std::int64_t factor = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = std::string_view("kmgt").find(unit.front());
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "ib" && rest != "b")) return std::nullopt;
    for (std::size_t k = 0; k <= power; ++k) factor *= rest == "b" ? 1000 : 1024;
  }
  constexpr std::int64_t too_many = std::int64_t{1} << 62;
  const char* const end = text.data() + number_end;
  std::int64_t whole = 0;
  const auto exact = std::from_chars(text.data(), end, whole);
  if (exact.ec == std::errc{} && exact.ptr == end) {
    std::int64_t bytes = 0;
    return __builtin_mul_overflow(whole, factor, &bytes) || bytes >= too_many ? std::nullopt : std::optional(bytes);
  }
  double number = 0;
  const auto fraction = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const double bytes = number * static_cast<double>(factor);
  if (fraction.ec != std::errc{} || fraction.ptr != end || bytes != std::floor(bytes) ||
      bytes >= static_cast<double>(too_many)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(bytes);
}

std::vector<int> resolve_axes(const std::optional<std::vector<int>>& axes, int rank, const std::string& what,
                              exit_code code) {
  std::vector<int> resolved;
  if (!axes) {
    for (int k = rank - 1; k >= 0; --k) resolved.push_back(k);
    return resolved;
  }
  const std::string given = axes->empty() ? "\"\"" : axes_text(*axes);
  if (static_cast<int>(axes->size()) != rank) {
    throw failure(fmt::format("{}: --axes {} names {}, wanted {}, one for each axis of the array", what, given,
                              count_text(axes->size(), "axis"), rank),
                  code);
  }
  std::vector<bool> used(static_cast<std::size_t>(rank), false);
  for (const int axis : *axes) {
    if (axis < -rank || axis >= rank) {
      throw failure(fmt::format("{}: --axes {} has axis {}, wanted {} to {}", what, given, axis, -rank, rank - 1),
                    code);
    }
    const int k = axis < 0 ? axis + rank : axis;
    if (used[static_cast<std::size_t>(k)]) {
      throw failure(fmt::format("{}: --axes {} names axis {} twice, wanted each axis once", what, given, k), code);
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

std::string elements_text(std::int64_t element_bytes) { return "elements of " + count_text(element_bytes, "byte"); }

std::string count_text(std::int64_t count, const char* one) {
  const std::string_view word = one;
  if (count == 1) return fmt::format("1 {}", word);
  if (word == "axis") return fmt::format("{} axes", count);
  return fmt::format("{} {}{}", count, word, word.ends_with('x') || word.ends_with('s') ? "es" : "s");
}

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
  if (seconds < 1e-5) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

void print_text(std::FILE* to, std::string_view text) {
  std::string made;
  while (true) {
    const std::size_t end = text.find('\n');
    made += base::printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    made += '\n';
    text.remove_prefix(end + 1);
  }
  std::fwrite(made.data(), 1, made.size(), to);
}

std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out.push_back(c);
    } else {
      out.push_back(static_cast<char>(0xC0 | byte >> 6));
      out.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    }
  }
  return out;
}

namespace {

// Restricted Damerau distance: letters inserted, left out, replaced, or two neighbours swapped.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 100) return std::nullopt;  // no name is so long, and the table of letters would be large
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& one : candidates) {
    if (const std::size_t away = distance(word, one); away < least) {
      best = one;
      least = away;
    }
  }
  if (best || word.size() < 2) return best;
  for (const std::string& one : candidates) {
    if (one.starts_with(word)) return one;
  }
  return std::nullopt;
}

}  // namespace cornerturn::cli
