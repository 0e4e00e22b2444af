// The lines of memory that a strided array touches: the roof of a view. All of it is inline, so the bench and explain() share it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace cornerturn::map {

struct stepped_axis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // elements
};

struct lines {
  std::int64_t all = 0;    // that hold elements
  std::int64_t whole = 0;  // of these: every byte belongs to an element
};

// Effect  counts lines of `line` bytes, up to 128. begin: the address of the element of index 0
// Cost    of the axes with the largest strides only a part is visited if there are more than 4 million elements, or they span more than
//         256 MiB: that part is scaled
[[nodiscard]] inline lines lines_of(std::span<const stepped_axis> axes, std::int64_t element_bytes, std::int64_t line,
                                    std::int64_t begin = 0) {
  constexpr std::int64_t most_runs = 4 << 20, most_span = 256 << 20;
  std::vector<stepped_axis> outer;  // strides in bytes, smallest first
  for (stepped_axis one : axes) {
    if (one.extent == 0) return {};
    one.stride *= element_bytes;
    if (one.stride < 0) begin += (one.extent - 1) * one.stride;
    if (one.stride < 0) one.stride = -one.stride;
    if (one.extent > 1 && one.stride != 0) outer.push_back(one);
  }
  std::sort(outer.begin(), outer.end(),
            [](const stepped_axis& a, const stepped_axis& b) { return a.stride < b.stride; });
  std::int64_t run = element_bytes;
  while (!outer.empty() && outer[0].stride == run) {
    run *= outer[0].extent;
    outer.erase(outer.begin());
  }
  const std::int64_t inside = (begin % line + line) % line;
  if (outer.empty()) {
    const std::int64_t last = inside + run % line;  // a run may have nearly 2^63 bytes
    const std::int64_t whole = run / line + last / line - (inside + line - 1) / line;
    return {run / line + (last + line - 1) / line, std::max(whole, std::int64_t{0})};
  }
  double scale = static_cast<double>(run);
  run = std::min(run, most_span);
  scale /= static_cast<double>(run);
  std::int64_t span = run, runs = 1;
  for (stepped_axis& one : outer) {
    const std::int64_t fitting =
        std::min(most_runs / runs, std::max(most_span - span, std::int64_t{0}) / one.stride + 1);
    const std::int64_t kept = std::clamp(fitting, std::int64_t{1}, one.extent);
    scale *= static_cast<double>(one.extent) / static_cast<double>(kept);
    one.extent = kept;
    span += (kept - 1) * one.stride;
    runs *= kept;
  }
  std::vector<std::uint8_t> filled(static_cast<std::size_t>((inside + span + line - 1) / line));
  std::vector<std::int64_t> index(outer.size(), 0);
  std::int64_t at = inside;
  for (std::size_t k = 0; k < outer.size();) {
    for (std::int64_t byte = at; byte < at + run;) {
      const std::int64_t some = std::min(line - byte % line, at + run - byte);
      std::uint8_t& of_line = filled[static_cast<std::size_t>(byte / line)];
      of_line = static_cast<std::uint8_t>(std::min(of_line + some, line));
      byte += some;
    }
    for (k = 0; k < outer.size(); ++k) {
      at += outer[k].stride;
      if (++index[k] < outer[k].extent) break;
      at -= outer[k].extent * outer[k].stride;
      index[k] = 0;
    }
  }
  const auto all = std::count_if(filled.begin(), filled.end(), [](std::uint8_t bytes) { return bytes > 0; });
  const auto whole = std::count(filled.begin(), filled.end(), static_cast<std::uint8_t>(line));
  const auto scaled = [&](auto count) { return std::llround(std::min(scale * static_cast<double>(count), 9e18)); };
  return {scaled(all), scaled(whole)};
}

// Returns  the lines that a copy from `read` to `written` moves: a line of dst that is not written whole is read too
[[nodiscard]] constexpr std::int64_t lines_moved(const lines& read, const lines& written) noexcept {
  return read.all + written.whole + 2 * (written.all - written.whole);
}

}  // namespace cornerturn::map
