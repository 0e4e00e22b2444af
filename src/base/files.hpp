// The one module that opens files by name: the library, the command, the bench and the ladder read and write through it.
//   who may be named   Regular files. A pipe, a device or a directory is refused; the callers that take streams say so
//   links              The kernel follows them, under its rules (fs.protected_symlinks). This code never reads a link to go on
//                      from its text; a temporary file and a lock are never a link
//   replacing          A new file takes the place of an old one in one step, and keeps its mode, owner, access list and user.*
//                      attributes. All checks of the old file are made again at that step
//   changing           Under a lock on a side file, and the content is read again under it
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cornerturn::base {

// A sentence without the name of the file: "cannot be read: Permission denied".
class file_error : public std::runtime_error {
 public:
  explicit file_error(const std::string& what, int error_number = 0)
      : std::runtime_error(what), error_number_(error_number) {}
  [[nodiscard]] int error_number() const noexcept { return error_number_; }  // 0: no call failed

 private:
  int error_number_;
};

[[nodiscard]] std::string error_text(int error_number);  // as strerror, thread safe

// Effect  returns what a mode is, for sentences: "a directory", "a block device"
[[nodiscard]] const char* kind_of(mode_t mode) noexcept;

// Effect  returns a variable of the environment, "" if it is not set. In a program with the rights of another user (set-user-ID)
//         no variable is set: its caller could name any file
[[nodiscard]] std::string environment(const char* name);

// A descriptor that is closed at the end of its scope.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
  [[nodiscard]] int release() noexcept;

 private:
  int number_ = -1;
};

// Effect  opens a file or stream of any kind for reading or for writing (O_RDONLY, O_WRONLY), and creates none. The open of a
//         named pipe waits for the other side. The descriptor is -1, and errno set, if that fails
[[nodiscard]] descriptor open_any(const std::string& path, int mode);

// Effect  returns the content of a regular file of at most `most` bytes
// Errors  file_error: it is missing, unreadable, no regular file ("is a pipe, wanted " and `wanted`) or longer
[[nodiscard]] std::string read_file(const std::string& path, std::int64_t most, const char* wanted = "a file");

// Effect  returns the first `most` bytes of a file that the kernel makes, below /proc or /sys; "" without the file
[[nodiscard]] std::string read_kernel_file(const char* path, std::size_t most = 65536);

// A name: the open folder of a file, and the file's own name in it. The kernel has followed all links.
struct place {
  descriptor folder;
  std::string leaf;
  descriptor file;  // O_PATH; none: no file has this name yet
  struct stat about {};
  bool is_made = false;  // the file is the empty target of a link that led to no file
  bool is_readable_folder = false;
};

struct replace_rules {
  bool force = false;     // replaces a file that this user may not write, or that belongs to another user
  bool sync = true;       // publish() returns after the bytes and the name are on the disk
  bool anonymous = true;  // uses O_TMPFILE if the file system has it
  // A file of an unfinished run: the new file is written under its name and this suffix, taken over from an earlier run, and stays
  // without publish(). "": no such file.
  const char* kept = "";
  const char* remedy = "";  // ends the sentence of a file that needs `force`
  // Called before a named temporary file exists, and with nullptr after it is gone, for signal handlers.
  void (*watch)(int folder, const char* leaf) = nullptr;
};

// A new regular file that gets its name, and takes the place of an old file, when it is complete. Until then it has no name, or a
// random one in the same folder.
class new_file {
 public:
  // Errors  file_error: the folder is missing or not writable; the name belongs to something else than a regular file; an old
  //         file may not be replaced under the rules
  new_file(const std::string& path, const replace_rules& rules);
  ~new_file();  // removes the file if publish() was not called
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  [[nodiscard]] int get() const noexcept { return written_.get(); }
  [[nodiscard]] const place& old() const noexcept { return at_; }

  // Effect  opens or makes a regular file of this user with the name of this file and a suffix
  // Errors  file_error
  [[nodiscard]] descriptor open_beside(const char* suffix, unsigned mode = 0600) const;
  void remove_beside(const char* suffix) const noexcept;

  // Effect  gives the file its name. An old file, also one that appeared meanwhile, is checked again
  // Errors  file_error
  void publish();

 private:
  void make();
  void make_name();
  void name_it();
  bool name_it_first();
  void check_old();
  void keep_attributes();
  void look_again();
  void forget_name() noexcept;
  void sync_folder() const;

  replace_rules rules_;
  place at_;
  descriptor written_;
  std::string temporary_;  // its name in the folder; "" while it has none
  bool is_published_ = false;
};

// Effect  returns a file without a name in an open folder. It is gone when it is closed
// Errors  file_error
[[nodiscard]] descriptor scratch_file(const descriptor& folder);

// Effect  writes all bytes
// Errors  file_error
void write_all(int descriptor, std::string_view bytes, std::int64_t offset);

// Effect  changes a regular file of at most `most` bytes: `change` gets its content, "" without a file, and returns the new one.
//         No other process or thread that calls this changes it meanwhile
// Errors  file_error, and all that `change` throws
void change_file(const std::string& path, std::int64_t most, const std::function<std::string(std::string)>& change);

}  // namespace cornerturn::base
