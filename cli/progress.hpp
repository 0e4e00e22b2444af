// A progress bar on stderr, only for an interactive terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cornerturn::cli {

// Effect  returns the text of the bar: at most `columns` characters. A narrow terminal gets fewer parts of it
[[nodiscard]] std::string progress_text(const std::string& label, std::int64_t done_bytes, std::int64_t total_bytes,
                                        double seconds, int columns);

class progress_bar {
 public:
  // Effect  draws only if `wanted`, stderr is a terminal and TERM is not "dumb". NO_COLOR disables the colour.
  progress_bar(std::string label, std::int64_t total_bytes, bool wanted);
  ~progress_bar();  // erases the bar
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  // Effect  redraws at most ten times a second. No bar in the first 300 ms, so that short work does not flicker
  void show(std::int64_t done_bytes);

 private:
  std::string label_;
  std::int64_t total_;
  bool active_;
  bool colour_;
  bool drawn_ = false;
  std::size_t width_ = 0;  // characters on the terminal
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace cornerturn::cli
