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
#include <filesystem>
#include <random>
#include <vector>

#include "streams.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// The named temporary file that a signal handler must remove. Written before `pending` is set.
std::array<char, PATH_MAX> pending_name{};
std::atomic<bool> pending{false};
static_assert(std::atomic<bool>::is_always_lock_free, "read in a signal handler");

extern "C" void on_termination(int signal_number) {
  output_file::unlink_pending();
  signal(signal_number, SIG_DFL);  // the exit status then names the signal
  raise(signal_number);
}

void set_pending(const std::string& name) {
  if (name.size() + 1 > pending_name.size()) return;
  std::memcpy(pending_name.data(), name.c_str(), name.size() + 1);
  pending.store(true);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal_number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // keep nohup's setting
    struct sigaction action {};
    action.sa_handler = on_termination;
    sigaction(signal_number, &action, nullptr);
  }
}

// Not canonical(), which requires an existing file: a link may name a new file.
std::filesystem::path follow_links(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // Linux's own limit
  std::filesystem::path at = path;
  for (int link = 0; link < most_links; ++link) {
    std::error_code fault;
    const std::filesystem::path next = std::filesystem::read_symlink(at, fault);
    if (fault) return at;  // no link
    at = at.parent_path() / next;
  }
  throw failure(fmt::format("{}: is a symbolic link to itself", path.string()));
}

}  // namespace

void output_file::unlink_pending() noexcept {
  if (pending.exchange(false)) unlink(pending_name.data());
}

output_file::output_file(const std::string& path, std::int64_t bytes, const output_rules& rules)
    : path_(path), rules_(rules) {
  const int inherited = descriptor_named(path, STDOUT_FILENO);
  struct stat about {};
  const bool exists = (inherited >= 0 ? fstat(inherited, &about) : stat(path.c_str(), &about)) == 0;
  if (inherited >= 0 && !exists) fail("cannot write", errno);
  try {
    if (inherited >= 0 || (exists && is_stream(about.st_mode))) {
      open_stream(about, inherited);
    } else {
      open_file(bytes);
    }
  } catch (...) {
    remove_temporary();
    if (stream_ >= 0) close(stream_);
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

output_file::~output_file() {
  remove_temporary();
  if (stream_ >= 0) close(stream_);
  if (descriptor_ >= 0) close(descriptor_);
}

void output_file::open_stream(const struct stat& about, int inherited) {
  if (S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
    throw failure(fmt::format("{}: is {}, wanted a file or a stream", path_, kind_of(about.st_mode)));
  }
  is_stdout_ = inherited == STDOUT_FILENO;
  stream_ = inherited >= 0 ? fcntl(inherited, F_DUPFD_CLOEXEC, 3) : open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (stream_ < 0) fail("cannot open for writing", errno);
  if (isatty(stream_) == 1) {
    throw failure(fmt::format("{}: is a terminal, wanted a file or a pipe for binary data", path_));
  }
  // Writing nothing fails for /dev/full and for a descriptor that is open for reading only: before the work, not after.
  if (write(stream_, "", 0) < 0) fail("cannot write", errno);
  descriptor_ = file_in_memory(path_);
}

void output_file::open_file(std::int64_t bytes) {
  const std::filesystem::path target = follow_links(path_);
  target_ = target.string();
  directory_ = target.has_parent_path() ? target.parent_path().string() : ".";
  struct stat before {};
  const bool replaces = stat(target_.c_str(), &before) == 0;
  if (replaces && !S_ISREG(before.st_mode)) {
    throw failure(fmt::format("{}: is {}, wanted the name of a file", path_, kind_of(before.st_mode)));
  }
  if (!replaces && (target_.empty() || target_.back() == '/')) {
    throw failure(fmt::format("{}: is not the name of a file", path_.empty() ? "\"\"" : path_));
  }
  if (replaces && !rules_.force && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0 && errno != EROFS) {
    throw failure(fmt::format("{}: exists and this user may not write it (mode {:04o}), wanted --force to replace it",
                              path_, before.st_mode & 07777));
  }
  open_temporary();
  if (replaces) keep_owner_and_mode(before);
  reserve(bytes);
}

// Only permission bits are kept: set-user-ID and set-group-ID mean nothing for data.
void output_file::keep_owner_and_mode(const struct stat& before) {
  struct stat own {};
  if (fstat(descriptor_, &own) != 0) fail("cannot stat the new file", errno);
  const bool is_kept = (own.st_uid == before.st_uid && own.st_gid == before.st_gid) ||
                       fchown(descriptor_, before.st_uid, before.st_gid) == 0;
  if (!is_kept && !rules_.force) {
    throw failure(
        fmt::format("{}: belongs to user {} and group {}, but the new file would belong to user {} and group "
                    "{}, wanted --force to replace it",
                    path_, before.st_uid, before.st_gid, own.st_uid, own.st_gid));
  }
  if (fchmod(descriptor_, before.st_mode & 0777) != 0) fail("cannot set the mode of the new file", errno);
}

void output_file::remove_temporary() noexcept {
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  pending.store(false);
  temporary_.clear();
}

void output_file::fail(const char* what, int error_number) const {
  throw failure(fmt::format("{}: {}: {}", path_, what, error_text(error_number)));
}

void output_file::make_temporary_name() {
  std::random_device random;
  const std::string leaf = std::filesystem::path(target_).filename().string();
  // 200: the limit of a file name is 255 bytes, and the affixes need some of them.
  temporary_ = fmt::format("{}/.{}.{:08x}.tmp", directory_, leaf.substr(0, 200), random());
}

void output_file::open_temporary() {
  if (rules_.anonymous && access("/proc/self/fd", X_OK) == 0) {  // publish() needs /proc/self/fd
    descriptor_ = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT) {
      fail("cannot write to its directory", errno);
    }
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    make_temporary_name();
    set_pending(temporary_);
    descriptor_ = open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    const int fault = errno;
    pending.store(false);
    temporary_.clear();  // another process owns the file
    if (fault != EEXIST) fail("cannot write to its directory", fault);
  }
  fail("cannot write to its directory", EEXIST);
}

void output_file::reserve(std::int64_t bytes) {
  struct statvfs about {};
  if (fstatvfs(descriptor_, &about) == 0 && about.f_blocks > 0) {
    std::int64_t room = 0;
    if (!__builtin_mul_overflow(about.f_bavail, about.f_frsize, &room) && room < bytes) {
      throw failure(fmt::format("{}: the file needs {}, but its file system has {} free", path_, bytes_text(bytes),
                                bytes_text(room)));
    }
  }
  if (bytes == 0) return;
  // The reservation also makes the writes faster: pwrite of 512 MiB takes 66 ms with it and 100 ms without (ext4,
  // Linux 6.18, AMD EPYC 4th generation, November 2026). Not posix_fallocate: glibc writes zeros if the file system
  // cannot reserve space. fallocate returns an error instead, at no cost.
  if (fallocate(descriptor_, 0, 0, bytes) != 0) {
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail("cannot reserve the space for the file", errno);
    if (ftruncate(descriptor_, bytes) != 0) fail("cannot set the size of the file", errno);
  }
}

void output_file::write_at(const void* data, std::size_t bytes, std::int64_t offset) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t done = pwrite(descriptor_, at, bytes, offset);
    if (done < 0) {
      if (errno == EINTR) continue;
      fail("cannot write", errno);
    }
    at += done;
    bytes -= static_cast<std::size_t>(done);
    offset += done;
  }
}

