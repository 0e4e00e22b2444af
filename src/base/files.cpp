#include "base/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>
#include <vector>

namespace cornerturn::base {
namespace {

[[noreturn]] void fail(const std::string& what, int error_number) {
  throw file_error(what + ": " + error_text(error_number), error_number);
}

std::string self_path(int number) { return "/proc/self/fd/" + std::to_string(number); }

// Repeats a call that a signal interrupts.
template <class Call>
auto again(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

bool is_same(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Opens a regular file for reading, and nothing else: O_NONBLOCK does not wait for the writer of a pipe.
descriptor open_regular(int folder, const char* name, int flags, const char* wanted = "a file") {
  descriptor file(again([&] { return openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags); }));
  if (!file) fail("cannot be read", errno);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) fail("cannot be read", errno);
  if (!S_ISREG(about.st_mode)) throw file_error(std::string("is ") + kind_of(about.st_mode) + ", wanted " + wanted);
  return file;
}

std::string content_of(int file, std::int64_t most) {
  std::string text;
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t got = again([&] { return read(file, piece.data(), piece.size()); });
    if (got < 0) fail("cannot be read", errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(text.size()) > most) {
      throw file_error("has more than " + std::to_string(most) + " bytes, wanted at most that");
    }
  }
}

}  // namespace

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

const char* kind_of(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a file";
    case S_IFDIR:
      return "a directory";
    case S_IFBLK:
      return "a block device";
    case S_IFSOCK:
      return "a socket";
    case S_IFIFO:
      return "a pipe";
    case S_IFCHR:
      return "a character device";
    case S_IFLNK:
      return "a symbolic link";
    default:
      return "not a file";
  }
}

std::string environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this == &other) return *this;
  if (number_ >= 0) close(number_);
  number_ = other.release();
  return *this;
}

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

int descriptor::release() noexcept {
  const int number = number_;
  number_ = -1;
  return number;
}

descriptor open_any(const std::string& path, int mode) {
  return descriptor(again([&] { return open(path.c_str(), mode | O_NOCTTY | O_CLOEXEC); }));
}

std::string read_file(const std::string& path, std::int64_t most, const char* wanted) {
  return content_of(open_regular(AT_FDCWD, path.c_str(), 0, wanted).get(), most);
}

std::string read_kernel_file(const char* path, std::size_t most) {
  const descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  std::size_t bytes = 0;
  while (file && bytes < text.size()) {
    const ssize_t got = again([&] { return read(file.get(), text.data() + bytes, text.size() - bytes); });
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  text.resize(bytes);
  return text;
}

namespace {

struct parts {
  std::string folder, leaf;
};

parts parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

void open_folder(place& at, const std::string& folder, int flags) {
  at.folder = descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  at.is_readable_folder = static_cast<bool>(at.folder);
  // A folder that this user may write but not read.
  if (!at.folder) at.folder = descriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | flags));
  if (!at.folder) fail("cannot write to its directory", errno);
}

// True if the name in the folder is the open file itself, and no link to it.
bool holds(const place& at) {
  struct stat named {};
  return fstatat(at.folder.get(), at.leaf.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(named, at.about);
}

// A link: the kernel has opened its target, and knows the target's folder. That path has no links, so none is followed here.
void find_target(place& at) {
  std::array<char, 4096> text{};
  const ssize_t bytes = readlink(self_path(at.file.get()).c_str(), text.data(), text.size());
  if (bytes <= 0 || bytes == static_cast<ssize_t>(text.size()) || text[0] != '/') {
    throw file_error("is a symbolic link, whose target has no name here, wanted the name of a file");
  }
  const parts target = parts_of({text.data(), static_cast<std::size_t>(bytes)});
  open_folder(at, target.folder, O_NOFOLLOW);
  at.leaf = target.leaf;
}

// The entry of the folder is a link: opens its target, and finds the target's folder and name. Another process may replace the
// target in the middle.
void follow_link(place& at, const std::string& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    at.file = descriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!at.file && errno == ENOENT) {  // a link to no file: the kernel makes the file
      const descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666));
      if (!made) fail("cannot be opened", errno);
      at.is_made = true;
      at.file = descriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
    }
    if (!at.file || fstat(at.file.get(), &at.about) != 0) fail("cannot be opened", errno);
    at.is_made = at.is_made && S_ISREG(at.about.st_mode) && at.about.st_size == 0;
    if (!S_ISREG(at.about.st_mode)) return;
    find_target(at);
    if (holds(at)) return;
  }
  throw file_error("is a symbolic link, whose target changed each time it was opened");
}

