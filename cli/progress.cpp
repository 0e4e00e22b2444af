#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr int bar_cells = 30;
constexpr int least_cells = 5;

bool is_set(const char* variable) { return !base::environment(variable).empty(); }

void put(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // a failure to draw the bar is ignored
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string time_left(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(const std::string& label, std::int64_t done_bytes, std::int64_t total_bytes, double seconds,
                          int columns) {
  const double share =
      total_bytes > 0 ? std::clamp(static_cast<double>(done_bytes) / static_cast<double>(total_bytes), 0.0, 1.0) : 1.0;
  const std::string percent = fmt::format("{:3.0f}%", share * 100);
  std::string left;
  std::string rate;
  if (share >= 0.01 && share < 1) left = fmt::format("{} left", time_left(seconds * (1 - share) / share));
  if (seconds > 0) rate = fmt::format(", {:.2f} GB/s", static_cast<double>(done_bytes) / seconds * 1e-9);
  const std::string sizes = fmt::format("  {} of {}", bytes_text(done_bytes), bytes_text(total_bytes));
  std::string text = fmt::format("{:<9} {}", label, percent);
  for (const std::string& more :
       {left.empty() ? sizes : fmt::format("{}{}, {}", sizes, rate, left), fmt::format("  {}", left)}) {
    if (text.size() + more.size() > static_cast<std::size_t>(columns)) continue;
    const int room = std::min(bar_cells, columns - static_cast<int>(text.size() + more.size()) - 1);
    if (room >= least_cells) {
      const int full = static_cast<int>(share * room);
      text += fmt::format(" {:#<{}}{:-<{}}", "", full, "", room - full);
    }
    return text + more;
  }
  return text.substr(0, static_cast<std::size_t>(std::max(columns, 0)));
}

progress_bar::progress_bar(std::string label, std::int64_t total_bytes, bool wanted)
    : label_(std::move(label)), total_(total_bytes), start_(std::chrono::steady_clock::now()), last_(start_) {
  const bool dumb = base::environment("TERM") == "dumb";
  active_ = wanted && !dumb && total_ > 0 && isatty(STDERR_FILENO) == 1;
  colour_ = !is_set("NO_COLOR");
}

progress_bar::~progress_bar() {
  if (drawn_) put(fmt::format("\r{:{}}\r", "", width_));
}

void progress_bar::show(std::int64_t done_bytes) {
  using namespace std::chrono_literals;
  if (!active_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 300ms || (drawn_ && now - last_ < 100ms)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // One column less: a character in the last one would wrap on some terminals.
  std::string text = progress_text(label_, done_bytes, total_, seconds, terminal_columns() - 1);
  const std::size_t before = std::exchange(width_, text.size());
  if (before > width_) text.resize(before, ' ');  // erases the end of a longer text
  if (const auto bar = text.find('#'); colour_ && bar != std::string::npos) {
    text.insert(text.find_last_of('#') + 1, "\x1b[0m");
    text.insert(bar, "\x1b[36m");
  }
  put(fmt::format("\r{}", text));
}

}  // namespace cornerturn::cli