void output_file::send() {
  struct stat about {};
  if (fstat(descriptor_, &about) != 0) fail("cannot stat the memory of the stream", errno);
  constexpr std::int64_t piece = 1 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::int64_t>(piece, about.st_size)));
  for (std::int64_t done = 0; done < about.st_size;) {
    const ssize_t got = pread(descriptor_, buffer.data(), buffer.size(), done);
    if (got <= 0) fail("cannot read the memory of the stream", errno);
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t now = write(stream_, buffer.data() + sent, static_cast<std::size_t>(got - sent));
      if (now < 0 && errno != EINTR) fail("cannot write", errno);
      sent += std::max<ssize_t>(now, 0);
    }
    done += got;
  }
}

void output_file::sync_directory() const {
  const int folder = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a folder that this user may write but not read
  const int fault = fsync(folder) == 0 ? 0 : errno;
  close(folder);
  if (fault != 0 && fault != EINVAL && fault != EROFS) fail("cannot write its directory to the disk", fault);
}

void output_file::publish() {
  if (stream_ >= 0) return send();
  // EINVAL: a file system without a disk, such as some in user space
  if (rules_.sync && fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot write the file to the disk", errno);
  if (is_anonymous()) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      if (rules_.sync) sync_directory();
      return;
    }
    if (errno != EEXIST) fail("cannot link the file to its name", errno);
    // linkat never replaces a file: link to a temporary name first, then rename.
    while (true) {
      make_temporary_name();
      set_pending(temporary_);
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) break;
      const int fault = errno;
      pending.store(false);
      temporary_.clear();  // another process owns the file
      if (fault != EEXIST) fail("cannot link the file to a temporary name", fault);
    }
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int fault = errno;
    remove_temporary();
    fail("cannot rename the file to its name", fault);
  }
  pending.store(false);
  temporary_.clear();
  if (rules_.sync) sync_directory();
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