place place_of(const std::string& path) {
  place at;
  const parts spelled = parts_of(path);
  if (spelled.leaf.empty()) throw file_error("is not the name of a file");
  if (const descriptor whole(open(path.c_str(), O_PATH | O_CLOEXEC)); !whole && errno != ENOENT) {
    fail("cannot be opened", errno);
  }
  at.leaf = spelled.leaf;
  open_folder(at, spelled.folder, 0);
  at.file = descriptor(openat(at.folder.get(), at.leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!at.file && errno == ENOENT) return at;
  if (!at.file || fstat(at.file.get(), &at.about) != 0) fail("cannot be opened", errno);
  if (S_ISLNK(at.about.st_mode)) follow_link(at, path);
  if (!S_ISREG(at.about.st_mode)) {
    throw file_error(std::string("is ") + kind_of(at.about.st_mode) + ", wanted the name of a file");
  }
  return at;
}

// The name of a file beside this one: at most 255 bytes.
std::string beside(const std::string& leaf, const std::string& before, const std::string& after) {
  return before + leaf.substr(0, 255 - before.size() - after.size()) + after;
}

int rename_new(int folder, const char* from, const char* to) {
  constexpr unsigned no_replace = 1;  // RENAME_NOREPLACE
  return static_cast<int>(syscall(SYS_renameat2, folder, from, folder, to, no_replace));
}

// The attributes that a new file keeps.
class old_attributes {
 public:
  explicit old_attributes(const place& at)
      : readable_(openat(at.folder.get(), at.leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)),
        path_(self_path(at.file.get())) {  // for a file that this user may not read: no call takes an O_PATH descriptor
    struct stat about {};
    if (!readable_ || fstat(readable_.get(), &about) != 0 || !is_same(about, at.about)) readable_ = descriptor();
    std::string list(65536, '\0');
    const ssize_t bytes = readable_ ? flistxattr(readable_.get(), list.data(), list.size())
                                    : listxattr(path_.c_str(), list.data(), list.size());
    is_known_ = bytes >= 0 || errno == ENOTSUP;
    for (ssize_t next = 0; next < bytes;) {
      const std::string name = list.c_str() + next;
      if (name.starts_with("user.") || name.starts_with("system.")) names_.push_back(name);
      next += static_cast<ssize_t>(name.size()) + 1;
    }
  }
  [[nodiscard]] bool is_known() const noexcept { return is_known_; }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  // Returns false if the file does not have the attribute any more, or this user may not read it.
  [[nodiscard]] bool read(const std::string& name, std::string& value) const {
    value.assign(65536, '\0');
    const ssize_t bytes = readable_ ? fgetxattr(readable_.get(), name.c_str(), value.data(), value.size())
                                    : getxattr(path_.c_str(), name.c_str(), value.data(), value.size());
    value.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return bytes >= 0;
  }

 private:
  descriptor readable_;
  std::string path_;
  bool is_known_ = false;
  std::vector<std::string> names_;
};

constexpr const char* access_list = "system.posix_acl_access";

// The rights of the owning group itself. In a mode, the bits of the group are the upper bound of all entries of the list.
mode_t group_entry(std::string_view list, mode_t otherwise) {
  constexpr std::uint16_t group_tag = 0x04;
  for (std::size_t at = 4; at + 8 <= list.size(); at += 8) {  // of little-endian numbers: tag, rights, id
    const auto number = [&](std::size_t k) {
      return static_cast<std::uint16_t>(static_cast<unsigned char>(list[at + k]) |
                                        static_cast<unsigned char>(list[at + k + 1]) << 8);
    };
    if (number(0) == group_tag) return static_cast<mode_t>((number(2) & 7) << 3) & otherwise;
  }
  return 0;
}

}  // namespace

