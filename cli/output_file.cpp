#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "streams.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

using base::error_text;
using base::kind_of;

// The named temporary file that a signal handler must remove. Written before `pending` is set.
std::array<char, NAME_MAX + 1> pending_leaf{};
std::atomic<int> pending_folder{-1};
static_assert(std::atomic<int>::is_always_lock_free, "read in a signal handler");

extern "C" void on_termination(int signal_number) {
  output_file::unlink_pending();
  signal(signal_number, SIG_DFL);  // the exit status then names the signal
  raise(signal_number);
}

void watch(int folder, const char* leaf) {
  pending_folder.store(-1);
  if (leaf == nullptr || std::strlen(leaf) >= pending_leaf.size()) return;
  std::memcpy(pending_leaf.data(), leaf, std::strlen(leaf) + 1);
  pending_folder.store(folder);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal_number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // keep nohup's setting
    struct sigaction action {};
    action.sa_handler = on_termination;
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace

void output_file::unlink_pending() noexcept {
  if (const int folder = pending_folder.exchange(-1); folder >= 0) unlinkat(folder, pending_leaf.data(), 0);
}

output_file::output_file(const std::string& path, std::int64_t bytes, const output_rules& rules) : path_(path) {
  const int inherited = descriptor_named(path, STDOUT_FILENO);
  struct stat about {};
  const bool exists = (inherited >= 0 ? fstat(inherited, &about) : stat(path.c_str(), &about)) == 0;
  if (inherited >= 0 && !exists) fail("cannot write", errno);
  if (inherited >= 0 || (exists && is_stream(about.st_mode))) {
    open_stream(about, inherited);
    return;
  }
  try {
    file_.emplace(path, base::replace_rules{.force = rules.force,
                                            .sync = rules.sync,
                                            .anonymous = rules.anonymous,
                                            .kept = rules.kept,
                                            .remedy = ", wanted --force to replace it",
                                            .watch = watch});
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path.empty() ? "\"\"" : path, fault.what()));
  }
  is_new_ = fstat(descriptor(), &about) == 0 && about.st_size == 0;
  reserve(descriptor(), bytes);
}

output_file::~output_file() = default;

void output_file::open_stream(const struct stat& about, int inherited) {
  if (S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
    throw failure(fmt::format("{}: is {}, wanted a file or a stream", path_, kind_of(about.st_mode)));
  }
  is_stdout_ = inherited == STDOUT_FILENO;
  stream_ = inherited >= 0 ? base::descriptor(fcntl(inherited, F_DUPFD_CLOEXEC, 3)) : base::open_any(path_, O_WRONLY);
  if (!stream_) fail("cannot open for writing", errno);
  if (isatty(stream_.get()) == 1) {
    throw failure(fmt::format("{}: is a terminal, wanted a file or a pipe for binary data", path_));
  }
  // Writing nothing fails for /dev/full and for a descriptor that is open for reading only: before the work, not after.
  if (write(stream_.get(), "", 0) < 0) fail("cannot write", errno);
  memory_ = base::descriptor(file_in_memory(path_));
}

void output_file::fail(const char* what, int error_number) const {
  throw failure(fmt::format("{}: {}: {}", path_, what, error_text(error_number)));
}

void output_file::reserve(int descriptor, std::int64_t bytes) const {
  struct statvfs about {};
  struct stat own {};
  const std::int64_t had = fstat(descriptor, &own) == 0 ? own.st_blocks * 512 : 0;  // of an earlier run
  if (fstatvfs(descriptor, &about) == 0 && about.f_blocks > 0) {
    std::int64_t room = 0;
    if (!__builtin_mul_overflow(about.f_bavail, about.f_frsize, &room) && room < bytes - had) {
      throw failure(fmt::format("{}: the file needs {}, but its file system has {} free", path_, bytes_text(bytes),
                                bytes_text(room)));
    }
  }
  if (bytes == 0) return;
  // The reservation also makes the writes faster: pwrite of 512 MiB takes 66 ms with it and 100 ms without (ext4,
  // Linux 6.18, AMD EPYC 4th generation, November 2026). Not posix_fallocate: glibc writes zeros if the file system
  // cannot reserve space. fallocate returns an error instead, at no cost.
  int result = 0;
  do result = fallocate(descriptor, 0, 0, bytes);
  while (result != 0 && errno == EINTR);
  if (result != 0) {
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail("cannot reserve the space for the file", errno);
    if (ftruncate(descriptor, bytes) != 0) fail("cannot set the size of the file", errno);
  }
}

base::descriptor output_file::scratch(std::int64_t bytes) const {
  if (stream_) return base::descriptor(file_in_memory(path_));
  try {
    base::descriptor made = base::scratch_file(file_->old().folder);
    reserve(made.get(), bytes);
    return made;
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path_, fault.what()));
  }
}

base::descriptor output_file::open_beside(const char* suffix) const {
  if (!file_) throw failure(fmt::format("{}: is a stream, wanted a file", path_));
  try {
    return file_->open_beside(suffix);
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path_, fault.what()));
  }
}

void output_file::remove_beside(const char* suffix) const noexcept {
  if (file_) file_->remove_beside(suffix);
}

void output_file::write_at(const void* data, std::size_t bytes, std::int64_t offset) const {
  try {
    base::write_all(descriptor(), {static_cast<const char*>(data), bytes}, offset);
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path_, fault.what()));
  }
}

void output_file::send() const {
  struct stat about {};
  if (fstat(memory_.get(), &about) != 0) fail("cannot stat the memory of the stream", errno);
  constexpr std::int64_t piece = 1 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::int64_t>(piece, about.st_size)));
  for (std::int64_t done = 0; done < about.st_size;) {
    const ssize_t got = pread(memory_.get(), buffer.data(), buffer.size(), done);
    if (got <= 0) fail("cannot read the memory of the stream", errno);
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t now = write(stream_.get(), buffer.data() + sent, static_cast<std::size_t>(got - sent));
      if (now < 0 && errno != EINTR) fail("cannot write", errno);
      sent += std::max<ssize_t>(now, 0);
    }
    done += got;
  }
}

void output_file::publish() {
  if (stream_) return send();
  try {
    file_->publish();
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path_, fault.what()));
  }
}

void require_stdout() {
  if (write(STDOUT_FILENO, "", 0) < 0) throw failure(fmt::format("cannot write to stdout: {}", error_text(errno)));
}

void write_whole(const std::string& path, std::string_view content, const output_rules& rules) {
  output_file file(path, static_cast<std::int64_t>(content.size()), rules);
  file.write_at(content, 0);
  file.publish();
}

}  // namespace cornerturn::cli
