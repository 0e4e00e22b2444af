// A file that appears under its name complete or not at all.
//
// Where the file system has O_TMPFILE the bytes go to a file without a name, which publish() links in: a process that
// is killed, even by SIGKILL, leaves nothing. Elsewhere they go to a named temporary beside it, which SIGINT, SIGTERM,
// SIGHUP and every failure remove. An existing file is replaced by rename, so that it is whole at every moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornerturn::cli {

class output_file {
 public:
  // Effect  opens the temporary and reserves `bytes` of space on the disk. A symbolic link is followed.
  // Errors  failure: the directory is missing or not writable, the name is that of something other than a regular file,
  //         or the file system has less space than `bytes`; nothing is left behind
  output_file(const std::string& path, std::int64_t bytes, bool anonymous = true);
  ~output_file();  // without publish(): nothing is left
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  // Effect  writes at an offset; any thread at any time
  // Errors  failure: disk full, quota, I/O error
  void write_at(const void* data, std::size_t bytes, std::int64_t offset) const;
  void write_at(std::string_view data, std::int64_t offset) const { write_at(data.data(), data.size(), offset); }

  // Effect  gives the file its name, atomically
  // Errors  failure
  void publish();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_anonymous() const noexcept { return temporary_.empty(); }

  // Effect  removes the latest named temporary of this process, if there is one; safe in a signal handler
  static void unlink_pending() noexcept;

 private:
  void open_temporary(bool anonymous);
  void reserve(std::int64_t bytes);
  void make_temporary_name();
  void remove_temporary() noexcept;
  [[noreturn]] void fail(const char* what, int error_number) const;

  std::string path_;       // as the user wrote it, for sentences
  std::string target_;     // symbolic links followed
  std::string directory_;  // of target_
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
};

}  // namespace cornerturn::cli