new_file::new_file(const std::string& path, const replace_rules& rules) : rules_(rules), at_(place_of(path)) {
  try {
    if (at_.file) check_old();
    make();
    if (at_.file) keep_attributes();
  } catch (...) {
    forget_name();
    if (at_.is_made) unlinkat(at_.folder.get(), at_.leaf.c_str(), 0);
    throw;
  }
}

new_file::~new_file() {
  forget_name();
  // It is still empty, so nothing is lost.
  struct stat now {};
  if (!is_published_ && at_.is_made && fstat(at_.file.get(), &now) == 0 && now.st_size == 0 && holds(at_)) {
    unlinkat(at_.folder.get(), at_.leaf.c_str(), 0);
  }
}

void new_file::check_old() {
  if (!S_ISREG(at_.about.st_mode)) {
    throw file_error(std::string("is ") + kind_of(at_.about.st_mode) + ", wanted the name of a file");
  }
  if (rules_.force || faccessat(at_.folder.get(), at_.leaf.c_str(), W_OK, AT_EACCESS) == 0 || errno == EROFS) return;
  char mode[8];
  static_cast<void>(std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(at_.about.st_mode & 07777U)));
  throw file_error(std::string("exists and this user may not write it (mode ") + mode + ")" + rules_.remedy);
}

descriptor new_file::open_beside(const char* suffix, unsigned mode) const {
  const std::string leaf = beside(at_.leaf, "", suffix);
  descriptor made(again([&] {
    return openat(at_.folder.get(), leaf.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                  mode);
  }));
  struct stat about {};
  if (!made || fstat(made.get(), &about) != 0) fail("cannot open " + leaf, errno);
  if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || about.st_nlink != 1) {
    throw file_error(
        leaf + " is " +
        (S_ISREG(about.st_mode) ? "a file of another user or with several names" : kind_of(about.st_mode)) +
        ", wanted a file of this user");
  }
  return made;
}

void new_file::remove_beside(const char* suffix) const noexcept {
  unlinkat(at_.folder.get(), beside(at_.leaf, "", suffix).c_str(), 0);
}

