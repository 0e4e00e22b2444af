// Compares /proc/stat with the CPU time of this process.
#include "bench/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "base/numbers.hpp"

namespace cornerturn::bench {

namespace {

double machine_busy_seconds() {  // user nice system (idle iowait) irq softirq steal
  const std::string text = base::read_kernel_file("/proc/stat", 4096);
  std::string_view rest = std::string_view(text).substr(0, text.find('\n'));
  double field[8] = {};
  for (double& one : field) {
    const std::size_t space = rest.find_first_of(' ');
    if (space == std::string_view::npos) return -1;
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', space), rest.size()));
    if (!base::read_number(rest.substr(0, rest.find(' ')), one)) return -1;
  }
  return (field[0] + field[1] + field[2] + field[5] + field[6] + field[7]) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_busy_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

load_watch::load_watch()
    : machine_seconds_(machine_busy_seconds()),
      own_seconds_(own_busy_seconds()),
      begin_(std::chrono::steady_clock::now()) {}

double load_watch::other_cpus() const {
  const double machine = machine_busy_seconds();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
  if (machine < 0 || machine_seconds_ < 0 || wall.count() <= 0) return -1;
  return std::max(0.0, (machine - machine_seconds_ - (own_busy_seconds() - own_seconds_)) / wall.count());
}

}  // namespace cornerturn::bench
