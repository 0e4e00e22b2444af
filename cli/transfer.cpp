#include "transfer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// Stacks of threads, plans, and pages that the system maps meanwhile.
constexpr std::int64_t slack_bytes = 8 << 20;
constexpr std::int64_t least_buffers = 8 << 20;

std::int64_t resident_bytes() {
  const std::string text = base::read_kernel_file("/proc/self/statm", 256);
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return 0;
  return std::strtoll(text.c_str() + space, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace

input_store::input_store(const mapped_file& file, std::int64_t begin, bool in_memory, const std::string& path)
    : bytes_(file_store(file.descriptor(), file.begin() + begin, path)),
      memory_(in_memory ? file.bytes().data() + begin : nullptr) {}

// Lost: sync_file_range() after each 256 MiB. 4 GiB of float32 with 512 MiB took 11.8 to 13.4 s, and 8.8 to 10.5 s without it and with
// larger boxes (virtual disk, Linux 6.18, 2026-11-27).
void output_store::write(std::int64_t offset, const void* from, std::size_t bytes) {
  file_.write_at(from, bytes, begin_ + offset);
}

memory_limit memory_limit_of(std::int64_t requested) {
  memory_limit made{requested > 0 ? requested : available_memory() / 2, 0};
  const std::int64_t program = resident_bytes() + slack_bytes;
  made.buffers = made.bytes - program;
  if (made.buffers < least_buffers) {
    throw failure(fmt::format("{} is {}, wanted at least {}: the program itself takes {}",
                              requested > 0 ? "--memory" : "half of the available memory", bytes_text(made.bytes),
                              bytes_text(program + least_buffers), bytes_text(program)));
  }
  return made;
}

std::string plan_text(const file_plan& plan) {
  std::string text;
  for (std::size_t k = 0; k < plan.passes.size(); ++k) {
    const file_pass& one = plan.passes[k];
    text += fmt::format("pass {} of {}: {} of {}, read in runs of {}, written in runs of {}; {} read, {} written\n",
                        k + 1, plan.passes.size(), count_text(one.boxes, "box"), bytes_text(one.box_bytes),
                        bytes_text(one.read_run_bytes), bytes_text(one.write_run_bytes), bytes_text(one.bytes),
                        bytes_text(one.bytes));
  }
  if (plan.scratch_bytes > 0)
    text += fmt::format("a scratch file of {} beside the output\n", bytes_text(plan.scratch_bytes));
  return text;
}

}  // namespace cornerturn::cli
