#include "timing.hpp"

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

}  // namespace

void print_table(std::ostream& out, const std::vector<timing>& times) {
  char line[200];
  double roof = 0;
  for (const timing& one : times) {
    if (one.rung == "00_copy") {
      roof = one.gigabytes_per_second();
      std::snprintf(line, sizeof line, "\n%-30s %5s %16s %9s %7s %6s  %s\n", "rung", "bytes", "shape", "ms", "GB/s",
                    "copy %", "quartiles, GB/s");
      out << line;
    }
    const double speed = one.gigabytes_per_second();
    const int digits = roof < 1000 ? 1 : 0;
    std::snprintf(line, sizeof line, "%-30s %5d %16s %9.4f %7.*f %6.1f  %.*f - %.*f%s%s\n", one.rung.c_str(),
                  one.word_bytes, text_of(one.shape).c_str(), one.median(), digits, speed,
                  roof > 0 ? 100 * speed / roof : 0, digits, one.first_quartile(), digits, one.third_quartile(),
                  one.note.empty() ? "" : "  ", one.note.c_str());
    out << line;
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
