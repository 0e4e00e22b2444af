// Compares /proc/stat with the CPU time of this process.
#include "bench/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

namespace cornerturn::bench {

namespace {

double machine_busy_seconds() {  // user nice system (idle iowait) irq softirq steal
  std::ifstream file("/proc/stat");
  std::string label;
  double field[8] = {};
  if (!(file >> label)) return -1;
  for (double& one : field) {
    if (!(file >> one)) return -1;
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
