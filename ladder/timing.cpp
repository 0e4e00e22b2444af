#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace cornerturn::ladder {
namespace {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') made += '\\';
    made += letter;
  }
  return made + '"';
}

constexpr int bar_cells = 20;  // of the copy

// Eighths of a cell, so that 1 % of the copy is visible.
std::string bar(double share) {
  static constexpr const char* part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(8 * bar_cells * std::min(share, 1.0)));
  std::string made;
  for (int k = 0; k < eighths / 8; ++k) made += "█";
  made += part[eighths % 8];
  made.append(static_cast<std::size_t>(bar_cells - eighths / 8 - (eighths % 8 > 0 ? 1 : 0)), ' ');
  return made;
}

// The speed as a multiple of the rung before.
std::string speedup(double speed, double before) {
  char text[32] = "";
  if (before > 0) std::snprintf(text, sizeof text, "%.2fx", speed / before);
  return text;
}

}  // namespace

void print_table(std::ostream& out, const std::vector<timing>& times) {
  char line[256];
  double roof = 0, before = 0;
  for (const timing& one : times) {
    if (one.rung == roof_rung) {
      roof = one.gigabytes_per_second();
      before = 0;
      std::snprintf(line, sizeof line, "\n%-30s %5s %16s %9s %7s %6s %7s  %-*s  %s\n", "rung", "bytes", "shape", "ms",
                    "GB/s", "copy %", "before", bar_cells, "", "quartiles, GB/s");
      out << line;
    }
    const double speed = one.gigabytes_per_second();
    const int digits = roof < 1000 ? 1 : 0;
    const double share = roof > 0 ? speed / roof : 0;
    std::snprintf(line, sizeof line, "%-30s %5d %16s %9.4f %7.*f %6.1f %7s  %s  %.*f - %.*f%s%s\n", one.rung.c_str(),
                  one.word_bytes, text_of(one.shape).c_str(), one.median(), digits, speed, 100 * share,
                  speedup(speed, before).c_str(), bar(share).c_str(), digits, one.first_quartile(), digits,
                  one.third_quartile(), one.note.empty() ? "" : "  ", one.note.c_str());
    out << line;
    if (one.rung != roof_rung && one.rung != control_rung) before = speed;
  }
}

void write_json(std::ostream& out, const timed_on& where, const std::vector<timing>& times) {
  out << "{\"device\": " << quoted(where.device) << ", \"arch\": " << quoted(where.arch)
      << ", \"threads\": " << where.threads << ", \"method\": " << quoted(where.method) << ", \"rungs\": [";
  const char* separator = "\n";
  for (const timing& one : times) {
    out << separator << "  {\"rung\": " << quoted(one.rung) << ", \"element_bytes\": " << one.word_bytes
        << ", \"rows\": " << one.shape.rows << ", \"cols\": " << one.shape.cols << ", \"batch\": " << one.shape.batch
        << ", \"note\": " << quoted(one.note) << ", \"gigabytes_per_second\": " << one.gigabytes_per_second()
        << ", \"milliseconds\": [";
    for (std::size_t k = 0; k < one.milliseconds.size(); ++k) out << (k == 0 ? "" : ", ") << one.milliseconds[k];
    out << "]}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace cornerturn::ladder
