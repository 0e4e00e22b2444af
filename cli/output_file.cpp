#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <random>

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

output_file::output_file(const std::string& path, std::int64_t bytes, bool anonymous) : path_(path) {
  const std::filesystem::path target = follow_links(path);
  target_ = target.string();
  directory_ = target.has_parent_path() ? target.parent_path().string() : ".";

  mode_t mode = 0666;
  bool replaces = false;
  struct stat about {};
  if (stat(target_.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) throw failure(fmt::format("{}: is a directory, wanted the name of a file", path));
    if (!S_ISREG(about.st_mode)) {
      throw failure(fmt::format("{}: is not a regular file, wanted the name of a new or a regular file", path));
    }
    mode = about.st_mode & 07777;
    replaces = true;
  } else if (target_.empty() || target_.back() == '/') {
    throw failure(fmt::format("{}: is not the name of a file", path.empty() ? "\"\"" : path));
  }
  try {
    open_temporary(anonymous);
    if (replaces) fchmod(descriptor_, mode);  // best effort; the new file belongs to this user, as with any rename
    reserve(bytes);
  } catch (...) {
    remove_temporary();
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

output_file::~output_file() {
  remove_temporary();
  if (descriptor_ >= 0) close(descriptor_);
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

void output_file::open_temporary(bool anonymous) {
  if (anonymous && access("/proc/self/fd", X_OK) == 0) {  // publish() needs /proc/self/fd
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

void output_file::publish() {
  if (is_anonymous()) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
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
}

}  // namespace cornerturn::cli
