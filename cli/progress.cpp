#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr int bar_cells = 30;

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

void put(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // a failure to draw the bar is ignored
}

}  // namespace

progress_bar::progress_bar(std::string label, std::int64_t total_bytes, bool wanted)
    : label_(std::move(label)), total_(total_bytes), start_(std::chrono::steady_clock::now()), last_(start_) {
  const char* const terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::strcmp(terminal, "dumb") == 0;
  active_ = wanted && !dumb && total_ > 0 && isatty(STDERR_FILENO) == 1;
  colour_ = !is_set("NO_COLOR");
}

progress_bar::~progress_bar() {
  if (drawn_) put(fmt::format("\r{:79}\r", ""));
}

void progress_bar::show(std::int64_t done_bytes) {
  using namespace std::chrono_literals;
  if (!active_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 300ms || (drawn_ && now - last_ < 100ms)) return;
  last_ = now;
  drawn_ = true;
  const double share = std::clamp(static_cast<double>(done_bytes) / static_cast<double>(total_), 0.0, 1.0);
  const int full = static_cast<int>(share * bar_cells);
  put(fmt::format("\r{:<9} {:3.0f}% {}{:#<{}}{}{:-<{}} {} of {} ", label_, share * 100, colour_ ? "\x1b[36m" : "", "",
                  full, colour_ ? "\x1b[0m" : "", "", bar_cells - full, bytes_text(done_bytes), bytes_text(total_)));
}

}  // namespace cornerturn::cli