void new_file::make() {
  if (*rules_.kept != 0) {
    written_ = open_beside(rules_.kept, at_.file ? 0600 : 0666);
    temporary_ = beside(at_.leaf, "", rules_.kept);
    return;
  }
  // Only this user may read it until it has the rights of the old file.
  const mode_t mode = at_.file ? 0600 : 0666;
  if (rules_.anonymous && access("/proc/self/fd", X_OK) == 0) {  // publish() needs /proc/self/fd
    written_ = descriptor(openat(at_.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
    if (written_) return;
    if (errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT) {
      fail("cannot write to its directory", errno);
    }
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    make_name();
    written_ = descriptor(
        openat(at_.folder.get(), temporary_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode));
    if (written_) return;
    const int fault = errno;
    temporary_.clear();  // another process owns the file
    if (rules_.watch != nullptr) rules_.watch(-1, nullptr);
    if (fault != EEXIST) fail("cannot write to its directory", fault);
  }
  fail("cannot write to its directory", EEXIST);
}

void new_file::make_name() {
  std::array<unsigned char, 8> random{};
  if (again([&] { return getrandom(random.data(), random.size(), 0); }) < 0) fail("cannot get a random name", errno);
  std::string suffix = ".";
  for (const unsigned char one : random) {
    suffix += "0123456789abcdef"[one >> 4];
    suffix += "0123456789abcdef"[one & 15];
  }
  temporary_ = beside(at_.leaf, ".", suffix + ".tmp");
  if (rules_.watch != nullptr) rules_.watch(at_.folder.get(), temporary_.c_str());
}

void new_file::forget_name() noexcept {
  if (temporary_.empty() || *rules_.kept != 0) return;
  unlinkat(at_.folder.get(), temporary_.c_str(), 0);
  temporary_.clear();
  if (rules_.watch != nullptr) rules_.watch(-1, nullptr);
}

// Only permission bits are kept: set-user-ID and set-group-ID mean nothing for data.
void new_file::keep_attributes() {
  struct stat own {};
  if (fstat(written_.get(), &own) != 0) fail("cannot stat the new file", errno);
  const bool is_kept = (own.st_uid == at_.about.st_uid && own.st_gid == at_.about.st_gid) ||
                       fchown(written_.get(), at_.about.st_uid, at_.about.st_gid) == 0;
  if (!is_kept && !rules_.force) {
    throw file_error("belongs to user " + std::to_string(at_.about.st_uid) + " and group " +
                     std::to_string(at_.about.st_gid) + ", but the new file would belong to user " +
                     std::to_string(own.st_uid) + " and group " + std::to_string(own.st_gid) + rules_.remedy);
  }
  mode_t mode = at_.about.st_mode & 0777U;
  const old_attributes old(at_);
  if (!old.is_known()) mode &= 0700U;  // there may be a list: without it, its upper bound would be the group's right
  bool has_list = false;
  for (const std::string& name : old.names()) {
    std::string value;
    const bool is_set =
        old.read(name, value) && fsetxattr(written_.get(), name.c_str(), value.data(), value.size(), 0) == 0;
    has_list = has_list || (is_set && name == access_list);
    if (is_set || !name.starts_with("system.")) continue;
    mode = name == access_list ? (mode & 0707U) | group_entry(value, mode & 0070U) : mode & 0700U;
  }
  if (!has_list) static_cast<void>(fremovexattr(written_.get(), access_list));  // inherited from the folder
  if (fchmod(written_.get(), mode) != 0) fail("cannot set the mode of the new file", errno);
}

// The old file as it is now: it may have come, gone or changed during the work.
void new_file::look_again() {
  place now;
  now.folder = std::move(at_.folder);
  now.leaf = at_.leaf;
  now.is_readable_folder = at_.is_readable_folder;
  now.file = descriptor(openat(now.folder.get(), now.leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const int fault = errno;
  if (now.file && fstat(now.file.get(), &now.about) != 0) now.file = {};
  const bool is_same_file = now.file && at_.file && is_same(now.about, at_.about) &&
                            now.about.st_ctim.tv_sec == at_.about.st_ctim.tv_sec &&
                            now.about.st_ctim.tv_nsec == at_.about.st_ctim.tv_nsec;
  now.is_made = at_.is_made && is_same_file;
  at_ = std::move(now);
  if (!at_.file && fault != ENOENT) fail("cannot be opened", fault);
  if (!at_.file || is_same_file) return;
  check_old();
  keep_attributes();
}

// Gives the file a name that no file has. False: some file has it.
bool new_file::name_it_first() {
  if (temporary_.empty()) {
    if (linkat(AT_FDCWD, self_path(written_.get()).c_str(), at_.folder.get(), at_.leaf.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno == EEXIST) return false;
    fail("cannot link the file to its name", errno);
  }
  if (rename_new(at_.folder.get(), temporary_.c_str(), at_.leaf.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) fail("cannot rename the file to its name", errno);
  // A file system without that call, such as NFS.
  if (linkat(at_.folder.get(), temporary_.c_str(), at_.folder.get(), at_.leaf.c_str(), 0) == 0) {
    unlinkat(at_.folder.get(), temporary_.c_str(), 0);
    return true;
  }
  if (errno == EEXIST) return false;
  if (renameat(at_.folder.get(), temporary_.c_str(), at_.folder.get(), at_.leaf.c_str()) == 0) return true;
  fail("cannot rename the file to its name", errno);
}

void new_file::name_it() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    look_again();
    if (!at_.file && name_it_first()) return;
    if (!at_.file) continue;  // a file has just appeared
    // linkat never replaces a file: link to a temporary name first, then rename.
    while (temporary_.empty()) {
      make_name();
      if (linkat(AT_FDCWD, self_path(written_.get()).c_str(), at_.folder.get(), temporary_.c_str(),
                 AT_SYMLINK_FOLLOW) == 0)
        break;
      const int fault = errno;
      temporary_.clear();  // another process owns the file
      if (rules_.watch != nullptr) rules_.watch(-1, nullptr);
      if (fault != EEXIST) fail("cannot link the file to a temporary name", fault);
    }
    if (renameat(at_.folder.get(), temporary_.c_str(), at_.folder.get(), at_.leaf.c_str()) == 0) return;
    fail("cannot rename the file to its name", errno);
  }
  throw file_error("appears and vanishes again and again, so it cannot be replaced");
}

void new_file::publish() {
  // EINVAL: a file system without a disk, such as some in user space
  if (rules_.sync && fsync(written_.get()) != 0 && errno != EINVAL) fail("cannot write the file to the disk", errno);
  name_it();
  is_published_ = true;
  temporary_.clear();
  if (rules_.watch != nullptr) rules_.watch(-1, nullptr);
  if (rules_.sync) sync_folder();
}

void new_file::sync_folder() const {
  if (!at_.is_readable_folder || fsync(at_.folder.get()) == 0 || errno == EINVAL || errno == EROFS) return;
  fail("cannot write its directory to the disk", errno);
}

descriptor scratch_file(const descriptor& folder) {
  descriptor made(openat(folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (made) return made;
  // Not all file systems have O_TMPFILE.
  std::string name = self_path(folder.get()) + "/.cornerturn-scratch-XXXXXX";
  made = descriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!made) fail("cannot make a scratch file", errno);
  unlink(name.c_str());
  return made;
}

void write_all(int descriptor, std::string_view bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = again([&] { return pwrite(descriptor, bytes.data(), bytes.size(), offset); });
    if (done < 0) fail("cannot write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += done;
  }
}

namespace {

// A lock that other threads and processes respect. The side file stays: its removal could remove the lock of another process.
class file_lock {
 public:
  explicit file_lock(const place& at) : name_(beside(at.leaf, "", ".lock")) {
    const auto open_it = [&](int flags) {
      return again([&] {
        return openat(at.folder.get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags,
                      0666);
      });
    };
    // First without O_CREAT, which the kernel may refuse for another user's file (fs.protected_regular).
    for (int attempt = 0; attempt < 100 && !file_; ++attempt) {
      file_ = descriptor(open_it(0));
      if (!file_ && errno == ENOENT) file_ = descriptor(open_it(O_CREAT | O_EXCL));
      if (!file_ && errno != EEXIST && errno != ENOENT) fail("cannot be locked: " + name_, errno);
    }
    struct stat about {};
    if (!file_ || fstat(file_.get(), &about) != 0) fail("cannot be locked: " + name_, errno);
    if (!S_ISREG(about.st_mode)) {
      throw file_error("cannot be locked: " + name_ + " is " + kind_of(about.st_mode) + ", wanted a file");
    }
    wait();
  }
  // A forked child may share the descriptor, so closing it is not enough.
  ~file_lock() { flock(file_.get(), LOCK_UN); }
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;

 private:
  void wait() const {
    constexpr long step = 1'000'000, most = 20'000'000'000;  // ns
    for (long waited = 0; flock(file_.get(), LOCK_EX | LOCK_NB) != 0; waited += step) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail("cannot be locked: " + name_, errno);
      if (waited >= most) throw file_error("cannot be locked: another process holds " + name_ + " for too long");
      const timespec pause{0, step};
      nanosleep(&pause, nullptr);
    }
  }

  std::string name_;
  descriptor file_;
};

}  // namespace

void change_file(const std::string& path, std::int64_t most, const std::function<std::string(std::string)>& change) {
  const file_lock lock(place_of(path));
  new_file made(path, {.force = false, .sync = true, .anonymous = true});
  std::string before;
  if (made.old().file) {
    before = content_of(open_regular(made.old().folder.get(), made.old().leaf.c_str(), O_NOFOLLOW).get(), most);
  }
  write_all(made.get(), change(std::move(before)), 0);
  made.publish();
}

}  // namespace cornerturn::base
